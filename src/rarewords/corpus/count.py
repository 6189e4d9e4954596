"""Words as numbers: the vocabulary of a piece of text and how often each word occurs in it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from rarewords.corpus.settings import CorpusSettings
from rarewords.corpus.text import entry_pattern


@dataclass(frozen=True)
class Vocabulary:
    """The distinct words of a text, ordered by hash.

    ``hashes`` (words,) rising; ``words``: the words themselves; ``counts`` (words,); ``kept`` (words,): which
    of them get contexts under the word rule.
    """

    hashes: npt.NDArray[np.uint64]
    words: list[str]
    counts: npt.NDArray[np.int64]
    kept: npt.NDArray[np.bool_]


def distinct(
    hashes: npt.NDArray[np.uint64],
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    """Number the distinct hashes in rising order.

    Returns the distinct hashes (distinct,), for each input its number (inputs,) and for each distinct hash
    the place where it comes first (distinct,).

    >>> values, numbers, first = distinct(np.array([7, 3, 7, 9], dtype=np.uint64))
    >>> values.tolist(), numbers.tolist(), first.tolist()
    ([3, 7, 9], [1, 0, 1, 2], [1, 0, 3])
    """
    encoded = pa.array(hashes).dictionary_encode()
    values = encoded.dictionary.to_numpy()
    numbers = encoded.indices.to_numpy()
    order = np.argsort(values)
    rank = np.empty(len(values), dtype=np.int32)
    rank[order] = np.arange(len(values), dtype=np.int32)
    numbers = rank[numbers]
    first = np.empty(len(values), dtype=np.int64)
    # Written from the back, so that the first place of each stays.
    first[numbers[::-1]] = np.arange(len(numbers) - 1, -1, -1)
    return values[order], numbers, first


def vocabulary_of(
    hashes: npt.NDArray[np.uint64], words: list[str], numbers: npt.NDArray[np.int32], settings: CorpusSettings
) -> Vocabulary:
    """Count the words of a text that :func:`distinct` has numbered."""
    match = entry_pattern(settings.words, settings.lower_case).fullmatch
    kept = np.fromiter((match(word) is not None for word in words), dtype=np.bool_, count=len(words))
    counts = np.bincount(numbers, minlength=len(words)).astype(np.int64)
    return Vocabulary(hashes, words, counts, kept)
