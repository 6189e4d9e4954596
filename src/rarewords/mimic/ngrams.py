"""Character n-grams of words: the table of those that have an embedding, and vectors from spelling alone.

The latter need no training: they come from the known words a word resembles. Two spellings resemble each
other by the character n-grams they share; rare n-grams count more (tf-idf, cosine). The vector is the mean of
the embeddings of known words, weighted by a softmax over resemblance. ``aple`` gets nearly the vector of
``apple``, ``zorblax`` that of nothing in particular, and the resemblance tells the two cases apart.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from rarewords.corpus.columns import offsets, ragged
from rarewords.errors import InputError
from rarewords.lm import LanguageModel
from rarewords.mimic.readings import KnownWords
from rarewords.mimic.settings import MimicSettings

UNKNOWN = 0
# For vectors from spelling alone: n-grams, and a temperature; the lower it is, the more the most similar
# words stand out.
_SHORTEST, _LONGEST, _TEMPERATURE = 2, 5, 0.03
_WORDS_AT_ONCE = 512


def ngrams(word: str, shortest: int = 3, longest: int = 5) -> list[str]:
    """All n-grams of a word with one mark at each end.

    >>> ngrams("cat", 3, 4)
    ['^ca', 'cat', 'at$', '^cat', 'cat$']
    """
    marked = f"^{word}$"
    return [marked[i : i + n] for n in range(shortest, longest + 1) for i in range(len(marked) - n + 1)]


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
            raise InputError("the table of n-grams lists an n-gram twice; the mimic model is damaged")

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
            [self._numbers.get(gram, UNKNOWN) for gram in ngrams(word, self.shortest, self.longest)]
            or [UNKNOWN]
            for word in words
        ]
        numbers = np.array([number for one in lists for number in one], dtype=np.int64)
        return Bags(numbers, offsets(np.array([len(one) for one in lists], dtype=np.int64)))


class Spelling:
    """The spellings of the words a model knows."""

    def __init__(self, lm: LanguageModel) -> None:
        self._known, self._lower_case = KnownWords.of(lm), lm.lower_case
        words = sorted(lm.whole_words, key=lm.whole_words.__getitem__)
        self._place = {word: place for place, word in enumerate(words)}
        self._number: dict[str, int] = {}
        rows = [
            [self._number.setdefault(gram, len(self._number)) for gram in ngrams(word, _SHORTEST, _LONGEST)]
            for word in words
        ]
        occurrences = np.bincount([gram for row in rows for gram in set(row)], minlength=len(self._number))
        self._weights = np.log(len(words) / np.maximum(occurrences, 1))
        self._unseen = float(np.log(len(words)) ** 2)
        self._table = self._vectors(rows, np.zeros(len(rows))).T.tocsr()

    def of(self, words: Sequence[str]) -> tuple[Tensor, Tensor]:
        """For each word its vector, and its resemblance to the most similar known word, from 0 to 1.

        A word is not compared with itself. *Shapes:* (words, dim), (words,)
        """
        vectors, best = [self._known.embeddings[:0]], [self._known.embeddings.new_zeros(0)]
        for first in range(0, len(words), _WORDS_AT_ONCE):
            likeness = self.likeness(words[first : first + _WORDS_AT_ONCE])
            weights = torch.softmax(likeness / _TEMPERATURE, dim=-1)
            vectors.append(weights @ self._known.embeddings)
            best.append(likeness.max(dim=1).values)
        return torch.cat(vectors), torch.cat(best)

    def likeness(self, words: Sequence[str]) -> Tensor:
        """Cosine of n-gram vectors. *Shape:* (words, known words)"""
        spelled = [word.lower() if self._lower_case else word for word in words]
        found = [ngrams(word, _SHORTEST, _LONGEST) for word in spelled]
        rows = [[self._number[gram] for gram in grams if gram in self._number] for grams in found]
        # N-grams that no known word has make a spelling less like any known word.
        unseen = np.array([len(grams) - len(row) for grams, row in zip(found, rows, strict=True)])
        cosines = self._vectors(rows, unseen * self._unseen) @ self._table
        likeness = torch.from_numpy(cosines.toarray().astype(np.float32))
        for row, word in enumerate(spelled):
            if word in self._place:
                likeness[row, self._place[word]] = 0.0
        return likeness.to(self._known.mean.device)

    def _vectors(self, rows: Sequence[Sequence[int]], more: np.ndarray) -> Any:
        """Unit vectors over n-grams, a sparse matrix. *Shape:* (rows, n-grams)

        :param more: added to the squared length of each, for n-grams outside the table. *Shape:* (rows,)
        """
        from scipy.sparse import csr_matrix, diags  # slow to import; not every command needs spelling

        ends = np.cumsum([0, *(len(row) for row in rows)])
        numbers = np.array([gram for row in rows for gram in row], dtype=np.int64)
        table = csr_matrix((self._weights[numbers], numbers, ends), shape=(len(rows), len(self._number)))
        table.sum_duplicates()
        squares = np.asarray(table.multiply(table).sum(axis=1)).ravel() + more
        return diags(1.0 / np.sqrt(np.maximum(squares, 1e-12))) @ table
