"""Arrow files of one record batch, and stretches of arrays."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa


def write_batch(path: Path, **columns: Any) -> None:
    """Write columns as an Arrow file of one record batch."""
    batch = pa.RecordBatch.from_pydict(columns)
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


def offsets(lengths: Any) -> np.ndarray:
    """Where each stretch starts, and the end. *Shape:* (n,) -> (n + 1,)

    >>> offsets(np.array([2, 3])).tolist()
    [0, 2, 5]
    """
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])


def ragged(starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """The places of several stretches, one after the other.

    >>> ragged(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    before = np.cumsum(lengths) - lengths
    return np.repeat(starts - before, lengths) + np.arange(int(lengths.sum()))
