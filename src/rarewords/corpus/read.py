"""Reading text in chunks of whole lines, in bounded memory, from any format and compression.

A line longer than 1 MiB is cut at the last white space before that, counted from its own start, so that the
cuts do not depend on how the file was shared out.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
import zstandard

from rarewords.corpus.documents import documents
from rarewords.corpus.sources import Shard, Source
from rarewords.errors import InputError

CHUNK_BYTES = 12 << 20
MAX_LINE = 1 << 20
_BLOCK = 1 << 20
_REPLACEMENT = "\ufffd".encode()


def read_shard(shard: Shard) -> Iterator[tuple[int, str, int]]:
    """The chunks of a shard: running number, text, and how much of it was not UTF-8 and was replaced."""
    source = shard.source
    with reported(source):
        blocks = _blocks(shard)
        for number, chunk in enumerate(chunks(blocks, CHUNK_BYTES)):
            if number % shard.of == shard.number:
                text = chunk.decode("utf-8", "replace")
                yield number, text, text.count("\ufffd") - chunk.count(_REPLACEMENT)


def chunks(blocks: Iterator[bytes], size: int) -> Iterator[bytes]:
    """Regroup blocks into chunks of whole lines of about ``size`` bytes; long lines are cut.

    >>> list(chunks(iter([b"one", b" two\\nthr", b"ee"]), 4))
    [b'one two\\n', b'three\\n']
    """
    ready: list[bytes] = []
    amount = 0
    line = b""
    for block in blocks:
        head, newline, tail = block.rpartition(b"\n")
        if newline:
            complete = _short_lines(line + head + b"\n")
            ready.append(complete)
            amount += len(complete)
            line = tail
        else:
            line += block
        while len(line) > MAX_LINE:
            at = _cut(line)
            ready.append(line[:at] + b"\n")
            amount += at
            line = line[at:]
        if amount >= size:
            yield b"".join(ready)
            ready, amount = [], 0
    if line:
        ready.append(line + b"\n")
    if ready:
        yield b"".join(ready)


def _short_lines(lines: bytes) -> bytes:
    ends = np.flatnonzero(np.frombuffer(lines, dtype=np.uint8) == 10)
    if np.diff(ends, prepend=-1).max() <= MAX_LINE + 1:
        return lines
    pieces: list[bytes] = []
    for line in lines[:-1].split(b"\n"):
        rest = line
        while len(rest) > MAX_LINE:
            at = _cut(rest)
            pieces.append(rest[:at])
            rest = rest[at:]
        pieces.append(rest)
    return b"\n".join([*pieces, b""])


def _cut(line: bytes) -> int:
    at = max(line.rfind(space, 1, MAX_LINE) for space in (b" ", b"\t", b"\r"))
    if at > 0:
        return at
    at = MAX_LINE
    # Without white space, at least not inside a character.
    while at > MAX_LINE - 4 and line[at] & 0xC0 == 0x80:
        at -= 1
    return at


def _blocks(shard: Shard) -> Iterator[bytes]:
    source = shard.source
    if source.format == "parquet" and not source.compression:
        return documents(None, source)
    if shard.stop:
        lines = _range(source.path, shard.start, shard.stop)
        if source.format == "text":
            return lines
        return documents(chunks_of_lines(lines), source, shard.start)
    stream = decompressed(source)
    return stream if source.format == "text" else documents(stream, source)


def chunks_of_lines(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Blocks that end at line ends, however long the lines are."""
    rest: list[bytes] = []
    for block in blocks:
        head, newline, tail = block.rpartition(b"\n")
        if newline:
            yield b"".join([*rest, head, b"\n"])
            rest = [tail] if tail else []
        else:
            rest.append(block)
    if rest:
        yield b"".join(rest)


def _range(path: str, start: int, stop: int) -> Iterator[bytes]:
    """The bytes of the lines that start at ``start`` <= place < ``stop``."""
    with Path(path).open("rb") as stream:
        at = start
        if start:
            stream.seek(start - 1)
            at = start - 1
            for block in iter(lambda: stream.read(_BLOCK), b""):
                found = block.find(b"\n")
                if found >= 0:
                    at += found + 1
                    break
                at += len(block)
            else:
                return
        stream.seek(at)
        while at < stop:
            block = stream.read(min(_BLOCK, stop - at))
            if not block:
                return
            at += len(block)
            yield block
            if at >= stop and not block.endswith(b"\n"):
                break
        else:
            return
        for block in iter(lambda: stream.read(_BLOCK), b""):
            found = block.find(b"\n")
            if found >= 0:
                yield block[: found + 1]
                return
            yield block


def decompressed(source: Source) -> Iterator[bytes]:
    """The bytes of a file after decompression, block by block."""
    openers: dict[str, Callable[..., Any]] = {"": open, "gz": gzip.open, "bz2": bz2.open, "xz": lzma.open}
    if source.compression == "zst":
        with Path(source.path).open("rb") as stream:
            yield from _unzstd(stream)
        return
    with openers[source.compression](source.path, "rb") as stream:
        yield from iter(lambda: stream.read(_BLOCK), b"")


def _unzstd(stream: IO[bytes]) -> Iterator[bytes]:
    # The library's own reader takes a truncated file for a finished one.
    decoder = None
    for block in iter(lambda: stream.read(_BLOCK), b""):
        data = block
        while data:
            decoder = decoder or zstandard.ZstdDecompressor().decompressobj()
            yield decoder.decompress(data)
            data = decoder.unused_data if decoder.eof else b""
            decoder = None if decoder.eof else decoder
    if decoder is not None:
        raise EOFError


@contextmanager
def reported(source: Source) -> Iterator[None]:
    """Turn what can go wrong in reading a source into one line that names it."""
    path = source.path
    try:
        yield
    except EOFError:
        raise InputError(f"{path} ends in the middle: it was truncated; copy or download it again") from None
    except (gzip.BadGzipFile, lzma.LZMAError, zstandard.ZstdError) as error:
        raise InputError(f"{path} is not a valid {source.compression} file: {error}") from None
    except FileNotFoundError:
        raise InputError(f"{path} has disappeared since the start") from None
    except OSError as error:
        if source.compression == "bz2" and "data stream" in str(error):
            raise InputError(f"{path} is not a valid bz2 file: {error}") from None
        if error.errno is None:
            raise InputError(f"{path} cannot be read: {error}") from None
        if error.filename in (None, path) and error.errno in (5, 13, 21, 116):
            raise InputError(f"{path} cannot be read: {error.strerror}") from None
        raise
