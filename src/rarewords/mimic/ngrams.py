"""Character n-grams of words, and the table of those worth an embedding."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from rarewords.errors import InputError

START, END = "^", "$"
UNKNOWN = 0


def ngrams(word: str, shortest: int = 3, longest: int = 5) -> list[str]:
    """All n-grams of a word with one mark at each end.

    >>> ngrams("cat", 3, 4)
    ['^ca', 'cat', 'at$', '^cat', 'cat$']
    """
    marked = f"{START}{word}{END}"
    return [marked[i : i + n] for n in range(shortest, longest + 1) for i in range(len(marked) - n + 1)]


@dataclass(frozen=True)
class Bags:
    """A list of number lists, end to end: list ``i`` is ``numbers[starts[i] : starts[i + 1]]``."""

    numbers: np.ndarray
    starts: np.ndarray

    def __len__(self) -> int:
        return len(self.starts) - 1

    def take(self, rows: np.ndarray) -> Bags:
        """Some of the lists, in this order."""
        lengths = self.starts[rows + 1] - self.starts[rows]
        starts = np.concatenate([[0], np.cumsum(lengths)])
        places = np.arange(starts[-1]) - np.repeat(starts[:-1] - self.starts[rows], lengths)
        return Bags(self.numbers[places], starts)


class NgramTable:
    """The n-grams that have an embedding, numbered from 1; 0 stands for every other n-gram."""

    def __init__(self, known: Sequence[str], shortest: int = 3, longest: int = 5) -> None:
        self.known = list(known)
        self.shortest, self.longest = shortest, longest
        self._numbers = {gram: number for number, gram in enumerate(self.known, 1)}
        if len(self._numbers) != len(self.known):
            raise InputError("the table of n-grams holds one twice; the mimic model is damaged")

    @classmethod
    def from_words(
        cls, words: Iterable[str], *, shortest: int = 3, longest: int = 5, threshold: int = 4, limit: int = 0
    ) -> NgramTable:
        """Keep the n-grams that at least ``threshold`` of the words contain, at most ``limit`` of them."""
        counts: Counter[str] = Counter()
        for word in words:
            counts.update(set(ngrams(word, shortest, longest)))
        kept = [(gram, count) for gram, count in counts.items() if count >= threshold]
        kept.sort(key=lambda pair: (-pair[1], pair[0]))
        return cls([gram for gram, _ in (kept[:limit] if limit else kept)], shortest, longest)

    def __len__(self) -> int:
        """The number of embeddings, the unknown one included."""
        return len(self.known) + 1

    def bags(self, words: Sequence[str]) -> Bags:
        """The n-gram numbers of each word; a word always has at least one, perhaps the unknown."""
        lists = [
            [self._numbers.get(gram, UNKNOWN) for gram in ngrams(word, self.shortest, self.longest)]
            or [UNKNOWN]
            for word in words
        ]
        starts = np.concatenate([[0], np.cumsum([len(numbers) for numbers in lists], dtype=np.int64)])
        flat = np.fromiter(
            (number for numbers in lists for number in numbers), np.int64, count=int(starts[-1])
        )
        return Bags(flat, starts.astype(np.int64))
