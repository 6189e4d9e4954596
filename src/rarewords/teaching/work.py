"""The folder of unfinished work: what a stage made is found again by what it was made from.

A file's name holds the hash of everything its content depends on: inputs, settings, model. So a second start
takes up what fits and makes the rest, and a changed input or setting can never be mixed up with an old one.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from rarewords.errors import InputError
from rarewords.files import explain_os_error, read_json, write_json
from rarewords.progress import message


def content_key(*values: Any) -> str:
    """Sixteen hexadecimal digits that stand for some JSON values."""
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:16]


class WorkFolder:
    """Where the stages of one teaching keep what they made."""

    def __init__(self, path: Path, *, silent: bool = False) -> None:
        self.path = path
        self._silent = silent

    def file(self, stage: str, key: str, suffix: str) -> Path:
        """The file a stage writes for a key."""
        return self.path / f"{stage}-{key}{suffix}"

    def json(self, stage: str, key: str, make: Callable[[], Any]) -> Any:
        """What a stage made for this key, made now where it is not there."""
        path = self.file(stage, key, ".json")
        if not path.exists():
            write_json(path, make())
        return read_json(path)

    def finished(self, stage: str) -> None:
        """Say that a stage is complete; from here on a second start need not repeat it."""
        if not self._silent:
            message(f"{stage}: done")


@contextmanager
def work_folder(out: Path, *, keep: bool = False) -> Iterator[WorkFolder]:
    """The work folder beside ``out``, for one process at a time; it goes once all is done."""
    out = out.absolute()
    folder = out.with_name(out.name + ".work")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise explain_os_error(error, out) from None
    lock = FileLock(folder / "lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise InputError(f"another process is teaching {out}; wait for it or choose another folder") from None
    try:
        yield WorkFolder(folder)
    except (KeyboardInterrupt, InputError):
        if any(path.name != "lock" for path in folder.iterdir()):
            message(f"What is done so far is kept in {folder}; the same command goes on from there")
        raise
    finally:
        lock.release()
        # Before the first stage is complete there is nothing worth keeping.
        if not any(path.name != "lock" for path in folder.iterdir()):
            shutil.rmtree(folder, ignore_errors=True)
    if not keep:
        shutil.rmtree(folder, ignore_errors=True)
