"""Writing the files of a store from merged ranges: the same bytes however the ranges were cut."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import zstandard

from rarewords.corpus.merge import load, row_file
from rarewords.corpus.part import Totals, offsets
from rarewords.corpus.settings import CorpusSettings
from rarewords.corpus.store import FILES, FORMAT
from rarewords.files import file_digest, write_json

_ROWS = {"words.arrow": 1 << 20, "contexts.arrow": 1 << 22, "sentences.arrow": 1 << 13}
_TYPES = {
    "words.arrow": {"hash": pa.uint64(), "word": pa.string(), "count": pa.int64(), "contexts": pa.uint32(),
                    "context_start": pa.int64()},
    "contexts.arrow": {"sentence": pa.uint32(), "position": pa.uint16()},
    "sentences.arrow": {"text": pa.binary()},
}  # fmt: skip

Array = npt.NDArray[Any]


def write_store(
    folder: Path,
    settings: CorpusSettings,
    totals: Totals,
    words: Iterable[Path],
    packed: Iterable[Path],
    sentences: int,
    dictionary: bytes,
) -> None:
    """Write all files of a store into ``folder`` from the results of the merge, in their order."""
    written = 0
    with (
        _Table(folder / "words.arrow", settings) as table,
        _Table(folder / "contexts.arrow", settings) as refs,
    ):
        for result in words:
            hashes = load(result, "hash", "<u8")
            sizes = load(result, "contexts", "<i8")
            names = (result / "words.txt").read_bytes().decode("utf-8").split("\n") if len(hashes) else []
            table.add(
                hash=pa.array(hashes),
                word=pa.array(names, pa.string()),
                count=pa.array(load(result, "count", "<i8")),
                contexts=pa.array(sizes.astype(np.uint32)),
                context_start=pa.array(offsets(sizes)[:-1] + written),
            )
            written += int(sizes.sum())
            part = load(result, "context_part", "<u4")
            sentence = _rows(result.parent, part, load(result, "context_sentence", "<u4"))
            refs.add(sentence=pa.array(sentence), position=pa.array(load(result, "context_position", "<u2")))
    extra = {"dictionary": zstandard.ZstdCompressor(level=9).compress(dictionary)}
    with _Table(folder / "sentences.arrow", settings, extra) as blocks:
        for result in packed:
            blocks.add(text=_blobs(result))
    files = {
        name: {"bytes": (folder / name).stat().st_size, "sha256": file_digest(folder / name)}
        for name in FILES
    }
    write_json(
        folder / "store.json",
        {
            "format": FORMAT,
            "settings": settings.to_dict(),
            "totals": vars(totals),
            "sentences": sentences,
            "contexts": written,
            "files": files,
        },
    )


def _rows(step: Path, part: Array, sentence: Array) -> Array:
    """The store's row of each (part, sentence of the part). *Shape:* (contexts,)"""
    result = np.zeros(len(part), dtype=np.uint32)
    for place in np.unique(part).tolist():
        own = part == place
        result[own] = np.memmap(row_file(step, place), dtype="<u4", mode="r")[sentence[own]]
    return result


def _blobs(result: Path) -> pa.Array:
    starts = load(result, "start", "<i8").astype("<i4")
    data = (result / "text").read_bytes()
    buffers = [None, pa.py_buffer(starts.tobytes()), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.binary(), len(starts) - 1, buffers)


class _Table:
    """Writes an Arrow file in record batches of a fixed number of rows."""

    def __init__(
        self, path: Path, settings: CorpusSettings, extra: Mapping[str, str | bytes] | None = None
    ) -> None:
        metadata = {
            "format": FORMAT,
            "settings": json.dumps(settings.to_dict(), sort_keys=True),
            **(extra or {}),
        }
        self._schema = pa.schema(list(_TYPES[path.name].items()), metadata=metadata)
        self._rows = _ROWS[path.name]
        self._writer = pa.ipc.new_file(str(path), self._schema)
        self._held: list[pa.RecordBatch] = []
        self._amount = 0

    def add(self, **columns: pa.Array) -> None:
        if len(next(iter(columns.values()))):
            self._held.append(pa.record_batch(list(columns.values()), schema=self._schema))
            self._amount += len(self._held[-1])
        while self._amount >= self._rows:
            for batch in self._cut(self._rows):
                self._writer.write_batch(batch)

    def _cut(self, rows: int) -> Iterator[pa.RecordBatch]:
        table = pa.Table.from_batches(self._held, self._schema)
        rest = table.slice(rows)
        self._held, self._amount = rest.to_batches(), len(rest)
        # Built anew: a slice would carry the bytes, and the offsets, of what it was cut from.
        columns = [
            pa.concat_arrays([chunk for chunk in column.chunks if len(chunk)] or column.chunks)
            for column in table.slice(0, rows).columns
        ]
        yield pa.record_batch([_fresh(column) for column in columns], schema=self._schema)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None and self._amount:
            for batch in self._cut(self._amount):
                self._writer.write_batch(batch)
        self._writer.close()


def _fresh(column: pa.Array) -> pa.Array:
    if pa.types.is_integer(column.type):
        return pa.array(column.to_numpy(zero_copy_only=False).copy())
    return pa.concat_arrays([column, column.slice(0, 0)])
