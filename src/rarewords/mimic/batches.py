"""Contexts as references into sentences, turned into readings on the device, without padding.

The words of all sentences lie end to end in one array. A context is a stretch of it, so a million contexts
are three million numbers, and what a context says is a bag of embeddings summed where the embeddings are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor, nn

from rarewords.corpus.store import Store
from rarewords.progress import progress

_SENTENCES_AT_ONCE = 50_000


@dataclass(frozen=True)
class ContextTable:
    """The contexts of a list of words.

    :param numbers: for each place of each sentence the number of its word in a vocabulary; -1 for a word that
        is not in it. *Shape:* (places,)
    :param left: the first place of each context. *Shape:* (contexts,)
    :param right: the place behind its last. *Shape:* (contexts,)
    :param place: where the word itself stands. *Shape:* (contexts,)
    :param starts: where each word's contexts start. *Shape:* (words + 1,)
    """

    numbers: np.ndarray
    left: np.ndarray
    right: np.ndarray
    place: np.ndarray
    starts: np.ndarray

    @property
    def counts(self) -> np.ndarray:
        """The number of contexts of each word. *Shape:* (words,)"""
        return np.diff(self.starts)

    def __len__(self) -> int:
        return len(self.left)

    def of_words(self, rows: np.ndarray) -> ContextTable:
        """The contexts of some of the words, in this order."""
        counts = self.counts[rows]
        starts = np.concatenate([[0], np.cumsum(counts)])
        chosen = np.arange(starts[-1]) - np.repeat(starts[:-1] - self.starts[rows], counts)
        return ContextTable(self.numbers, self.left[chosen], self.right[chosen], self.place[chosen], starts)

    def with_rows(self, rows: np.ndarray) -> ContextTable:
        """The same contexts with words renumbered; contexts left without any known word are dropped.

        :param rows: for each word of the vocabulary its new number, -1 to forget it.
        """
        table = ContextTable(
            rows[self.numbers].astype(np.int32), self.left, self.right, self.place, self.starts
        )
        return _without_empty(table)


def context_table(store: Store, words: Sequence[str], limit: int | None = None) -> ContextTable:
    """The contexts of words in a store, at most ``limit`` of each, numbered by the store's vocabulary."""
    owner, sentence, position = store.references(words, limit)
    sentences, line = np.unique(sentence, return_inverse=True)
    parts, lengths = [np.zeros(0, np.int32)], [np.zeros(0, np.int64)]
    with progress("Reading sentences", total=len(sentences), unit="sentences") as bar:
        for first in range(0, len(sentences), _SENTENCES_AT_ONCE):
            numbers, starts = store.sentence_words(sentences[first : first + _SENTENCES_AT_ONCE])
            parts.append(numbers.astype(np.int32))
            lengths.append(np.diff(starts))
            bar.advance(len(lengths[-1]))
    ends = np.cumsum(np.concatenate(lengths))
    begins = ends - np.concatenate(lengths)
    place = begins[line] + position
    left = np.maximum(begins[line], place - store.settings.window)
    right = np.minimum(ends[line], place + store.settings.window + 1)
    return _ordered(len(words), owner, left, right, place, np.concatenate(parts))


def table_of_sentences(sentences: Sequence[tuple[Sequence[int], int]]) -> ContextTable:
    """Contexts of one word given as lists of numbers and the word's place in each."""
    numbers = np.array([row for one, _ in sentences for row in one], dtype=np.int32)
    right = np.cumsum([len(one) for one, _ in sentences], dtype=np.int64)
    left = np.concatenate([[0], right])[:-1] if len(right) else right
    place = left + np.array([at for _, at in sentences], dtype=np.int64)
    starts = np.array([0, len(sentences)])
    return _without_empty(ContextTable(numbers, left, right, place, starts))


def known_words(table: ContextTable) -> np.ndarray:
    """How many words of each context have an embedding, the word itself not counted. *Shape:* (contexts,)"""
    summed = np.concatenate([[0], np.cumsum(table.numbers >= 0)])
    own = table.numbers[table.place] >= 0 if len(table) else np.zeros(0, bool)
    known: np.ndarray = summed[table.right] - summed[table.left] - own
    return known


class ContextReader(Protocol):
    """Contexts of a list of words, and what each says as a vector."""

    starts: np.ndarray
    counts: Tensor

    @property
    def device(self) -> torch.device:
        """Where the readings are made."""

    def read(self, contexts: Tensor) -> Tensor:
        """The readings of some contexts by number. *Shape:* (contexts, dim)"""

    def first_of(self, words: Tensor) -> Tensor:
        """The number of each word's first context. *Shape:* (words,)"""


class KeptReadings:
    """Readings made beforehand, by the language model.

    :param readings: *Shape:* (contexts, dim)
    :param starts: where each word's contexts start. *Shape:* (words + 1,)
    """

    def __init__(self, readings: Tensor, starts: np.ndarray) -> None:
        self._readings, self.starts = readings, starts
        self.counts = torch.from_numpy(np.diff(starts)).to(readings.device)
        self._first = torch.from_numpy(starts[:-1].astype(np.int64)).to(readings.device)

    @property
    def device(self) -> torch.device:
        """Where they are."""
        return self._readings.device

    def read(self, contexts: Tensor) -> Tensor:
        """The readings of some contexts by number. *Shape:* (contexts, dim)"""
        return self._readings[contexts].float()

    def first_of(self, words: Tensor) -> Tensor:
        """The number of each word's first context. *Shape:* (words,)"""
        return self._first[words]


class Reader:
    """Turns contexts into readings: the mean embedding of the words around.

    :param table: numbered by the rows of the embeddings (see :meth:`ContextTable.with_rows`).
    :param embeddings: *Shape:* (rows, dim)
    """

    def __init__(self, table: ContextTable, embeddings: Tensor) -> None:
        device = embeddings.device
        self.starts = table.starts
        self.counts = torch.from_numpy(table.counts).to(device)
        self._first = torch.from_numpy(table.starts[:-1].astype(np.int64)).to(device)
        self._none = len(embeddings)
        # One more row, of zeros, for words without an embedding and for the word itself.
        self._embeddings = torch.cat([embeddings, embeddings.new_zeros(1, embeddings.shape[1])])
        rows = np.where(table.numbers < 0, self._none, table.numbers).astype(np.int32)
        self._rows = torch.from_numpy(rows).to(device)
        self._left, self._right, self._place = (
            torch.from_numpy(array.astype(np.int64)).to(device)
            for array in (table.left, table.right, table.place)
        )
        self._known = torch.from_numpy(known_words(table).astype(np.float32)).to(device)

    @property
    def device(self) -> torch.device:
        """Where the readings are made."""
        return self._embeddings.device

    @property
    def contexts(self) -> int:
        """The number of contexts of all words."""
        return len(self._left)

    def read(self, contexts: Tensor) -> Tensor:
        """The readings of some contexts by number. *Shape:* (contexts, dim)"""
        left, lengths = self._left[contexts], self._right[contexts] - self._left[contexts]
        ends = lengths.cumsum(0)
        total = int(ends[-1]) if len(ends) else 0
        starts = ends - lengths
        places = torch.arange(total, device=self.device)
        places -= torch.repeat_interleave(starts - left, lengths, output_size=total)
        summed = nn.functional.embedding_bag(self._rows[places].long(), self._embeddings, starts, mode="sum")
        # The word itself does not count; where it has an embedding, take it out of the sum again.
        summed -= self._embeddings[self._rows[self._place[contexts]].long()]
        return summed / self._known[contexts, None].to(summed.dtype)

    def first_of(self, words: Tensor) -> Tensor:
        """The number of each word's first context. *Shape:* (words,)"""
        return self._first[words]


def _ordered(
    words: int, owner: np.ndarray, left: np.ndarray, right: np.ndarray, place: np.ndarray, numbers: np.ndarray
) -> ContextTable:
    order = np.argsort(owner, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=words))]).astype(np.int64)
    return ContextTable(numbers, left[order], right[order], place[order], starts)


def _without_empty(table: ContextTable) -> ContextTable:
    keep = known_words(table) > 0
    if keep.all():
        return table
    words = len(table.starts) - 1
    owner = np.repeat(np.arange(words), table.counts)[keep]
    return _ordered(words, owner, table.left[keep], table.right[keep], table.place[keep], table.numbers)
