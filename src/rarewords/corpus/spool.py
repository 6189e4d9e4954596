"""Text that cannot be read twice (standard input, a data set of the hub) is first copied to a file."""

from __future__ import annotations

import hashlib
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from rarewords.errors import InputError
from rarewords.files import whole_file
from rarewords.progress import progress


def spool(texts: Sequence[str | Path], field: str, folder: Path) -> list[str]:
    """Replace ``-`` and ``hf:…`` by files in ``folder``; everything else stays as it is."""
    if sum(str(text) == "-" for text in texts) > 1:
        raise InputError("standard input can be read only once; give - one time")
    return [_spooled(str(text), field, folder) for text in texts]


def _spooled(text: str, field: str, folder: Path) -> str:
    if text == "-":
        target = folder / "standard-input.txt"
        with whole_file(target) as temporary, temporary.open("wb") as stream:
            shutil.copyfileobj(sys.stdin.buffer, stream, 1 << 20)
        return str(target)
    if text.startswith("hf:"):
        return str(_data_set(text, field, folder))
    return text


def _data_set(name: str, field: str, folder: Path) -> Path:
    """Copy a data set of the Hugging Face hub: ``hf:name``, ``hf:name:split`` or ``hf:name:config:split``."""
    try:
        import datasets
    except ImportError:
        raise InputError(f"{name} needs the data sets library: pip install 'rarewords[hub]'") from None
    path, *rest = name.removeprefix("hf:").split(":")
    split = rest[-1] if rest else "train"
    config = rest[0] if len(rest) > 1 else None
    # The same name gives the same file, so that an interrupted build finds its shards again.
    target = folder / f"{hashlib.sha256(f'{name} {field}'.encode()).hexdigest()[:16]}.txt"
    if target.exists():
        return target
    try:
        rows = datasets.load_dataset(path, config, split=split, streaming=True)
        with (
            whole_file(target) as temporary,
            temporary.open("w", encoding="utf-8", errors="replace") as stream,
            progress(f"Fetching {path}", unit="documents") as bar,
        ):
            for row in rows:
                if field not in row:
                    names = ", ".join(map(repr, row))
                    raise InputError(f"{name} has no field {field!r}; it has {names}; choose with --field")
                stream.write(str(row[field] or "") + "\n")
                bar.advance()
    except InputError:
        raise
    except Exception as error:
        # The library raises many kinds for a wrong name, a missing network and a missing permission.
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"{name} cannot be read from the hub: {reason}") from None
    return target
