"""Arrow files: whole tables in memory, one batch of a part, and a corpus cut into batches of fixed size."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Array = npt.NDArray[Any]


def write_batch(path: Path, **columns: Any) -> None:
    """Write columns as an Arrow file of one record batch."""
    batch = pa.RecordBatch.from_pydict({name: pa.array(values) for name, values in columns.items()})
    with pa.ipc.new_file(str(path), batch.schema) as writer:
        writer.write_batch(batch)


def open_batch(path: Path) -> pa.RecordBatch:
    """The only record batch of an Arrow file, mapped: what is used of it is read."""
    return pa.ipc.open_file(pa.memory_map(str(path))).get_batch(0)


def rows_between(batch: pa.RecordBatch, low: int, high: int) -> pa.RecordBatch:
    """The rows with low <= value < high in the first column, rising 64-bit numbers."""
    values = batch.column(0).to_numpy()
    start = int(np.searchsorted(values, np.uint64(low)))
    stop = int(np.searchsorted(values, np.uint64(high - 1), side="right"))  # high may be 2^64
    return batch.slice(start, stop - start)


def write_table(
    path: Path, schema: pa.Schema, rows: int, batches: Iterable[list[Any]], compression: str | None = None
) -> None:
    """Write an Arrow file in record batches of ``rows`` rows each, however the given columns are cut."""
    held, options = schema.empty_table(), pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_file(str(path), schema, options=options) as writer:
        for columns in batches:
            held = pa.concat_tables([held, pa.table(list(map(pa.array, columns)), schema=schema)])
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
