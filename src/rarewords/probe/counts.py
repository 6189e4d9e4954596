"""Word counts for the builder: a file of ``word<TAB>count`` lines or a corpus store."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from pathlib import Path

from rarewords.errors import InputError


def read_counts(path: str | Path) -> Mapping[str, int]:
    """Every word of a corpus with its count.

    :param path: a file with ``word<TAB>count`` on each line, plain or ``.gz``, or a corpus store's folder.
    """
    path = Path(path)
    if path.is_dir():
        return _from_store(path)
    counts: dict[str, int] = {}
    try:
        with (
            gzip.open(path, "rt", encoding="utf-8")
            if path.suffix == ".gz"
            else path.open(encoding="utf-8") as lines
        ):
            for number, line in enumerate(lines, 1):
                word, _, count = line.rstrip("\r\n").partition("\t")
                if not word or not count.isdigit():
                    raise InputError(f"{path}, line {number}: expected a word, a tab and a count: {line!r}")
                counts[word] = counts.get(word, 0) + int(count)
    except FileNotFoundError:
        raise InputError(f"the counts {path} do not exist") from None
    except (UnicodeDecodeError, gzip.BadGzipFile, EOFError) as error:
        raise InputError(f"{path} cannot be read as text: {error}") from None
    if not counts:
        raise InputError(f"{path} holds no counts")
    return counts


def _from_store(path: Path) -> Mapping[str, int]:
    if not (path / "store.json").is_file():
        raise InputError(f"{path} is not a corpus store; make one with: rarewords corpus build")
    from rarewords.corpus.store import Store

    words, counts = Store.open(path).counts()
    return dict(zip(words, counts.tolist(), strict=True))
