"""The character n-grams that have an embedding, and the n-grams of a word as numbers."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Self

import numpy as np

from rarewords.errors import InputError
from rarewords.learner.spelling import ngrams
from rarewords.mimic.settings import MimicSettings

UNKNOWN = 0


class NgramTable:
    """Numbers for known n-grams; all others share number 0."""

    def __init__(self, known: Sequence[str]) -> None:
        self.known = list(known)
        self._numbers = {gram: number for number, gram in enumerate(self.known, 1)}
        if len(self._numbers) != len(self.known):
            raise InputError("the table of n-grams lists an n-gram twice; the mimic model is damaged", code="damaged")

    @classmethod
    def from_words(cls, words: Iterable[str], settings: MimicSettings) -> Self:
        """Keep n-grams that enough words contain; if there is a limit, the most common of them."""
        counts = Counter(gram for word in words for gram in set(ngrams(word)))
        kept = [(-count, gram) for gram, count in counts.items() if count >= settings.ngram_threshold]
        return cls([gram for _, gram in sorted(kept)[: settings.ngram_limit or None]])

    def __len__(self) -> int:
        """The number of embeddings, including the unknown one."""
        return len(self.known) + 1

    def numbers(self, word: str) -> np.ndarray:
        """The numbers of a word's n-grams: at least one, if only the unknown. *Shape:* (n-grams,)"""
        return np.array([self._numbers.get(gram, UNKNOWN) for gram in ngrams(word)] or [UNKNOWN], dtype=np.int64)
