"""Columns of numbers and byte strings on disk: plain files during the work, Arrow files in a finished corpus.

A plain column is a file of numbers in the type of :data:`DTYPES`. A column of byte strings is a file with the
strings one after the other, and beside it a column ``NAME_start`` that says where each one starts.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Array = npt.NDArray[Any]

# W words, C contexts, S sentences; in a merge P sentences of all parts, D distinct ones, R rows of the
# corpus.
DTYPES = {
    "word_hash": "<u8",  # (W,) rising
    "word_count": "<i8",  # (W,)
    "word_start": "<i8",  # (W + 1,)
    "context_start": "<i8",  # (W + 1,) first context of each word
    "context_hash": "<u8",  # (C,) rising within a word
    "context_sentence": "<u4",  # (C,)
    "context_position": "<u2",  # (C,) which word of the sentence
    "context_number": "<i8",  # (C,) the sentence among the distinct ones
    "sentence_high": "<u8",  # (S,) key of the sentence, upper half, rising
    "sentence_low": "<u8",  # (S,) lower half
    "sentence_start": "<i8",  # (S + 1,)
    "sentence_number": "<i8",  # (P,) which of the distinct sentences this is
    "place": "<i8",  # which of all parts' sentences has this key, in a range of keys
    "number": "<i8",  # and its number among the distinct ones of the range
    "distinct_place": "<i8",  # (D,) which of all parts' sentences has the text
    "distinct_used": "?",  # (D,) whether a sampled context needs it
    "distinct_row": "<u4",  # (D,) its row, if so
    "row_place": "<i8",  # (R,) which of all parts' sentences has the text
    "block_start": "<i8",  # compressed sentences
}


def append(folder: Path, **columns: Array | list[bytes]) -> None:
    """Write columns to plain files, numbers after those that the files hold already."""
    for name, values in columns.items():
        if isinstance(values, list):
            lengths = np.fromiter(map(len, values), dtype=np.int64, count=len(values))
            append(folder, **{f"{name}_start": offsets(lengths)})
            written = b"".join(values)
        else:
            written = values.astype(DTYPES[name], copy=False).tobytes()
        with (folder / name).open("ab") as stream:
            # Not with numpy's tofile, which does not report a full disk.
            stream.write(written)


@dataclass(frozen=True)
class Columns:
    """Reads stretches of the plain columns in a folder; nothing stays in memory."""

    folder: Path

    def numbers(self, name: str, *, write: bool = False) -> Array:
        """A column of numbers, mapped: what is used of it is read. *Shape:* (size,)"""
        path = self.folder / name
        if not path.exists() or not path.stat().st_size:
            return np.zeros(0, dtype=DTYPES[name])
        return np.asarray(np.memmap(path, dtype=DTYPES[name], mode="r+" if write else "r"))

    def strings(self, name: str, span: slice | None = None) -> list[bytes]:
        """The byte strings of a column, or some neighbouring ones."""
        starts = self.numbers(f"{name}_start")
        if span is not None:
            starts = starts[span.start : span.stop + 1]
        with (self.folder / name).open("rb") as stream:
            stream.seek(int(starts[0]))
            data = stream.read(int(starts[-1] - starts[0]))
        return [data[begin:end] for begin, end in pairwise((starts - starts[0]).tolist())]

    def span(self, name: str, low: int, high: int) -> slice:
        """Places in a rising column of hashes with low <= hash < high."""
        values = self.numbers(name)
        stop = np.searchsorted(values, np.uint64(high - 1), side="right")  # high may be 2^64
        return slice(int(np.searchsorted(values, np.uint64(low))), int(stop))


def write_table(path: Path, schema: pa.Schema, rows: int, batches: Iterable[dict[str, Any]]) -> None:
    """Write an Arrow file in record batches of ``rows`` rows each, however the given columns are cut."""
    held = schema.empty_table()
    with pa.ipc.new_file(str(path), schema) as writer:
        for batch in batches:
            held = pa.concat_tables([held, pa.Table.from_pydict(batch, schema=schema)])
            while len(held) >= rows:
                writer.write_batch(_one_batch(held.slice(0, rows)))
                held = held.slice(rows)
        if len(held):
            writer.write_batch(_one_batch(held))


def _one_batch(table: pa.Table) -> pa.RecordBatch:
    # Copied: a slice would carry bytes of what it was cut from.
    columns = [pa.concat_arrays([*column.chunks, pa.array([], column.type)]) for column in table.columns]
    return pa.record_batch(columns, schema=table.schema)


def take(column: pa.ChunkedArray, rows: Array) -> npt.NDArray[np.int64]:
    """Some numbers of a column of an Arrow file, of which only these are read. *Shape:* (rows,)"""
    # Its record batches, except for the last one, have the same number of rows.
    size = len(column.chunk(0)) if column.num_chunks else 1
    result, batches = np.zeros(len(rows), dtype=np.int64), rows // size
    for batch in np.unique(batches).tolist():
        own = batches == batch
        result[own] = column.chunk(batch).to_numpy()[rows[own] - batch * size]
    return result


def offsets(lengths: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
    """Where each stretch starts, and the end. *Shape:* (n,) -> (n + 1,)

    >>> offsets(np.array([2, 3])).tolist()
    [0, 2, 5]
    """
    result = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=result[1:])
    return result


def ragged(starts: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The places of several stretches, one after the other.

    >>> ragged(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    before = np.cumsum(lengths) - lengths
    return np.repeat(starts - before, lengths) + np.arange(int(lengths.sum()))
