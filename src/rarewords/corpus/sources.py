"""What counts as text: files, folders, patterns, strings, records and standard input."""

import glob
import os
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rarewords._internal.cache import digest_of
from rarewords._internal.files import file_digest, require_file, whole_file
from rarewords.errors import InputError

TextSource = str | Path | Mapping[str, Any]  # a path, a text, or a record that holds one
CODECS = {"gz": "gzip", "bz2": "bz2", "zst": "zstd"}  # by the ending of a file
_FORMATS = {
    ".txt": "text", ".text": "text", ".md": "text", ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl",
    ".csv": "csv", ".tsv": "tsv", ".parquet": "parquet",
}  # fmt: skip
_HEAD, _FEW_NULLS = 8192, 8  # a text may hold a null byte by mistake, but any other file holds many


@dataclass(frozen=True)
class Source:
    """One file of text and how to read it; ``compression`` is a key of :data:`CODECS` or empty."""

    path: str
    format: str
    compression: str
    field: str
    size: int

    def digest(self) -> str:
        """What tells this text from others: the bytes of the file and how they are read."""
        field = "" if self.format == "text" else self.field
        return digest_of(file_digest(self.path), self.format, self.compression, field)


def find_sources(texts: Sequence[str | Path], field: str = "text") -> list[Source]:
    """The files behind names, folders and patterns, in a fixed order, each once."""
    if not texts:
        problem = "no text given; name files, folders or patterns, or - for standard input"
        raise InputError(problem, code="no-text")
    paths = dict.fromkeys(path for text in texts for path in _expand(str(text)))
    sources = [_source(path, field) for path in paths]
    if not any(source.size for source in sources):
        names = f"{sources[0].path} is" if len(sources) == 1 else f"all {len(sources)} files are"
        raise InputError(f"{names} empty; give a file that holds text", code="unreadable")
    return sources


def spool(texts: Iterable[TextSource], folder: Path, field: str = "text") -> list[Path]:
    """The files behind some texts: what is not a file is written to one in ``folder``.

    A :class:`Path`, and a string that names an existing file or folder or looks like a file name, is a path,
    ``-`` is standard input, a mapping is a record with the text in ``field``; any other string is a text.
    """
    files: dict[Path, None] = {}
    strings, piped = folder / "texts.txt", folder / "standard-input.txt"
    with whole_file(strings) as temporary, temporary.open("w", encoding="utf-8", errors="replace") as stream:
        for text in texts:
            path = strings
            if text == "-":
                path = piped
            elif isinstance(text, Path) or (isinstance(text, str) and _names_a_file(text)):
                path = Path(text)
            elif isinstance(found := text.get(field) if isinstance(text, Mapping) else text, str):
                stream.write(f"{found}\n")
            else:
                raise InputError(f"a record has no text in the field {field!r}; choose the field", code="field")
            files[path] = None
    if strings not in files:
        strings.unlink()  # an empty file would look like work worth keeping
    if piped in files:
        with whole_file(piped) as temporary, temporary.open("wb") as copy:
            shutil.copyfileobj(sys.stdin.buffer, copy, 1 << 20)
        if len(files) == 1 and not piped.stat().st_size:
            raise InputError("standard input is empty; pipe text into the command", code="no-text")
    return list(files)


def _names_a_file(text: str) -> bool:
    """Whether a string is a path, not a text: ``notes.txt``, ``reports/*.jsonl.gz``, a folder that is there."""
    if not any(map(str.isspace, text)) and _kind(Path(text))[0]:
        return True
    return os.path.exists(text)  # noqa: PTH110 - Path.exists does not take a text that is too long for a name


def _expand(text: str) -> list[str]:
    """The files of a folder or a pattern; hidden ones, such as what a killed command has left, are in neither."""
    path = Path(text)
    if path.is_dir():
        known = [file for file in path.rglob("*") if _kind(file)[0]]
        found = [str(file) for file in known if "/." not in f"/{file.relative_to(path).as_posix()}"]
        problem = f"{text} holds no text files; known are {', '.join(sorted(_FORMATS))}"
    elif not path.exists() and glob.has_magic(text):
        found = glob.glob(text, recursive=True)  # noqa: PTH207 - Path.glob takes no absolute patterns
        problem = f"no file matches {text}"
    else:
        return [text]
    if not (files := sorted(name for name in found if Path(name).is_file())):
        raise InputError(problem, code="no-text")
    return files


def _kind(path: Path) -> tuple[str, str]:
    """The format of a file by its name, empty if it is not known, and the compression."""
    compression = path.suffix.lower().removeprefix(".")
    if compression in CODECS:
        return _FORMATS.get(Path(path.stem).suffix.lower(), ""), compression
    return _FORMATS.get(path.suffix.lower(), ""), ""


def _source(name: str, field: str) -> Source:
    path = Path(name)
    require_file(path)
    try:
        with path.open("rb") as stream:
            head = stream.read(_HEAD)
    except OSError as error:
        raise InputError(f"{name} cannot be read: {error.strerror}", code="unreadable") from None
    form, compression = _kind(path)
    if not compression and form != "parquet":
        if head.startswith((b"\xff\xfe", b"\xfe\xff")):
            problem = f"{name} is UTF-16; convert it first: iconv -f UTF-16 -t UTF-8 {path.name}"
            raise InputError(problem, code="unreadable")
        if head.count(b"\0") > _FEW_NULLS:
            raise InputError(f"{name} isn't text: it holds null bytes; give UTF-8 text", code="unreadable")
    return Source(os.path.abspath(name), form or "text", compression, field, path.stat().st_size)  # noqa: PTH100
