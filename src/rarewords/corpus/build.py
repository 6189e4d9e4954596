"""Building, adding to and merging stores.

Text is cut into shards, each shard becomes one or more parts in a work folder beside the target, and the
parts are merged. Everything in the work folder is named after what it was made from and appears whole or not
at all, so that a second start takes up what is there.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from rarewords.corpus.engine import Engine, engine_for
from rarewords.corpus.export import export_store
from rarewords.corpus.read import read_shard
from rarewords.corpus.settings import CorpusSettings
from rarewords.corpus.shard import make_part
from rarewords.corpus.sources import Shard, cut, find_sources
from rarewords.corpus.spool import spool
from rarewords.corpus.steps import merge_parts
from rarewords.corpus.store import Store, same_settings
from rarewords.errors import InputError
from rarewords.files import read_json, write_json
from rarewords.progress import message, progress


def build(
    texts: Sequence[str | Path],
    out: str | Path,
    settings: CorpusSettings | None = None,
    *,
    field: str = "text",
    workers: int | None = None,
    engine: str = "local",
    address: str | None = None,
) -> Store:
    """Make a store from text.

    :param texts: files, folders, patterns, ``-`` for standard input, ``hf:name`` for a data set of the hub.
    :param field: the field that holds the text in JSON lines, CSV and Parquet.
    :param workers: processes on this machine, or tasks at a time on a cluster; all cores if not given.
    """
    out = Path(out)
    _require_free(out)
    with _work_folder(out) as work, engine_for(engine, workers, address) as runner:
        parts = _read(texts, field, settings or CorpusSettings(), runner, work)
        merge_parts(parts, settings or CorpusSettings(), out, runner, work)
    return Store.open(out)


def add_text(
    store: str | Path,
    texts: Sequence[str | Path],
    *,
    field: str = "text",
    workers: int | None = None,
    engine: str = "local",
    address: str | None = None,
) -> Store:
    """Add text to a store; only the new text is read.

    The result is the same, byte for byte, as that of building from all text at once.
    """
    old = Store.open(store)
    settings = same_settings([old])
    with _work_folder(old.path) as work, engine_for(engine, workers, address) as runner:
        parts = _read(texts, field, settings, runner, work)
        parts += _exported([old], work)
        merge_parts(parts, settings, old.path, runner, work, replace=True)
    return Store.open(store)


def merge_stores(
    stores: Sequence[str | Path],
    out: str | Path,
    *,
    workers: int | None = None,
    engine: str = "local",
    address: str | None = None,
) -> Store:
    """Merge stores of different text into one: the same as one built from all their text."""
    if len(stores) < 2:
        raise InputError("merging takes two stores or more")
    out = Path(out)
    _require_free(out)
    opened = [Store.open(store) for store in stores]
    settings = same_settings(opened)
    with _work_folder(out) as work, engine_for(engine, workers, address) as runner:
        merge_parts(_exported(opened, work), settings, out, runner, work)
    return Store.open(out)


@dataclass(frozen=True)
class _Task:
    shard: Shard
    settings: CorpusSettings
    folder: Path


def _run_shard(task: _Task) -> int:
    """Make the parts of a shard; returns how many. Parts of an interrupted run are kept."""
    done = task.folder / "done.json"
    if done.exists():
        count: int = read_json(done)["parts"]
        return count
    numbers = []
    for number, text, replaced in read_shard(task.shard):
        make_part(text, replaced, task.settings, task.folder / f"part-{number:06d}")
        numbers.append(number)
        del text
        _give_back_memory()
    write_json(done, {"parts": len(numbers)})
    return len(numbers)


def _give_back_memory() -> None:
    """Return freed memory to the system (glibc); otherwise a worker grows from shard to shard."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)


def _read(
    texts: Sequence[str | Path], field: str, settings: CorpusSettings, engine: Engine, work: Path
) -> list[Path]:
    """Turn text into parts, those of an earlier start included."""
    sources = find_sources(spool(texts, field, work / "spool"), field)
    tasks = [
        _Task(shard, settings, work / "shards" / _name(shard, settings))
        for shard in cut(sources, engine.workers)
    ]
    known = {task.folder.name for task in tasks}
    for folder in (work / "shards").glob("*"):
        if folder.name not in known:
            shutil.rmtree(folder, ignore_errors=True)
    left = [task for task in tasks if not (task.folder / "done.json").exists()]
    if len(left) < len(tasks):
        message(f"Taking up an interrupted build: {len(tasks) - len(left)} of {len(tasks)} shards are done")
    with progress("Reading", total=sum(task.shard.bytes for task in left) / 1e6, unit="MB") as bar:
        for place, _ in engine.map(_run_shard, left):
            bar.advance(left[place].shard.bytes / 1e6)
    return sorted(part for task in tasks for part in task.folder.glob("part-*"))


def _exported(stores: Sequence[Store], work: Path) -> list[Path]:
    """Stores as parts, to be merged with others."""
    folders: list[Path] = []
    for store in stores:
        name = hashlib.sha256((store.path / "store.json").read_bytes()).hexdigest()[:24]
        folder = work / "stores" / f"{len(folders)}-{name}"
        export_store(store, folder)
        folders.append(folder)
    return folders


def _name(shard: Shard, settings: CorpusSettings) -> str:
    # min-count is applied when merging; parts do not depend on it.
    identity = {**settings.to_dict(), "min_count": 1, **shard.to_dict()}
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:24]


def _require_free(out: Path) -> None:
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        what = "is a store already; add text with corpus add" if (out / "store.json").exists() else "exists"
        raise InputError(f"{out} {what}, or choose another folder")


@contextmanager
def _work_folder(out: Path) -> Iterator[Path]:
    """The folder for unfinished work beside ``out``, for one process at a time; it goes when all is done."""
    out = out.absolute()
    work = out.parent / f".{out.name}.work"
    try:
        work.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{out} cannot be written: {error.strerror}; choose another folder") from None
    lock = FileLock(work.with_suffix(".lock"))
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise InputError(f"another process is building {out}; wait for it or choose another folder") from None
    try:
        yield work
        shutil.rmtree(work, ignore_errors=True)
    finally:
        if not any((work / "shards").glob("*/*")) if work.exists() else False:
            # Nothing in it that a second start could use.
            shutil.rmtree(work, ignore_errors=True)
        Path(lock.lock_file).unlink(missing_ok=True)
        lock.release()
