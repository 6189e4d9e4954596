"""Which files to read, and how to cut them into shards that are read independently of each other."""

import glob
import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Literal

from rarewords.errors import InputError
from rarewords.files import file_digest, whole_file
from rarewords.stages import key_of

Format = Literal["text", "jsonl", "csv", "tsv", "parquet"]
Compression = Literal["", "gz", "bz2", "xz", "zst"]

SHARD_BYTES = 8 << 20
_SMALL_SHARD, _SMALL_SHARDS = 1 << 20, 32  # a shorter text is cut finer, so that progress moves

_FORMATS: dict[str, Format] = {
    ".txt": "text", ".text": "text", ".md": "text",
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl",
    ".csv": "csv", ".tsv": "tsv", ".parquet": "parquet",
}  # fmt: skip
_COMPRESSIONS: dict[str, Compression] = {
    ".gz": "gz", ".bz2": "bz2", ".xz": "xz", ".lzma": "xz", ".zst": "zst", ".zstd": "zst",
}  # fmt: skip


@dataclass(frozen=True)
class Source:
    """One file of text and how to read it."""

    path: str
    format: Format
    compression: Compression
    field: str
    size: int

    def digest(self) -> str:
        """What tells this text from others: the bytes of the file and how they are read."""
        field = "" if self.format == "text" else self.field
        return key_of(file_digest(self.path), self.format, self.compression, field)


@dataclass(frozen=True)
class Shard:
    """A piece of a source: the lines that start in bytes ``start`` to ``stop``, or every ``of``-th chunk."""

    source: Source
    start: int = 0
    stop: int = 0
    number: int = 0
    of: int = 1

    @property
    def bytes(self) -> int:
        """How much of the source this is, for progress."""
        return self.stop - self.start if self.stop else self.source.size // self.of


def find_sources(texts: Sequence[str | Path], field: str = "text") -> list[Source]:
    """The files behind names, folders and patterns, in a fixed order, each once."""
    if not texts:
        raise InputError("no text given; name files, folders or patterns, or - for standard input")
    paths = dict.fromkeys(path for text in texts for path in _expand(str(text)))
    sources = [_source(path, field) for path in paths]
    if not any(source.size for source in sources):
        names = f"{sources[0].path} is" if len(sources) == 1 else f"all {len(sources)} files are"
        raise InputError(f"{names} empty; give a file that holds text")
    return sources


def cut(sources: Sequence[Source], workers: int) -> list[Shard]:
    """Shards of about :data:`SHARD_BYTES`; a file that cannot be entered midway is shared by chunks."""
    shards: list[Shard] = []
    for source in sources:
        if source.format in ("text", "jsonl") and not source.compression:
            pieces = max(1, round(source.size / SHARD_BYTES), min(source.size // _SMALL_SHARD, _SMALL_SHARDS))
            edges = [source.size * piece // pieces for piece in range(pieces + 1)]
            shards += [Shard(source, a, b) for a, b in pairwise(edges) if b > a]
        else:
            # Each of its workers reads all of the file and keeps its share; more than two rarely pays.
            of = min(max(1, workers), 1 + source.size // SHARD_BYTES)
            shards += [Shard(source, number=number, of=of) for number in range(of)]
    return shards


def spool(texts: Sequence[str | Path], folder: Path) -> list[str]:
    """Copy standard input (``-``), which cannot be read twice, to a file in ``folder``."""
    names, copy = [str(text) for text in texts], folder / "standard-input.txt"
    if "-" in names:
        with whole_file(copy) as temporary, temporary.open("wb") as stream:
            shutil.copyfileobj(sys.stdin.buffer, stream, 1 << 20)
    return [str(copy) if name == "-" else name for name in names]


def _expand(text: str) -> list[str]:
    path = Path(text)
    if path.is_dir():
        found = [str(file) for file in path.rglob("*") if _is_text(file, path)]
        problem = f"{text} holds no text files; known are {', '.join(sorted(_FORMATS))}"
    elif not path.exists() and glob.has_magic(text):
        # Path.glob takes no absolute patterns.
        found = [name for name in glob.glob(text, recursive=True) if Path(name).is_file()]  # noqa: PTH207
        problem = f"no file matches {text}"
    else:
        return [text]
    if not found:
        raise InputError(problem)
    return sorted(found)


def _is_text(file: Path, folder: Path) -> bool:
    # Hidden files are none, as in patterns: a killed command may have left its work folder there.
    hidden = any(name.startswith(".") for name in file.relative_to(folder).parts)
    return not hidden and file.is_file() and _kind(file)[0] is not None


def _kind(path: Path) -> tuple[Format | None, Compression]:
    compression = _COMPRESSIONS.get(path.suffix.lower(), "")
    inner = path.with_suffix("") if compression else path
    return _FORMATS.get(inner.suffix.lower()), compression


def _source(name: str, field: str) -> Source:
    path = Path(name)
    try:
        state = path.stat()
        if not path.is_file():
            raise InputError(f"{name} is not a regular file; pipe it to standard input and give - instead")
        with path.open("rb") as stream:
            head = stream.read(2)
    except FileNotFoundError:
        raise InputError(f"{name} does not exist; check the path") from None
    except OSError as error:
        raise InputError(f"{name} cannot be read: {error.strerror}") from None
    form, compression = _kind(path)
    if form == "parquet" and compression:
        raise InputError(f"{name} is a compressed Parquet file; unpack it, Parquet compresses itself")
    if not compression and form != "parquet" and head in (b"\xff\xfe", b"\xfe\xff"):
        raise InputError(f"{name} is UTF-16; convert it first: iconv -f UTF-16 -t UTF-8 {path.name}")
    return Source(os.path.abspath(name), form or "text", compression, field, state.st_size)  # noqa: PTH100
