"""The text field of JSON lines, CSV and Parquet, as UTF-8 lines."""

from __future__ import annotations

import csv
import io
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rarewords.corpus.sources import Source
from rarewords.errors import InputError

_ROWS_AT_ONCE = 1024


def documents(stream: Iterator[bytes] | None, source: Source, start: int = 0) -> Iterator[bytes]:
    """Each document of a source, ended by a line end; ``start`` is where ``stream`` starts in the file."""
    if source.format == "jsonl":
        return _jsonl(stream or iter(()), source, start)
    if source.format == "parquet":
        return _parquet(stream, source)
    return _csv(stream or iter(()), source)


def _jsonl(stream: Iterator[bytes], source: Source, start: int) -> Iterator[bytes]:
    rest, place = b"", start
    for block in stream:
        *lines, rest = (rest + block).split(b"\n")
        for line in lines:
            yield from _json_line(line, source, place)
            place += len(line) + 1
    yield from _json_line(rest, source, place)


def _json_line(line: bytes, source: Source, place: int) -> Iterator[bytes]:
    # surrogateescape: bytes that are not UTF-8 go through and are counted with those of plain text.
    text = line.decode("utf-8", "surrogateescape").strip("\ufeff \t\r")
    if not text:
        return
    try:
        record = json.loads(text)
    except ValueError as error:
        raise InputError(f"{_line_at(source, place)} is not JSON: {error}") from None
    if not isinstance(record, dict):
        raise InputError(f"{_line_at(source, place)} is not a JSON object; each line must be one")
    if source.field not in record:
        raise InputError(f"{_line_at(source, place)} {_no_field(source.field, list(record))}")
    value = record[source.field]
    if value is None:
        return
    if not isinstance(value, str):
        raise InputError(f"{_line_at(source, place)}: field {source.field!r} is no text but {value!r:.40}")
    yield _encode(value)


def _csv(stream: Iterator[bytes], source: Source) -> Iterator[bytes]:
    csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    text = io.TextIOWrapper(_Reader(stream), "utf-8-sig", errors="surrogateescape", newline="")  # type: ignore[type-var]
    rows = csv.reader(text, delimiter="\t" if source.format == "tsv" else ",")
    try:
        names = next(rows, None)
        if names is None:
            return
        if source.field not in names:
            raise InputError(f"{source.path} {_no_field(source.field, names)}")
        column = names.index(source.field)
        for row in rows:
            if len(row) > column:
                yield _encode(row[column])
    except csv.Error as error:
        raise InputError(f"{source.path}, line {rows.line_num}: not valid CSV: {error}") from None


def _parquet(stream: Iterator[bytes] | None, source: Source) -> Iterator[bytes]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    if stream is not None:
        # Parquet is read from its end; a compressed one has to be unpacked first.
        with tempfile.TemporaryDirectory() as folder:
            plain = Path(folder) / "unpacked.parquet"
            with plain.open("wb") as target:
                shutil.copyfileobj(_Reader(stream), target)
            yield from _parquet_rows(pa, pq, str(plain), source)
    else:
        yield from _parquet_rows(pa, pq, source.path, source)


def _parquet_rows(pa: Any, pq: Any, path: str, source: Source) -> Iterator[bytes]:
    try:
        file = pq.ParquetFile(path)
    except pa.ArrowInvalid as error:
        raise InputError(f"{source.path} is not a valid Parquet file: {error}") from None
    names = file.schema_arrow.names
    if source.field not in names:
        raise InputError(f"{source.path} {_no_field(source.field, names)}")
    kind = file.schema_arrow.field(source.field).type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_binary(kind)):
        raise InputError(f"{source.path}: field {source.field!r} is no text but {kind}")
    with file:
        for batch in file.iter_batches(_ROWS_AT_ONCE, columns=[source.field], use_threads=False):
            for value in batch.column(0).cast(pa.large_string()).cast(pa.large_binary()).to_pylist():
                if value is not None:
                    yield value + b"\n"


def _encode(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape") + b"\n"
    except UnicodeEncodeError:
        # Half a surrogate pair, written as an escape in JSON.
        return text.encode("utf-8", "replace") + b"\n"


def _no_field(field: str, names: list[str]) -> str:
    return f"has no field {field!r}; it has {', '.join(map(repr, names[:20]))}; choose with --field"


def _line_at(source: Source, place: int) -> str:
    """File and line number of a place in bytes; counted only now that it is needed."""
    if source.compression:
        return f"{source.path}, byte {place} unpacked,"
    with Path(source.path).open("rb") as stream:
        line, left = 1, place
        while left > 0 and (block := stream.read(min(left, 1 << 20))):
            line += block.count(b"\n")
            left -= len(block)
    return f"{source.path}, line {line}"


class _Reader(io.RawIOBase):
    """A file over an iterator of blocks."""

    def __init__(self, stream: Iterator[bytes]) -> None:
        self._stream, self._rest = stream, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            block = next(self._stream, None)
            if block is None:
                return 0
            self._rest = block
        size = min(len(buffer), len(self._rest))
        buffer[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size
