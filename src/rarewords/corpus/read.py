"""Reading text in chunks of whole lines, in bounded memory, from any format and compression.

A line longer than 1 MiB is cut at the last white space before that, counted from its own start, so that the
cuts do not depend on how the file is divided among workers. The text field of JSON lines, CSV and Parquet
becomes lines first.
"""

import csv
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyarrow.parquet as pq

from rarewords.corpus.sources import CODECS, Shard, Source
from rarewords.errors import InputError

CHUNK_BYTES = 12 << 20
MAX_LINE = 1 << 20
_BLOCK = 1 << 20
_REPLACEMENT = "\ufffd".encode()
_FEW_REPLACED = 100  # a text may hold some by mistake; of random bytes or another alphabet's code most are
_ROWS_AT_ONCE = 1024
_DAMAGE = (OSError, pa.ArrowException, MemoryError, OverflowError, UnicodeDecodeError)


def read_shard(shard: Shard) -> Iterator[tuple[int, str, int]]:
    """The chunks of a shard: running number, text, and how much of it was not UTF-8 and was replaced."""
    source = shard.source
    with _reported(source):
        blocks = _bytes_of(shard) if source.format == "text" else _records(shard)
        for number, chunk in enumerate(chunks(blocks, CHUNK_BYTES)):
            if number % shard.of == shard.number:
                text = chunk.decode("utf-8", "replace")
                replaced = text.count("\ufffd") - chunk.count(_REPLACEMENT)
                if replaced > max(_FEW_REPLACED, len(text) // 4):
                    problem = f"{replaced:,} of {len(text):,} characters are not UTF-8"
                    raise InputError(f"{source.path} isn't text: {problem}; convert it to UTF-8", code="unreadable")
                yield number, text, replaced


def read_documents(source: Source, *, numbers: bool = False) -> Iterator[str]:
    """Each document of a source: a line of plain text, or the text field of a record.

    :param numbers: the field may hold whole numbers, as ids do.
    """
    shard = Shard(source)
    with _reported(source):
        documents = _lines(_bytes_of(shard)) if source.format == "text" else _records(shard, numbers)
        for document in documents:
            yield document.rstrip(b"\r\n").decode("utf-8", "replace")


def _records(shard: Shard, numbers: bool = False) -> Iterator[bytes]:
    """The text field of each record, ended by a line end; empty if the record has none."""
    if shard.source.format == "jsonl":
        texts = _jsonl(shard, numbers)
    else:
        texts = _parquet(shard.source, numbers) if shard.source.format == "parquet" else _csv(shard)
    for text in texts:
        try:  # bytes that are not UTF-8 pass through and are counted with those of plain text
            yield text.encode("utf-8", "surrogateescape") + b"\n"
        except UnicodeEncodeError:  # half a surrogate pair, written as an escape in JSON
            yield text.encode("utf-8", "replace") + b"\n"


def _jsonl(shard: Shard, numbers: bool) -> Iterator[str]:
    path, field = shard.source.path, shard.source.field
    for number, line in enumerate(_lines(_bytes_of(shard)), 1):
        try:
            if record := line.decode("utf-8", "surrogateescape").strip("\ufeff \t\r\n"):
                yield _json_text(record, field, numbers)
        except InputError as error:
            before = sum(block.count(b"\n") for block in _range(path, 0, shard.start))
            raise InputError(f"{path}, line {before + number} {error}", code=error.code) from None


def _json_text(line: str, field: str, numbers: bool) -> str:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"is not JSON: {error}", code="format") from None
    if not isinstance(record, dict):
        raise InputError("is not a JSON object; each line must be one", code="format")
    if field not in record:
        raise InputError(_no_field(field, list(record)), code="field")
    value = record[field]
    if numbers and isinstance(value, int):
        return str(value)
    if not isinstance(value, str | None):
        raise InputError(f"has a field {field!r} that is not text but {value!r:.40}", code="field")
    return value or ""


def _csv(shard: Shard) -> Iterator[str]:
    path, field = shard.source.path, shard.source.field
    csv.field_size_limit(2**31 - 1)
    lines = (line.decode("utf-8", "surrogateescape").removeprefix("\ufeff") for line in _lines(_bytes_of(shard)))
    rows = csv.DictReader(lines, delimiter="\t" if shard.source.format == "tsv" else ",", restval="")
    try:
        names = rows.fieldnames  # None if the file is empty
        if names is not None and field not in names:
            raise InputError(f"{path} {_no_field(field, list(names))}", code="field")
        yield from (row[field] for row in rows)
    except csv.Error as error:
        raise InputError(f"{path}, line {rows.line_num}: not valid CSV: {error}", code="format") from None


def _parquet(source: Source, numbers: bool) -> Iterator[str]:
    with pq.ParquetFile(source.path) as file:
        schema, field = file.schema_arrow, source.field
        if field not in schema.names:
            raise InputError(f"{source.path} {_no_field(field, schema.names)}", code="field")
        kind = schema.field(field).type
        if pa.types.is_nested(kind) or (pa.types.is_primitive(kind) and not numbers):
            raise InputError(f"{source.path}: field {field!r} is not text but {kind}", code="field")
        for batch in file.iter_batches(_ROWS_AT_ONCE, columns=[field], use_threads=False):
            # What is not UTF-8 is an error of one of these calls.
            yield from (text or "" for text in batch.column(0).cast(pa.large_string()).to_pylist())


def _no_field(field: str, names: list[str]) -> str:
    return f"has no field {field!r}; it has {', '.join(map(repr, names[:20]))}; name one of these"


def _lines(stream: Iterator[bytes]) -> Iterator[bytes]:
    """Lines with their ends, which are those of Unix, Windows or old Macs."""
    rest: list[bytes] = []
    for block in stream:
        head, newline, tail = block.rpartition(b"\n")
        if newline:
            yield from b"".join([*rest, head, newline]).splitlines(keepends=True)
            rest = []
        rest.append(tail)
    yield from b"".join(rest).splitlines(keepends=True)


def chunks(blocks: Iterator[bytes], size: int) -> Iterator[bytes]:
    """Regroup blocks into chunks of whole lines of about ``size`` bytes; long lines are cut.

    >>> list(chunks(iter([b"one", b" two\\nthr", b"ee"]), 4))
    [b'one two\\n', b'three\\n']
    """
    ready: list[bytes] = []
    amount, rest = 0, b""
    for block in blocks:
        *lines, rest = [part for line in (rest + block).split(b"\n") for part in _cut_long(line)]
        ready.append(b"".join([line + b"\n" for line in lines]))
        amount += len(ready[-1])
        if amount >= size:
            yield b"".join(ready)
            ready, amount = [], 0
    if rest:
        ready.append(rest + b"\n")
    if ready:
        yield b"".join(ready)


def _cut_long(line: bytes) -> list[bytes]:
    """A line cut so that no part is longer than MAX_LINE."""
    parts: list[bytes] = []
    while len(line) > MAX_LINE:
        at = max(line.rfind(space, 1, MAX_LINE) for space in (b" ", b"\t", b"\r"))
        if at <= 0:
            at = MAX_LINE
            # Without white space, at least not inside a character.
            while at > MAX_LINE - 4 and line[at] & 0xC0 == 0x80:
                at -= 1
        parts.append(line[:at])
        line = line[at:]
    return [*parts, line]


def _bytes_of(shard: Shard) -> Iterator[bytes]:
    """The bytes of a shard after decompression, block by block."""
    source = shard.source
    if shard.stop:
        yield from _range(source.path, shard.start, shard.stop)
    else:
        with pa.input_stream(source.path, compression=CODECS.get(source.compression)) as stream:
            yield from iter(lambda: stream.read(_BLOCK), b"")


def _range(path: str, start: int, stop: int) -> Iterator[bytes]:
    """The bytes of the lines that start at ``start`` <= place < ``stop``."""
    with Path(path).open("rb") as stream:
        at = _line_start(stream, start)
        end = _line_start(stream, stop) if at < stop else at
        stream.seek(at)
        while at < end and (block := stream.read(min(_BLOCK, end - at))):
            at += len(block)
            yield block


def _line_start(stream: IO[bytes], place: int) -> int:
    """Where the first line starts at or after ``place``; the end of the file if none does."""
    if place == 0:
        return 0
    stream.seek(place - 1)
    while (part := stream.readline(_BLOCK)) and not part.endswith(b"\n"):
        pass
    return stream.tell()


@contextmanager
def _reported(source: Source) -> Iterator[None]:
    """Turn what can go wrong in reading a source into one line that names it."""
    try:
        yield
    except _DAMAGE as error:
        if isinstance(error, OSError) and error.errno is not None:
            problem = f"cannot be read: {error.strerror}"
        elif "Truncated" in str(error):
            problem = "is truncated; copy or download it again"
        else:
            problem = f"is not a valid {source.compression or source.format} file: {error}"
        raise InputError(f"{source.path} {problem.splitlines()[0]}", code="damaged") from None
