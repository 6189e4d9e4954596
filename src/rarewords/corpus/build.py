"""Building, adding to and merging stores.

Text is cut into shards, each shard becomes one or more parts in a work folder beside the store, and the parts
are merged. Everything in the work folder is named after what it was made from and appears whole or not at
all, so that a second start resumes from there.
"""

import ctypes
import shutil
import sys
from collections.abc import Collection, Sequence
from dataclasses import asdict, astuple
from pathlib import Path

from rarewords.corpus.merge import merge_parts
from rarewords.corpus.part import SENTENCES_AT_ONCE, part_of_counts, part_of_sentences, part_of_text
from rarewords.corpus.read import read_shard
from rarewords.corpus.settings import CorpusSettings
from rarewords.corpus.sources import SHARD_BYTES, Shard, Source, cut, find_sources, spool
from rarewords.corpus.store import Store
from rarewords.engine import Engine, engine_for
from rarewords.errors import InputError
from rarewords.files import write_json
from rarewords.progress import message, progress
from rarewords.stages import key_of, put_back, require_free, work_beside


def build(
    texts: Sequence[str | Path],
    out: str | Path,
    settings: CorpusSettings | None = None,
    *,
    field: str = "text",
    workers: int | None = None,
    engine: str = "local",
) -> Store:
    """Make a store from text.

    :param texts: files, folders, patterns, ``-`` for standard input.
        A file whose bytes were already read is skipped.
    :param field: the field that holds the text in JSON lines, CSV and Parquet.
    :param workers: processes on this machine, or tasks at a time on a cluster; all cores by default, for a
        small text one.
    """
    out, settings = Path(out), settings or CorpusSettings()
    require_free(out)
    with work_beside(out) as stages:
        sources = _new_sources(texts, field, stages.path, ())
        if engine == "local" and sum(source.size for source in sources.values()) < SHARD_BYTES:
            workers = workers or 1  # starting processes would take longer
        with engine_for(engine, workers) as runner:
            parts = _read(sources, settings, runner, stages.path)
            merge_parts(parts, settings, list(sources), out, runner, stages.path)
    return Store.open(out)


def add_text(
    store: str | Path,
    texts: Sequence[str | Path],
    *,
    field: str = "text",
    workers: int | None = None,
    engine: str = "local",
) -> Store:
    """Add text to a store; only text that the store does not hold yet is read.

    The result is the same, byte for byte, as that of building from all text at once.
    """
    put_back(Path(store))
    path = Store.open(store).path
    with work_beside(path) as stages, engine_for(engine, workers) as runner:
        (old,) = _mergeable([path])  # nobody else changes it from now on
        sources = _new_sources(texts, field, stages.path, old.header.texts)
        if sources:
            parts = _read(sources, old.settings, runner, stages.path)
            parts += _parts_of_stores([old], runner, stages.path)
            digests = [*old.header.texts, *sources]
            merge_parts(parts, old.settings, digests, path, runner, stages.path, replace=True)
    return Store.open(path)


def merge_stores(
    stores: Sequence[str | Path], out: str | Path, *, workers: int | None = None, engine: str = "local"
) -> Store:
    """Merge stores of different text into one: the same as one built from all their text."""
    if len(stores) < 2:
        raise InputError("merging takes two stores or more")
    out = Path(out)
    require_free(out)
    opened = _mergeable(stores)
    texts = [text for store in opened for text in store.header.texts]
    if len(set(texts)) < len(texts):
        raise InputError("stores that hold the same text would count it twice; build one from all text")
    with work_beside(out) as stages, engine_for(engine, workers) as runner:
        parts = _parts_of_stores(opened, runner, stages.path)
        merge_parts(parts, opened[0].settings, texts, out, runner, stages.path)
    return Store.open(out)


def _new_sources(
    texts: Sequence[str | Path], field: str, work: Path, known: Collection[str]
) -> dict[str, Source]:
    """Files to read by the digest of their content, each content once, without those that are known."""
    sources: dict[str, Source] = {}
    for source in find_sources(spool(texts, work / "spool"), field):
        digest = source.digest()
        if digest in sources or digest in known:
            message(f"Skipping {source.path}: the store already holds this text")
        elif source.size:
            sources[digest] = source
    return sources


def _read(sources: dict[str, Source], settings: CorpusSettings, engine: Engine, work: Path) -> list[Path]:
    """Turn text into parts, reusing those of an earlier start."""
    # min-count is applied when merging; parts do not depend on it.
    about = {**settings.to_dict(), "min_count": 1}
    shards = {
        work / "shards" / key_of(about, digest, astuple(shard)[1:]): shard
        for digest, source in sources.items()
        for shard in cut([source], engine.workers)
    }
    for folder in (work / "shards").glob("*"):
        if folder not in shards:
            shutil.rmtree(folder, ignore_errors=True)
    left = [folder for folder in shards if not (folder / "done.json").exists()]
    if len(left) < len(shards):
        message(f"Resuming: {len(shards) - len(left)} of {len(shards)} shards are finished")
    with progress("Reading", total=sum(shards[folder].bytes for folder in left) / 1e6, unit="MB") as bar:
        try:
            for place, _ in engine.map(_run_shard, [(shards[folder], settings, folder) for folder in left]):
                bar.advance(shards[left[place]].bytes / 1e6)
        except InputError:  # of a damaged file nothing is kept
            for folder in left:
                if not (folder / "done.json").exists():
                    shutil.rmtree(folder, ignore_errors=True)
            raise
    return sorted(part for folder in shards for part in folder.glob("part-*"))


def _run_shard(task: tuple[Shard, CorpusSettings, Path]) -> None:
    """Make the parts of a shard that an interrupted run has not made."""
    shard, settings, folder = task
    for number, text, replaced in read_shard(shard):
        part_of_text(text, replaced, settings, folder / f"part-{number:06d}")
        del text
        # Return freed memory to the system (glibc); otherwise a worker grows from shard to shard.
        if sys.platform == "linux" and hasattr(ctypes.CDLL(None), "malloc_trim"):
            ctypes.CDLL(None).malloc_trim(0)
    write_json(folder / "done.json", {})


def _parts_of_stores(stores: Sequence[Store], engine: Engine, work: Path) -> list[Path]:
    """Stores as parts, to be merged with others: their counts, and their sentences as text.

    The sentences hold the sampled contexts, and the k smallest of the whole are among those of its parts.
    """
    parts, tasks = [], []
    for place, store in enumerate(stores):
        folder = work / "stores" / f"{place}-{store.key}"
        parts.append(folder / "counts")
        part_of_counts(store, parts[-1])
        starts = range(0, store.header.sentences, SENTENCES_AT_ONCE)
        tasks += [(store, start, folder / f"part-{start:010d}") for start in starts]
    with progress("Opening the store", total=len(tasks), unit="parts") as bar:
        for _ in engine.map(part_of_sentences, tasks):
            bar.advance()
    return parts + [folder for _, _, folder in tasks]


def _mergeable(paths: Sequence[str | Path]) -> list[Store]:
    """Open stores, which must be undamaged, have equal settings and keep every word's contexts."""
    stores = [Store.open(path) for path in paths]
    first = asdict(stores[0].settings)
    for store in stores:
        store.check()
        own = asdict(store.settings)
        differing = [f"{name} {first[name]} and {own[name]}" for name in own if first[name] != own[name]]
        if differing:
            both = f"{stores[0].path} and {store.path} have different settings"
            raise InputError(f"{both} ({', '.join(differing)}); use the same settings")
        if store.settings.min_count > 1:
            problem = f"was built with min-count {store.settings.min_count} and lacks contexts of rarer words"
            raise InputError(f"{store.path} {problem}; build it with min-count 1 to add to it")
    return stores
