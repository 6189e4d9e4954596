"""Building WNLaMPro from WordNet, word counts and a model's vocabulary, by the paper's rules.

V is the words of the corpus that match ``[a-z.-]*``, T the model's whole-word vocabulary. Keywords come
from V, targets from T. Where the rules leave room, the reading taken is said where it is applied; the
guide lists them all.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from rarewords.errors import InputError
from rarewords.probe.dataset import RELATIONS, AnnotatedWord, Dataset, Entry, FrequencyBounds
from rarewords.progress import progress

MINIMUM_DEPTH = 6
SENSES = 2
HYPERNYM_DISTANCE, HYPERNYM_TARGETS = 3, (3, 20)
COHYPONYM_UP, COHYPONYM_DOWN, COHYPONYM_TARGETS = 2, 4, (10, 50)
SHORTEST_CORRUPTED = 4

_KEYWORD = re.compile(r"[a-z.-]+")
_ATTEMPTS = 20
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True)
class BuildSettings:
    """What the paper's rules leave open.

    :param corruptions: how many corrupted words are made, where there are that many frequent words.
    :param dev_share: the part of each relation that becomes the development set.
    """

    seed: int = 0
    corruptions: int = 2880
    dev_share: float = 0.1
    bounds: FrequencyBounds = field(default_factory=FrequencyBounds)

    def __post_init__(self) -> None:
        if self.corruptions < 0:
            raise InputError(f"the number of corruptions cannot be negative: {self.corruptions}")
        if not 0 <= self.dev_share <= 1:
            raise InputError(f"the share of the development set is between 0 and 1, not {self.dev_share}")


def build(
    wordnet: Any,
    counts: Mapping[str, int],
    whole_words: Iterable[str],
    settings: BuildSettings | None = None,
) -> Dataset:
    """Build the data set.

    :param wordnet: what :func:`rarewords.probe.wordnet.open_wordnet` returns.
    :param counts: every word of the corpus with its count.
    :param whole_words: the model's vocabulary of whole words, such as ``lm.whole_words``.
    """
    builder = _Builder(wordnet, counts, frozenset(whole_words), settings or BuildSettings())
    return builder.dataset()


class _Builder:
    def __init__(
        self,
        wordnet: Any,
        counts: Mapping[str, int],
        targets: frozenset[str],
        settings: BuildSettings,
    ) -> None:
        self.wordnet, self.counts, self.targets, self.settings = wordnet, counts, targets, settings
        self.keywords = {word for word, count in counts.items() if count > 0 and _KEYWORD.fullmatch(word)}
        if not self.keywords:
            raise InputError("the counts hold no word of small letters; were they made from English text?")
        self.total = sum(counts.values())
        self.nouns = self._lemmas("n")
        self.adjectives = self._lemmas("a") | self._lemmas("s")
        self._down: dict[Any, frozenset[str]] = {}

    def dataset(self) -> Dataset:
        related = {
            "antonym": self._each(self.adjectives, "antonym", self.antonyms),
            "hypernym": self._each(self.nouns, "hypernym", self.hypernyms),
            "cohyponym": self._each(self.nouns, "cohyponym", self.cohyponyms),
            "corruption": {corrupted: [word] for corrupted, word in self.corruptions()},
        }
        entries: list[Entry] = []
        for relation in RELATIONS:
            found = related[relation]
            dev = self._dev_part(relation, found)
            # Words with the same targets stand together, which is what makes the file small.
            for word, targets in sorted(found.items(), key=lambda item: (item[1], item[0])):
                pos = {"antonym": "a", "corruption": self._pos(targets[0])}.get(relation, "n")
                entries.append(
                    Entry(
                        str(len(entries) + 1),
                        "dev" if word in dev else "test",
                        self._annotated(word, pos),
                        relation,
                        tuple(self._annotated(target, pos) for target in targets),
                    )
                )
        if not entries:
            raise InputError("no word of the counts has a relation to the model's vocabulary in WordNet")
        return Dataset(tuple(entries))

    def antonyms(self, word: str) -> list[str]:
        """Antonyms of the word itself in its first adjective sense; WordNet lists senses by frequency."""
        senses = self.wordnet.lemmas(word, "a")
        return self._most_frequent(one.name().lower() for sense in senses[:1] for one in sense.antonyms())

    def hypernyms(self, word: str) -> list[str]:
        smallest, largest = HYPERNYM_TARGETS
        above = self._above(word, HYPERNYM_DISTANCE)
        found = self._most_frequent(name.lower() for synset in above for name in synset.lemma_names())
        return found[:largest] if len(found) >= smallest else []

    def cohyponyms(self, word: str) -> list[str]:
        smallest, largest = COHYPONYM_TARGETS
        found: set[str] = set()
        for synset in self._above(word, COHYPONYM_UP):
            found |= self._below(synset)
        ordered = self._most_frequent(found - {word})
        return ordered[:largest] if len(ordered) >= smallest else []

    def corruptions(self) -> Iterator[tuple[str, str]]:
        """Corrupted forms with the word they were made of, for frequent words taken at random.

        A corrupted form must not be a word: not in the model's vocabulary, not in WordNet, and no more than
        rare in the corpus, where scans have errors of their own.
        """
        frequent = [
            word
            for word in self.keywords & self.targets
            if self.counts[word] >= self.settings.bounds.frequent and len(word) >= SHORTEST_CORRUPTED
        ]
        made: set[str] = set()
        for word in sorted(frequent, key=lambda word: (self._chance("corrupt", word), word)):
            if len(made) == self.settings.corruptions:
                return
            for attempt in range(_ATTEMPTS):
                corrupted = corrupt(word, self._chance("corruption", word, attempt))
                if corrupted not in made and self._is_no_word(corrupted):
                    made.add(corrupted)
                    yield corrupted, word
                    break

    def _each(self, words: set[str], relation: str, find: Callable[[str], list[str]]) -> dict[str, list[str]]:
        with progress(f"Looking for {relation}s", total=len(words), unit="words") as bar:
            found = {}
            for word in sorted(words):
                targets = find(word)
                if targets:
                    found[word] = targets
                bar.advance()
        return found

    def _above(self, word: str, distance: int) -> set[Any]:
        """Hypernyms of the first senses within a distance, the very general ones left out."""
        level = {lemma.synset() for lemma in self.wordnet.lemmas(word, "n")[:SENSES]}
        found: set[Any] = set()
        for _ in range(distance):
            level = {above for synset in level for above in synset.hypernyms()}
            found |= level
        return {synset for synset in found if synset.min_depth() >= MINIMUM_DEPTH}

    def _below(self, synset: Any) -> frozenset[str]:
        """Target words among the hyponyms of a synset, which thousands of keywords may share."""
        if synset not in self._down:
            found: set[str] = set()
            level = {synset}
            for _ in range(COHYPONYM_DOWN):
                level = {below for one in level for below in one.hyponyms()}
                found.update(name.lower() for one in level for name in one.lemma_names())
            self._down[synset] = frozenset(found & self.targets)
        return self._down[synset]

    def _most_frequent(self, words: Iterable[str]) -> list[str]:
        """Those that are targets, the most frequent in the corpus first."""
        return sorted(set(words) & self.targets, key=lambda word: (-self.counts.get(word, 0), word))

    def _is_no_word(self, text: str) -> bool:
        return (
            text not in self.targets
            and self.counts.get(text, 0) < self.settings.bounds.medium
            and not self.wordnet.synsets(text)
        )

    def _dev_part(self, relation: str, words: Iterable[str]) -> set[str]:
        shuffled = sorted(words, key=lambda word: (self._chance("split", relation, word), word))
        return set(shuffled[: round(len(shuffled) * self.settings.dev_share)])

    def _chance(self, *what: object) -> int:
        """A random number that depends on the seed and on what it is for, and on nothing else."""
        text = "\t".join(map(str, (self.settings.seed, *what)))
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:16], "big")

    def _lemmas(self, pos: str) -> set[str]:
        return {name.lower() for name in self.wordnet.all_lemma_names(pos)} & self.keywords

    def _pos(self, word: str) -> str:
        return "n" if word in self.nouns else "a" if word in self.adjectives else "x"

    def _annotated(self, word: str, pos: str) -> AnnotatedWord:
        count = self.counts.get(word, 0)
        zipf = math.log10(count / self.total * 1e9) if count else 0.0
        return AnnotatedWord(word, pos, max(0.0, round(zipf, 2)), count)


def corrupt(word: str, chance: int) -> str:
    """One insertion, deletion or swap of letters, chosen by a large random number.

    ``chance % 3`` is the kind, what remains the place and the letter: ``corrupt("pinnacle", 1 + 3 * 2) ->
    "pinacle"`` takes out the letter at place 2.
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
