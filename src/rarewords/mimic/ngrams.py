"""The character n-grams that have an embedding, and the n-grams of each word as numbers."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from rarewords.corpus.columns import offsets, ragged
from rarewords.errors import InputError
from rarewords.learner.spelling import ngrams
from rarewords.mimic.settings import MimicSettings

UNKNOWN = 0


@dataclass(frozen=True)
class Bags:
    """Lists of numbers, end to end: list ``i`` is ``numbers[starts[i] : starts[i + 1]]``."""

    numbers: np.ndarray
    starts: np.ndarray

    def take(self, rows: np.ndarray) -> "Bags":
        """Some of the lists, in this order."""
        lengths = self.starts[rows + 1] - self.starts[rows]
        return Bags(self.numbers[ragged(self.starts[rows], lengths)], offsets(lengths))


class NgramTable:
    """The n-grams that have an embedding, numbered from 1; 0 stands for every other n-gram."""

    def __init__(self, known: Sequence[str], shortest: int = 3, longest: int = 5) -> None:
        self.known = list(known)
        self.shortest, self.longest = shortest, longest
        self._numbers = {gram: number for number, gram in enumerate(self.known, 1)}
        if len(self._numbers) != len(self.known):
            raise InputError("the table of n-grams lists an n-gram twice; the mimic model is damaged", code="damaged")

    @classmethod
    def from_words(cls, words: Iterable[str], settings: MimicSettings) -> Self:
        """Keep n-grams that enough words contain; if there is a limit, the most common of them."""
        shortest, longest = settings.ngram_min, settings.ngram_max
        counts = Counter(gram for word in words for gram in set(ngrams(word, shortest, longest)))
        kept = [(-count, gram) for gram, count in counts.items() if count >= settings.ngram_threshold]
        return cls([gram for _, gram in sorted(kept)[: settings.ngram_limit or None]], shortest, longest)

    def __len__(self) -> int:
        """The number of embeddings, including the unknown one."""
        return len(self.known) + 1

    def bags(self, words: Sequence[str]) -> Bags:
        """The n-gram numbers of each word; a word always has at least one, if only the unknown."""
        lists = [
            [self._numbers.get(gram, UNKNOWN) for gram in ngrams(word, self.shortest, self.longest)] or [UNKNOWN]
            for word in words
        ]
        numbers = np.array([number for one in lists for number in one], dtype=np.int64)
        return Bags(numbers, offsets(np.array([len(one) for one in lists], dtype=np.int64)))
