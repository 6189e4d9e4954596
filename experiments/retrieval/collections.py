"""The three collections, with nouns renamed, and their queries: by name, by kind, in the plural, without a name."""

import random
import re
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from experiments.collection import Collection, read_scifact
from experiments.tasks.iob import read as read_iob
from rarewords.wnlampro.builder import open_wordnet

Part = Literal["dev", "test"]
COLLECTIONS = ("scifact", "abstracts", "encyclopaedia")
KINDS = ("name", "plural", "kind", "known noun", "without")
_DOCUMENTS, _QUERIES = 800, 300
_COMMON = 0.06  # the share of documents above which a noun says too little
_SENSES = 2  # so that WordNet's first definition is usually the right one
_ENTITIES = {"dev": ("bc5cdr/train", "ncbi-disease/devel"), "test": ("bc5cdr/test", "ncbi-disease/test")}
# The entity sets do not mark where an abstract begins. Titles have no finite verb and no label of a section.
_NO_TITLE = re.compile(
    r"\b(is|are|was|were|has|have|had|been|be|may|can|could|did|does|will|would|should|showed|shows?|suggests?|we|our|"
    r"this|these|it|they|there|she|he|developed|received|occurred|led|came|underwent|however|thus|respectively|neither|"
    r"objectives?|background|methods?|results?|conclusions?|purpose|aims?|design|setting|including|encodes?|causes?)\b|"
    r"(?<!- )\b\w+ed (the|an?|no|that|to|at|as|only|more|less|\w*ly|\d|\w+ \d|\w+tion|\w+s)\b|"
    r"^\d|\bdied\b|"
    r"^(In|The|After|All|Of|No|Our|Both|One|Under|Moreover|Additionally|Further) (?!effect|role|use|risk|vivo|vitro)",
    re.I,
)
_ARTICLE = re.compile(r"^([A-Z]{4,}), (.+)")
_SENTENCE_END = re.compile(r"(?<=[a-z)]{2}[.!?]) +(?=[A-Z])")
_PASSAGE, _PASSAGES = 120, 3  # words; passages of an article


@dataclass(frozen=True)
class Renamed:
    """A collection in which nouns have names that nobody knows.

    :param collection: documents and all queries of all kinds; the ids of queries begin with their kind.
    :param names: the name of each noun.
    :param definitions: a definition of each name.
    """

    collection: Collection
    names: dict[str, str]
    definitions: dict[str, str]

    def rows(self, kind: str) -> list[int]:
        """The places of the queries of one kind."""
        return [row for row, key in enumerate(self.collection.queries) if key.startswith(f"{kind}:")]


def read(name: str, part: Part, data: Path, names: int) -> Renamed:
    """A collection: ``scifact``, ``abstracts`` or ``encyclopaedia``.

    :param data: a folder with ``eval`` and ``clean-britannica-eb09.txt``.
    """
    definitions: dict[str, str] = {}
    if name == "scifact":
        found = read_scifact(data / "eval" / "scifact", "train" if part == "dev" else "test")
        drawn = random.Random(0).sample(sorted(found.queries), min(_QUERIES, len(found.queries)))
        found = _with_queries(found, drawn).with_documents(_DOCUMENTS)
    elif name == "abstracts":
        found = read_abstracts([data / "eval" / "ner" / f"{one}.tsv" for one in _ENTITIES[part]])
    else:
        found, definitions = read_encyclopaedia(data / "clean-britannica-eb09.txt", part)
    return rename(found, names, definitions)


def rename(found: Collection, number: int, definitions: dict[str, str]) -> Renamed:
    """Give names to the nouns that most queries have, and make queries of all kinds.

    ``name`` has the name, ``plural`` the name and an s, ``kind`` a word for the kind of thing instead (or, of
    an encyclopaedia, WordNet's definition), ``known noun`` the noun itself, which no document has any more.
    """
    wordnet = open_wordnet()
    names = found.new_names(number, (), 2, max(30, round(_COMMON * len(found.documents))), _SENSES)
    renamed, lower = found.renamed(names), {query: text.lower() for query, text in found.queries.items()}
    queries: dict[str, str] = {}
    for query, text in renamed.queries.items():
        own = [noun for noun in names if names[noun] in text.split() or re.search(rf"\b{names[noun]}\b", text)]
        if not own:
            queries[f"without:{query}"] = text
            continue
        plural, kind = text, lower[query]
        for noun in own:
            plural = re.sub(rf"\b{names[noun]}\b", f"{names[noun]}s", plural)
            kind = re.sub(rf"\b{noun}\b", _gloss(wordnet, noun) if definitions else _hypernym(wordnet, noun), kind)
        queries |= {f"name:{query}": text, f"plural:{query}": plural, f"known noun:{query}": found.queries[query]}
        if not any(re.search(rf"\b{noun}\b", kind) for noun in own):
            queries[f"kind:{query}"] = kind
    relevant = {key: found.relevant[key.split(":", 1)[1]] for key in queries}
    whole = Collection(renamed.documents, queries, relevant)
    glosses = {noun: definitions.get(noun) or _gloss(wordnet, noun) for noun in names}
    glosses = Collection({}, glosses, {}).renamed(names).queries
    return Renamed(whole, names, {names[noun]: text for noun, text in glosses.items()})


def read_abstracts(files: list[Path]) -> Collection:
    """Abstracts, each without its title; the titles are the queries."""
    titles, documents = dict[str, str](), dict[str, str]()
    for path in files:
        key, since = "", 0
        for sentence in read_iob(path):
            text = " ".join(sentence.words)
            if 5 <= len(sentence.words) <= 35 and not _NO_TITLE.search(text) and (not key or since >= 3):
                key, since = f"{path.parent.name}-{len(titles)}", 0
                titles[key], documents[key] = _as_text(text), ""
            elif key:
                since += 1
                documents[key] = f"{documents[key]} {_as_text(text)}".strip()
    kept = {key for key, text in documents.items() if text}
    return Collection(
        {key: documents[key] for key in titles if key in kept},
        {key: titles[key] for key in titles if key in kept},
        {key: {key} for key in kept},
    )


def read_encyclopaedia(path: Path, part: Part) -> tuple[Collection, dict[str, str]]:
    """Passages of articles without their first sentences; titles are queries, first sentences definitions.

    The articles are those whose title is a noun of WordNet and stands in the passages at least twice.
    """
    nouns = set(open_wordnet().all_lemma_names("n"))
    articles: dict[str, list[str]] = {}
    title = ""
    for line in path.read_text("utf-8").split("\n"):
        if heading := _ARTICLE.match(line):
            title = heading[1].lower()
            title = title if title not in articles and title in nouns else ""
            line = heading[2]
        if title and line.strip():
            articles.setdefault(title, []).append(line)
    documents, definitions = dict[str, str](), dict[str, str]()
    relevant: dict[str, set[str]] = {}
    wanted = sorted(one for one in articles if (zlib.crc32(one.encode()) % 2 == 0) == (part == "dev"))
    random.Random(0).shuffle(wanted)
    for title in wanted:
        first, *rest = _SENTENCE_END.split(" ".join(articles[title]))
        words = " ".join(rest).split()[: _PASSAGE * _PASSAGES]
        passages = [" ".join(words[start : start + _PASSAGE]) for start in range(0, len(words), _PASSAGE)]
        passages = [one for one in passages if len(one.split()) > _PASSAGE // 4]
        if 8 <= len(first.split()) <= 60 and sum(len(re.findall(rf"(?i)\b{title}\b", one)) for one in passages) > 1:
            own = {f"{title}-{number}": text for number, text in enumerate(passages)}
            documents |= own
            relevant[title], definitions[title] = set(own), first
        if len(relevant) == _QUERIES:
            break
    return Collection(documents, {one: one for one in relevant}, relevant), definitions


def _with_queries(found: Collection, kept: list[str]) -> Collection:
    return Collection(found.documents, {k: found.queries[k] for k in kept}, {k: found.relevant[k] for k in kept})


def _gloss(wordnet: object, noun: str) -> str:
    """The first part of the noun's first definition in WordNet."""
    text: str = wordnet.synsets(noun, "n")[0].definition()  # type: ignore[attr-defined]
    return re.sub(r"\([^)]*\)", "", text).split(";")[0].strip()


def _hypernym(wordnet: object, noun: str) -> str:
    """A word for the kind of thing."""
    first = wordnet.synsets(noun, "n")[0]  # type: ignore[attr-defined]
    above = [*first.hypernyms(), *first.instance_hypernyms(), first]
    return str(above[0].lemma_names()[0]).replace("_", " ")


def _as_text(words: str) -> str:
    """Text of words with spaces between, as it is usually written.

    >>> _as_text("cocaine - induced ( CIMD ) , 12 % .")
    'cocaine-induced (CIMD), 12%.'
    """
    text = re.sub(r" ([-/'’]) ", r"\1", words)
    return re.sub(r"([(\[]) | ([)\].,;:%])", lambda found: (found[1] or "") + (found[2] or ""), text)
