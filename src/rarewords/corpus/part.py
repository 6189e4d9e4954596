"""A part: counts, contexts and sentences of one piece of text, as plain arrays on disk.

Everything in a part is ordered by content hash (words by their hash, sentences by their key), so that a range
of hashes is one stretch of each file and parts can be merged range by range in bounded memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rarewords.files import read_json, whole_folder, write_json

# Column -> type of its numbers. A column of W words, S sentences, C contexts.
COLUMNS: dict[str, str] = {
    "word_hash": "<u8",  # (W,) rising
    "word_count": "<i8",  # (W,)
    "word_start": "<i8",  # (W + 1,) bytes into words.txt
    "context_start": "<i8",  # (W + 1,) first context of each word
    "context_hash": "<u8",  # (C,) rising within a word
    "context_sentence": "<u4",  # (C,)
    "context_position": "<u2",  # (C,)
    "sentence_high": "<u8",  # (S,) key of the sentence, upper half, rising
    "sentence_low": "<u8",  # (S,) lower half
    "sentence_start": "<i8",  # (S + 1,) bytes into sentences.txt
}


@dataclass(frozen=True)
class Totals:
    """What was read: all sentences and words of the text, and bytes that were not UTF-8 and were replaced."""

    sentences: int = 0
    words: int = 0
    replaced: int = 0

    def __add__(self, other: Totals) -> Totals:
        return Totals(
            self.sentences + other.sentences, self.words + other.words, self.replaced + other.replaced
        )


def write_part(
    folder: Path, columns: Mapping[str, npt.NDArray[Any]], words: bytes, sentences: bytes, totals: Totals
) -> None:
    """Write a part, whole or not at all; one that is there already is left as it is."""
    if folder.exists():
        return
    with whole_folder(folder) as temporary:
        for name, dtype in COLUMNS.items():
            save(temporary / name, columns[name], dtype)
        (temporary / "words.txt").write_bytes(words)
        (temporary / "sentences.txt").write_bytes(sentences)
        write_json(temporary / "part.json", vars(totals))


def save(path: Path, values: npt.NDArray[Any], dtype: str) -> None:
    """Write numbers to a file. Not with numpy's ``tofile``: it does not say that the disk is full."""
    path.write_bytes(values.astype(dtype, copy=False).tobytes())


@dataclass(frozen=True)
class Part:
    """Reads stretches of a part's columns; nothing is kept in memory but the hashes that find them."""

    folder: Path

    @cached_property
    def totals(self) -> Totals:
        return Totals(**read_json(self.folder / "part.json"))

    @cached_property
    def sentence_count(self) -> int:
        return (self.folder / "sentence_high").stat().st_size // 8

    @cached_property
    def context_count(self) -> int:
        return (self.folder / "context_hash").stat().st_size // 8

    def read(self, column: str, start: int = 0, stop: int | None = None) -> npt.NDArray[Any]:
        """Numbers ``start`` to ``stop`` of a column. *Shape:* (stop - start,)"""
        dtype = np.dtype(COLUMNS[column])
        count = -1 if stop is None else stop - start
        if count == 0:
            return np.zeros(0, dtype=dtype)
        return np.fromfile(self.folder / column, dtype=dtype, count=count, offset=start * dtype.itemsize)

    def read_lines(self, name: str, start: int, stop: int) -> list[bytes]:
        """The lines of a text file between two byte offsets, each at the start of a line."""
        if start == stop:
            return []
        with (self.folder / name).open("rb") as stream:
            stream.seek(start)
            return stream.read(stop - start - 1).split(b"\n")

    def span(self, column: str, low: int, high: int) -> tuple[int, int]:
        """Places of a rising hash column that hold low <= hash < high (high may be 2^64)."""
        values = (
            np.memmap(self.folder / column, dtype="<u8", mode="r") if self._filled(column) else np.zeros(0)
        )
        if not len(values):
            return 0, 0
        start = int(np.searchsorted(values, np.uint64(low)))
        stop = len(values) if high >= 2**64 else int(np.searchsorted(values, np.uint64(high)))
        return start, stop

    def _filled(self, column: str) -> bool:
        return (self.folder / column).stat().st_size > 0


def ragged(starts: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The places of several stretches, one after the other.

    >>> ragged(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    before = np.cumsum(lengths) - lengths
    return np.repeat(starts - before, lengths) + np.arange(int(lengths.sum()))


def offsets(lengths: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
    """Where each stretch starts, and the end. *Shape:* (n,) -> (n + 1,)

    >>> offsets(np.array([2, 3])).tolist()
    [0, 2, 5]
    """
    result = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=result[1:])
    return result
