"""Collections to search: documents, queries and judgements, with nouns renamed to names that nobody knows."""

import csv
import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from rarewords.wnlampro.builder import open_wordnet

_QUOTED = re.compile(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"")
_WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True)
class Collection:
    """Documents and queries by id, and the relevant documents of each query."""

    documents: dict[str, str]
    queries: dict[str, str]
    relevant: dict[str, set[str]]

    def with_documents(self, most: int) -> "Collection":
        """All relevant documents, and as many others as there is room for."""
        kept = {name for own in self.relevant.values() for name in own}
        others = sorted(set(self.documents) - kept)
        random.Random(0).shuffle(others)
        kept |= set(others[: max(0, most - len(kept))])
        return replace(self, documents={name: text for name, text in self.documents.items() if name in kept})

    def with_queries(self, names: Iterable[str]) -> "Collection":
        """Some of the queries."""
        return replace(self, queries={name: self.queries[name] for name in names})

    def renamed(self, names: Mapping[str, str]) -> "Collection":
        """The same with words replaced everywhere, whatever their case."""

        def rename(text: str) -> str:
            return _WORD.sub(lambda found: names.get(found.group().lower(), found.group()), text)

        documents = {name: rename(text) for name, text in self.documents.items()}
        return replace(self, documents=documents, queries={k: rename(v) for k, v in self.queries.items()})

    def write(self, path: Path) -> Path:
        """The documents as JSON lines."""
        lines = [json.dumps({"id": name, "text": text}) + "\n" for name, text in self.documents.items()]
        path.write_text("".join(lines), "utf-8")
        return path

    def ndcg(self, scores: np.ndarray) -> np.ndarray:
        """nDCG@10 of each query. *Shape:* (queries, documents) -> (queries,)"""
        names = list(self.documents)
        discounts = 1 / np.log2(np.arange(2, 12))
        found = []
        for row, query in enumerate(self.queries):
            best = np.argsort(-scores[row], kind="stable")[:10]
            gains = np.array([names[at] in self.relevant[query] for at in best.tolist()])
            found.append((gains * discounts[: len(gains)]).sum() / discounts[: len(self.relevant[query])].sum())
        return np.array(found)

    def new_names(
        self, number: int, known: Iterable[str], least: int = 10, most: int = 300, senses: int = 99
    ) -> dict[str, str]:
        """Invented names for the nouns of the queries, most queries first.

        :param known: words that no name may be.
        :param least: a noun occurs in at least so many documents, and in at most ``most``.
        :param senses: a noun has at most so many senses in WordNet.
        """
        wordnet = open_wordnet()
        nouns, verbs, adjectives = (set(wordnet.all_lemma_names(pos)) for pos in "nva")
        counts = [Counter[str](), Counter[str]()]
        for count, texts in zip(counts, (self.queries, self.documents), strict=True):
            for text in texts.values():
                count.update(set(_WORD.findall(text.lower())))
        chosen = [
            word
            for word, _ in sorted(counts[0].items(), key=lambda item: (-item[1], item[0]))
            if len(word) > 3
            and word in nouns - verbs - adjectives
            and least <= counts[1][word] <= most
            and len(wordnet.synsets(word, "n")) <= senses
        ][:number]
        rng, made, taken = random.Random(0), set[str](), {*known, *counts[1]}
        while len(made) < len(chosen):
            syllables = (rng.choice("bdfgklmnprstvz") + rng.choice("aeiou") for _ in range(3))
            name = "".join(syllables) + rng.choice("lnrk")
            if name not in taken:
                made.add(name)
        return dict(zip(chosen, sorted(made), strict=True))


def read_scifact(folder: Path, part: str, most: int | None = None) -> Collection:
    """The queries of ``train`` or ``test`` of SciFact, with all documents or about ``most`` of them.

    The folder holds corpus_train.csv, claims_*.csv, qrels/train.tsv and qrels/test.tsv.
    """
    csv.field_size_limit(10**7)
    documents, queries = {}, {}
    for row in csv.DictReader((folder / "corpus_train.csv").open(encoding="utf-8")):
        sentences = [(a or b).replace("\\", "") for a, b in _QUOTED.findall(row["abstract"])]
        documents[row["doc_id"]] = " ".join([row["title"], *sentences])
    for name in ("train", "validation", "test"):
        for row in csv.DictReader((folder / f"claims_{name}.csv").open(encoding="utf-8")):
            queries[row["id"]] = row["claim"]
    relevant: dict[str, set[str]] = defaultdict(set)
    for row in csv.DictReader((folder / "qrels" / f"{part}.tsv").open(encoding="utf-8"), delimiter="\t"):
        if int(row["score"]):
            relevant[row["query-id"]].add(row["corpus-id"])
    data = Collection(documents, {name: queries[name] for name in relevant}, dict(relevant))
    return data if most is None else data.with_documents(most)
