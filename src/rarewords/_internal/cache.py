"""Long work that survives interruption: finished pieces in a folder, each named by what it was made from.

A second start reuses the pieces whose inputs, settings and model are the same, and computes the rest. Every
piece appears whole or not at all, and only one process works in a folder at a time.
"""

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from filelock import BaseFileLock, FileLock, Timeout
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from rarewords._internal import files
from rarewords._internal.progress import message
from rarewords.errors import InputError

FINISHED_PARTS = "parts/*/part-*/part.json"
_LOCK = "lock"
_RESUMABLE = ("disk-full", "memory", "output")  # mistakes after which the same command can go on


def digest_of(*values: Any) -> str:
    """Sixteen hexadecimal digits that stand for values JSON can hold."""
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:16]


def key_of(*values: Any) -> str:
    """:func:`digest_of` values and of this program: another version must not reuse what this one has made."""
    return digest_of(_program(), *values)


@cache
def _program() -> str:
    """A digest of the package's source, so that nobody has to remember to raise a number."""
    sources = sorted(Path(__file__).parents[1].rglob("*.py"))
    return digest_of([hashlib.sha256(source.read_bytes()).hexdigest() for source in sources])


class Cache:
    """A folder of finished pieces of work. ``seconds``: what each timed block took."""

    def __init__(self, folder: Path) -> None:
        self.path = folder.absolute()  # other processes may work in other folders
        self.seconds: dict[str, float] = {}

    @contextmanager
    def timed(self, title: str) -> Iterator[None]:
        """Note the time that a block of work takes."""
        began = time.perf_counter()
        yield
        self.seconds[title] = time.perf_counter() - began

    def json(self, stage: str, key: str, make: Callable[[], Any]) -> Any:
        """A JSON value: read if an earlier run made it, otherwise made now and kept."""
        path = self.path / f"{stage}-{key}.json"
        if not path.exists():
            files.write_json(path, make())
        return files.read_json(path)

    def arrays(self, stage: str, key: str, make: Callable[[], Mapping[str, np.ndarray]]) -> dict[str, np.ndarray]:
        """Named arrays: read if an earlier run made them, otherwise made now and kept."""
        path = self.path / f"{stage}-{key}.safetensors"
        with suppress(SafetensorError, OSError, ValueError):  # missing or damaged: make it
            found: dict[str, np.ndarray] = load_file(path)
            return found
        made = {name: np.ascontiguousarray(array) for name, array in make().items()}
        with files.whole_file(path) as temporary:
            temporary.write_bytes(save(made))
        return made


@contextmanager
def workspace(out: Path) -> Iterator[Cache]:
    """The work folder ``.NAME.work`` beside an output, for one process at a time.

    It is removed when the block ends well. After an interruption it stays if it holds finished work, and a
    message says that the same command resumes. A mistake in the input removes what was made from it, but not
    what an earlier run made.
    """
    folder = _work_folder(out)
    with _locked(folder, out) as lock:
        earlier, kept = _holds(folder, "**/*"), "**/*"
        try:
            yield Cache(folder)
            kept = ""
        except InputError as error:
            if not earlier and error.code not in _RESUMABLE:
                kept = FINISHED_PARTS  # of other files of the text
            raise
        finally:
            if kept and _holds(folder, kept):
                message(f"Finished work is kept in {folder}; the same command resumes from there")
            else:
                files.remove_held(folder, lock)


@contextmanager
def open_cache(folder: str | Path | None) -> Iterator[Cache]:
    """The cache in a folder, for one process at a time; without a folder one that does not last."""
    if folder is None:
        with TemporaryDirectory(prefix="rarewords-") as temporary:
            yield Cache(Path(temporary))
    else:
        with _locked(Path(folder), Path(folder)):
            yield Cache(Path(folder))


@contextmanager
def _locked(folder: Path, wanted: Path) -> Iterator[BaseFileLock]:
    """Keep other processes out of a work folder, for the sake of what it is needed for."""
    with files.parent_of(folder):
        with files.writing(wanted):
            folder.mkdir(exist_ok=True)
        try:
            with FileLock(folder / _LOCK, timeout=0) as lock:
                yield lock
        except Timeout:
            problem = f"another process is writing {wanted}; wait for it or choose another folder"
            raise InputError(problem, code="busy") from None


def require_free(out: Path) -> None:
    """Refuse an output folder that is not free, before any work is done."""
    files.require_folder(out, empty=False)
    work = _work_folder(out)
    if out.is_dir() and any(out.iterdir()) and work.is_dir():
        # A run killed after its last step leaves a work folder that nobody needs. A running one needs it.
        with suppress(Timeout), FileLock(work / _LOCK, timeout=0) as lock:
            files.remove_held(work, lock)
    files.require_folder(out, empty=True)


def _holds(folder: Path, pattern: str) -> bool:
    return any(path.is_file() and path.name != _LOCK for path in folder.glob(pattern))


def _work_folder(out: Path) -> Path:
    out = out.absolute()
    return out.with_name(f".{out.name}.work")
