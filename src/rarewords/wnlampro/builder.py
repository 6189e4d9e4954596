"""Building WNLaMPro from WordNet, word counts and a model's vocabulary, by the paper's rules.

V is the set of corpus words that match ``[a-z.-]*``, T the set of whole words in the model's vocabulary.
Keywords come from V, targets from T:

- antonym: the antonyms of an adjective's most frequent sense.
- hypernym: of a noun's two most frequent senses, the hypernyms at most 3 steps up; 3 to 20 targets.
- cohyponym+: the hyponyms, at most 4 steps down, of the hypernyms at most 2 steps up; 10 to 50 targets.
- corruption: a frequent word after one random insertion, deletion or swap of letters.

Hypernyms closer to the root than 6 steps are too general and are skipped. If there are too many targets, the
most frequent ones stay. A tenth of each relation is dev, the rest test. Where these rules leave room, the
guide (docs/research/wnlampro.md) says how they are read.
"""

import hashlib
import io
import math
import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from rarewords._internal.progress import progress
from rarewords.errors import InputError
from rarewords.wnlampro.dataset import FREQUENT, MEDIUM, AnnotatedWord, Dataset, Entry

DEBIAN_FOLDER = Path("/usr/share/wordnet")
_NEEDED = ("data.noun", "data.adj", "index.noun", "index.adj")
_LEXICOGRAPHER_FILES = 45
MINIMUM_DEPTH = 6
SENSES = 2
HYPERNYM_DISTANCE, HYPERNYM_TARGETS = 3, (3, 20)
COHYPONYM_UP, COHYPONYM_DOWN, COHYPONYM_TARGETS = 2, 4, (10, 50)
CORRUPTIONS, SHORTEST_CORRUPTED = 2880, 4  # fewer corruptions if the corpus has fewer frequent words
DEV_SHARE = 0.1

_KEYWORD = re.compile(r"[a-z.-]+")
_ATTEMPTS = 20
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def open_wordnet(folder: str | Path | None = None) -> Any:
    """NLTK's WordNet reader.

    :param folder: the folder of WordNet's files; by default NLTK's data folders, then Debian's.
    """
    try:  # NLTK is an optional dependency
        import nltk
        from nltk.corpus.reader.wordnet import WordNetCorpusReader
    except ImportError:
        problem = "building WNLaMPro needs NLTK: pip install 'rarewords[wordnet]'"
        raise InputError(problem, code="missing-extra") from None

    class Reader(WordNetCorpusReader):  # type: ignore[misc]
        def open(self, file: str) -> Any:
            if file == "lexnames":
                # Debian's package lacks this list of names. We use none of them, only their number matters.
                return io.StringIO("".join(f"{i:02d}\tfile{i}\t0\n" for i in range(_LEXICOGRAPHER_FILES)))
            return super().open(file)

        def map_wn(self, version: str = "wordnet") -> None:
            """Skip the map to other versions of WordNet; it needs files that may be missing."""

    root = _find(nltk, folder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # other languages are not available, nor needed
        reader = Reader(root, None)
    if (version := reader.get_version()) != "3.0":
        problem = f"WordNet in {root} is version {version}; WNLaMPro needs version 3.0"
        raise InputError(problem, code="wnlampro")
    return reader


def _find(nltk: Any, folder: str | Path | None) -> Any:
    if folder is None:
        with suppress(LookupError):
            return nltk.data.find("corpora/wordnet/")  # finds a folder or a zip file
    root = Path(folder or DEBIAN_FOLDER)
    if missing := [name for name in _NEEDED if not (root / name).is_file()]:
        problem = f"{folder} has no {missing[0]}, so it is not a folder of WordNet's files"
        ways = "'python -m nltk.downloader wordnet' or, on Debian and Ubuntu, 'apt install wordnet-base'"
        nowhere = f"WordNet 3.0 was not found; install it with {ways}"
        raise InputError(problem if folder else nowhere, code="wnlampro")
    nltk.data.path.append(str(root))  # NLTK opens only files under its data path
    return str(root)


def build(
    counts: Mapping[str, int], whole_words: Iterable[str], *, wordnet: str | Path | None = None, seed: int = 0
) -> Dataset:
    """Build WNLaMPro for word counts and the vocabulary of a model.

    :param counts: every word of the corpus with its count.
    :param whole_words: the whole words of the vocabulary, such as ``lm.whole_words``.
    :param wordnet: the folder of WordNet 3.0's files; by default NLTK's data folders, then Debian's.
    :param seed: of the split into dev and test and of the corruptions.
    """
    return Builder(open_wordnet(wordnet), counts, whole_words, seed).dataset()


class Builder:
    """Builds the data set with the reader that :func:`open_wordnet` returns."""

    def __init__(self, wordnet: Any, counts: Mapping[str, int], whole_words: Iterable[str], seed: int = 0) -> None:
        self.wordnet, self.counts, self.targets, self.seed = wordnet, counts, frozenset(whole_words), seed
        self.keywords = {word for word, count in counts.items() if count > 0 and _KEYWORD.fullmatch(word)}
        if not self.keywords:
            problem = "the counts hold no word in lower-case letters a-z; count English text"
            raise InputError(problem, code="wnlampro")
        self.total = sum(counts.values())
        nouns, heads, satellites = ({name.lower() for name in wordnet.all_lemma_names(pos)} for pos in "nas")
        self.nouns, self.adjectives = nouns & self.keywords, (heads | satellites) & self.keywords
        self._names_below = cache(self._find_names_below)  # thousands of keywords share a synset

    def dataset(self) -> Dataset:
        """The entries of every relation."""
        related = {
            "antonym": self._each(self.adjectives, "antonym", self.antonyms),
            "hypernym": self._each(self.nouns, "hypernym", self.hypernyms),
            "cohyponym": self._each(self.nouns, "cohyponym", self.cohyponyms),
            "corruption": self.corruptions(),
        }
        entries: list[Entry] = []
        for relation, found in related.items():
            shuffled = sorted(found, key=lambda word: (self._chance("split", relation, word), word))
            dev = set(shuffled[: round(len(shuffled) * DEV_SHARE)])
            # Keywords with the same targets stand together, which makes the compressed file small.
            for word, targets in sorted(found.items(), key=lambda item: (item[1], item[0])):
                pos = "a" if relation == "antonym" else "n"
                if relation == "corruption" and targets[0] not in self.nouns:
                    pos = "a" if targets[0] in self.adjectives else "x"
                annotated = tuple(self._annotated(target, pos) for target in targets)
                subset, number = "dev" if word in dev else "test", str(len(entries) + 1)
                entries.append(Entry(number, subset, self._annotated(word, pos), relation, annotated))
        if not entries:
            problem = "WordNet relates no word of the counts to a word of the model's vocabulary"
            raise InputError(problem, code="wnlampro")
        return Dataset(tuple(entries))

    def antonyms(self, word: str) -> list[str]:
        """Targets of an adjective; WordNet orders its senses by frequency."""
        senses = self.wordnet.lemmas(word, "a")
        return self._most_frequent(one.name() for sense in senses[:1] for one in sense.antonyms())

    def hypernyms(self, word: str) -> list[str]:
        """Targets of a noun."""
        above = self._above(word, HYPERNYM_DISTANCE)
        return self._most_frequent((name for synset in above for name in synset.lemma_names()), *HYPERNYM_TARGETS)

    def cohyponyms(self, word: str) -> list[str]:
        """Targets of a noun, without the word itself."""
        found = {name for synset in self._above(word, COHYPONYM_UP) for name in self._names_below(synset)}
        return self._most_frequent(found - {word}, *COHYPONYM_TARGETS)

    def corruptions(self) -> dict[str, list[str]]:
        """Corrupted forms, each with its original: a frequent word, drawn at random without repetition.

        A corrupted form must not be a word: not in the model's vocabulary, not in WordNet, and rare in the
        corpus, since text has misspellings of its own.
        """
        words = [word for word in self.keywords & self.targets if len(word) >= SHORTEST_CORRUPTED]
        frequent = [word for word in words if self.counts[word] >= FREQUENT]
        made: dict[str, list[str]] = {}
        for word in sorted(frequent, key=lambda word: (self._chance("corrupt", word), word)):
            if len(made) >= CORRUPTIONS:
                break
            for attempt in range(_ATTEMPTS):
                form = corrupt(word, self._chance("corruption", word, attempt))
                rare = self.counts.get(form, 0) < MEDIUM
                if rare and form not in made and form not in self.targets and not self.wordnet.synsets(form):
                    made[form] = [word]
                    break
        return made

    def _each(self, words: set[str], relation: str, find: Callable[[str], list[str]]) -> dict[str, list[str]]:
        found = {}
        with progress(f"Finding {relation}s", total=len(words), unit="words") as bar:
            for word in sorted(words):
                if targets := find(word):
                    found[word] = targets
                bar.advance()
        return found

    def _above(self, word: str, distance: int) -> set[Any]:
        """The hypernyms of the first senses within a distance, without the very general ones."""
        senses = [lemma.synset() for lemma in self.wordnet.lemmas(word, "n")[:SENSES]]
        return {synset for synset in _reached(senses, "hypernyms", distance) if synset.min_depth() >= MINIMUM_DEPTH}

    def _find_names_below(self, synset: Any) -> set[str]:
        """The target words among the hyponyms of a synset."""
        below = _reached([synset], "hyponyms", COHYPONYM_DOWN)
        return {name.lower() for one in below for name in one.lemma_names()} & self.targets

    def _most_frequent(self, names: Iterable[str], smallest: int = 1, largest: int | None = None) -> list[str]:
        """The words in T, the most frequent first: at most ``largest``, none if fewer than ``smallest``."""
        words = {name.lower() for name in names} & self.targets
        found = sorted(words, key=lambda word: (-self.counts.get(word, 0), word))
        return found[:largest] if len(found) >= smallest else []

    def _chance(self, *purpose: object) -> int:
        """A random number that depends only on the seed and on its purpose."""
        text = "\t".join(map(str, (self.seed, *purpose)))
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:16], "big")

    def _annotated(self, word: str, pos: str) -> AnnotatedWord:
        count = self.counts.get(word, 0)
        return AnnotatedWord(word, pos, round(math.log10(max(1.0, count / self.total * 1e9)), 2), count)


def _reached(synsets: Iterable[Any], relation: str, distance: int) -> set[Any]:
    """The synsets that are 1 to ``distance`` steps of a relation away."""
    level, found = set(synsets), set[Any]()
    for _ in range(distance):
        level = {other for synset in level for other in getattr(synset, relation)()}
        found |= level
    return found


def corrupt(word: str, chance: int) -> str:
    """One insertion, deletion or swap of letters, chosen by a large random number.

    ``chance % 3`` is the kind, the rest the place and the letter: ``corrupt("pinnacle", 1 + 3 * 2) ->
    "pinacle"`` deletes the letter at place 2.
    """
    chance, kind = divmod(chance, 3)
    if kind == 0:
        chance, place = divmod(chance, len(word) + 1)
        return word[:place] + _LETTERS[chance % len(_LETTERS)] + word[place:]
    if kind == 1:
        place = chance % len(word)
        return word[:place] + word[place + 1 :]
    place = chance % (len(word) - 1)
    return word[:place] + word[place + 1] + word[place] + word[place + 2 :]
