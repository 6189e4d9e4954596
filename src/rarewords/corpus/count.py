"""Words as numbers: the sentences and the vocabulary of a piece of text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from rarewords.corpus.characters import fold
from rarewords.corpus.settings import CorpusSettings
from rarewords.corpus.text import blocks, entry_pattern, split


@dataclass(frozen=True)
class CountedText:
    """A piece of text as sentences of word numbers; words are numbered in the order of their hashes.

    ``sentences``: those with at least one word; ``lengths`` (sentences,): words in each; ``numbers``
    (occurrences,): their words, sentence after sentence. ``hashes`` (words,) rising; ``words``: the words
    themselves; ``counts`` (words,); ``kept`` (words,): which of them get contexts under the word rule.
    """

    sentences: list[str]
    lengths: npt.NDArray[np.int64]
    numbers: npt.NDArray[np.int32]
    hashes: npt.NDArray[np.uint64]
    words: list[str]
    counts: npt.NDArray[np.int64]
    kept: npt.NDArray[np.bool_]


def count_text(text: str, settings: CorpusSettings) -> CountedText:
    """Split a piece of text and count its words."""
    found = [split(block, lower_case=settings.lower_case) for block in blocks(text)]
    sentences = [sentence for words in found for sentence in words.sentences()]
    lengths = _joined((words.lengths() for words in found), np.int64)
    hashes, numbers, first = distinct(_joined((words.hashes for words in found), np.uint64))
    # The text of each word, taken where it occurs first.
    sizes = np.array([len(words.text) for words in found], dtype=np.int64)
    before = np.cumsum(sizes) - sizes
    starts = _joined((words.starts + at for words, at in zip(found, before, strict=True)), np.int64)[first]
    ends = _joined((words.ends + at for words, at in zip(found, before, strict=True)), np.int64)[first]
    whole = "".join(words.text for words in found)
    names = [whole[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
    if settings.lower_case and names:
        names = fold("\n".join(names)).split("\n")
    match = entry_pattern(settings.words, settings.lower_case).fullmatch
    kept = np.fromiter((match(name) is not None for name in names), dtype=np.bool_, count=len(names))
    counts = np.bincount(numbers, minlength=len(names)).astype(np.int64)
    return CountedText(sentences, lengths, numbers, hashes, names, counts, kept)


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
    order = np.argsort(values)
    rank = np.empty(len(values), dtype=np.int32)
    rank[order] = np.arange(len(values), dtype=np.int32)
    numbers = rank[encoded.indices.to_numpy()]
    first = np.empty(len(values), dtype=np.int64)
    # Written from the back, so that the first place of each stays.
    first[numbers[::-1]] = np.arange(len(numbers) - 1, -1, -1)
    return values[order], numbers, first


def _joined(arrays: Iterable[npt.NDArray[Any]], dtype: type) -> npt.NDArray[Any]:
    return np.concatenate([np.zeros(0, dtype=dtype), *arrays])
