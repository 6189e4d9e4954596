"""Reading text in chunks of whole lines, in bounded memory, from any format and compression.

A line longer than 1 MiB is cut at the last white space before that. The text field of JSON lines, CSV and Parquet
becomes lines first.
"""

import csv
import json
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import partial
from io import BufferedReader, TextIOWrapper
from pathlib import Path
from typing import BinaryIO, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from rarewords.corpus.sources import CODECS, Source
from rarewords.errors import InputError

CHUNK_BYTES = 8 << 20
SMALL_CHUNK, _CHUNKS = 1 << 20, 32  # a short text is cut finer, so that progress moves
MAX_LINE = 1 << 20
_BLOCK = 1 << 18
_REPLACEMENT = "\ufffd".encode()
_FEW_REPLACED = 100  # a text may hold some by mistake; of random bytes or another alphabet's code most are
_ROWS_AT_ONCE = 1024
_DAMAGE = (OSError, pa.ArrowException, MemoryError, OverflowError, UnicodeDecodeError)


class Chunk(NamedTuple):
    """Some lines of a source, how many characters were not UTF-8 and were replaced, and what was read of its file."""

    text: str
    replaced: int
    bytes: int


def read_chunks(source: Source) -> Iterator[Chunk]:
    """The text of a source in chunks of about 8 MiB."""
    size = min(max(source.size // _CHUNKS, SMALL_CHUNK), CHUNK_BYTES)
    place = 0
    with _opened(source) as file:
        if source.format == "text":
            blocks = iter(partial(_unpacked(source, file).read, _BLOCK), b"")
        else:
            blocks = map(_encoded, _texts(source, file))
        for chunk in chunks(blocks, size):
            text = chunk.decode("utf-8", "replace")
            replaced = text.count("\ufffd") - chunk.count(_REPLACEMENT)
            if replaced > max(_FEW_REPLACED, len(text) // 4):
                problem = f"{replaced:,} of {len(text):,} characters are not UTF-8"
                raise InputError(f"{source.path} isn't text: {problem}; convert it to UTF-8", code="unreadable")
            before, place = place, source.size if file.closed else file.tell()
            yield Chunk(text, replaced, place - before)


def read_documents(source: Source, *, numbers: bool = False) -> Iterator[str]:
    """Each document of a source: a line of plain text, or the text field of a record.

    :param numbers: the field may hold whole numbers, as ids do.
    """
    with _opened(source) as file:
        for document in _texts(source, file, numbers):
            yield _encoded(document).rstrip(b"\r\n").decode("utf-8", "replace")


def _texts(source: Source, file: BinaryIO, numbers: bool = False) -> Iterator[str]:
    """Each line, or the text field of each record; empty if the record has none."""
    if source.format == "text":
        return _lines(source, file)
    if source.format == "jsonl":
        return _jsonl(source, file, numbers)
    return _parquet(source, file, numbers) if source.format == "parquet" else _csv(source, file)


def _encoded(text: str) -> bytes:
    """A text as a line; bytes that are not UTF-8 pass through and are counted with those of plain text."""
    try:
        return text.encode("utf-8", "surrogateescape") + b"\n"
    except UnicodeEncodeError:  # half a surrogate pair, written as an escape in JSON
        return text.encode("utf-8", "replace") + b"\n"


def _jsonl(source: Source, file: BinaryIO, numbers: bool) -> Iterator[str]:
    for number, line in enumerate(_lines(source, file), 1):
        if not (line := line.strip("\ufeff \t\r\n")):
            continue
        place = f"{source.path}, line {number}"
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{place} is not JSON: {error}", code="format") from None
        if not isinstance(record, dict):
            raise InputError(f"{place} is not a JSON object; each line must be one", code="format")
        value = record[_required(source, record, place)]
        if numbers and isinstance(value, int):
            value = str(value)
        if not isinstance(value, str | None):
            raise InputError(f"{place} has a field {source.field!r} that is not text but {value!r:.40}", code="field")
        yield value or ""


def _csv(source: Source, file: BinaryIO) -> Iterator[str]:
    csv.field_size_limit(2**31 - 1)
    lines = (line.removeprefix("\ufeff") for line in _lines(source, file))
    rows = csv.DictReader(lines, delimiter="\t" if source.format == "tsv" else ",", restval="")
    try:
        if rows.fieldnames is not None:  # None: the file is empty
            field = _required(source, rows.fieldnames, source.path)
            yield from (row[field] for row in rows)
    except csv.Error as error:
        raise InputError(f"{source.path}, line {rows.line_num}: not valid CSV: {error}", code="format") from None


def _parquet(source: Source, file: BinaryIO, numbers: bool) -> Iterator[str]:
    table = pq.ParquetFile(file)
    field = _required(source, table.schema_arrow.names, source.path)
    kind = table.schema_arrow.field(field).type
    if pa.types.is_nested(kind) or (pa.types.is_primitive(kind) and not numbers):
        raise InputError(f"{source.path}: field {field!r} is not text but {kind}", code="field")
    for batch in table.iter_batches(_ROWS_AT_ONCE, columns=[field], use_threads=False):
        # What is not UTF-8 is an error of one of these calls.
        yield from (text or "" for text in batch.column(0).cast(pa.large_string()).to_pylist())


def _required(source: Source, names: Collection[str], place: str) -> str:
    """The field that holds the text, if it is among those there are; otherwise the file is refused."""
    if source.field not in names:
        there = ", ".join(map(repr, list(names)[:20]))
        raise InputError(f"{place} has no field {source.field!r}; it has {there}; name one of these", code="field")
    return source.field


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


def _unpacked(source: Source, file: BinaryIO) -> BufferedReader:
    """The bytes of a file after decompression."""
    return BufferedReader(pa.input_stream(file, compression=CODECS.get(source.compression)), _BLOCK)


def _lines(source: Source, file: BinaryIO) -> TextIOWrapper:
    """Lines with their ends, which are those of Unix, Windows or old Macs."""
    return TextIOWrapper(_unpacked(source, file), "utf-8", "surrogateescape", newline="")


@contextmanager
def _opened(source: Source) -> Iterator[BinaryIO]:
    """Open a file; what can go wrong in reading it becomes one line that names it."""
    try:
        with Path(source.path).open("rb") as file:
            yield file
    except _DAMAGE as error:
        if isinstance(error, OSError) and error.errno is not None:
            problem = f"cannot be read: {error.strerror}"
        elif "Truncated" in str(error):
            problem = "is truncated; copy or download it again"
        else:
            problem = f"is not a valid {source.compression or source.format} file: {error}"
        raise InputError(f"{source.path} {problem.splitlines()[0]}", code="damaged") from None
