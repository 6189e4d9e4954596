"""Building corpora.

Text is cut into shards, each shard becomes one or more parts in a work folder beside the corpus, and the
parts are merged. Everything in the work folder is named after what it was made from and appears whole or not
at all, so that a second start resumes from there.
"""

import ctypes
import shutil
import sys
from collections.abc import Iterable
from dataclasses import asdict, astuple
from pathlib import Path

from rarewords._internal.cache import key_of, require_free, workspace
from rarewords._internal.engine import ProcessMap, cores, processes
from rarewords._internal.files import write_json
from rarewords._internal.progress import message, progress
from rarewords.corpus.corpus import Corpus
from rarewords.corpus.merge import merge_parts
from rarewords.corpus.part import part_of_text
from rarewords.corpus.read import read_shard
from rarewords.corpus.settings import CorpusSettings
from rarewords.corpus.sources import SHARD_BYTES, Shard, Source, TextSource, cut, find_sources, spool
from rarewords.errors import InputError


def build(
    texts: str | Path | Iterable[TextSource],
    out: str | Path,
    settings: CorpusSettings | None = None,
    *,
    field: str = "text",
    workers: int | None = None,
) -> Corpus:
    """Make a corpus from text.

    :param texts: texts, files, folders, patterns, records, ``-`` for standard input. A string that names a
        file is read as one. A file whose bytes were already read is skipped.
    :param field: the field that holds the text in JSON lines, CSV and Parquet.
    :param workers: processes; by default as many as the size of the text is worth.
    """
    out, settings = Path(out), settings or CorpusSettings()
    texts = [texts] if isinstance(texts, str | Path) else texts
    require_free(out)
    with workspace(out) as cache:
        sources: dict[str, Source] = {}
        for source in find_sources(spool(texts, cache.path / "spool", field), field):
            digest = source.digest()
            if digest in sources:
                message(f"Skipping {source.path}: its text has already been read")
            elif source.size:
                sources[digest] = source
        if workers is None:
            # To start a process takes as long as to read some megabytes.
            workers = min(cores(), 1 + sum(source.size for source in sources.values()) // (2 * SHARD_BYTES))
        with processes(workers) as in_processes:
            parts = _read(sources, settings, workers, in_processes, cache.path / "shards")
            merge_parts(parts, settings, list(sources), out, in_processes, cache.path)
    return Corpus.open(out)


def _read(
    sources: dict[str, Source], settings: CorpusSettings, workers: int, in_processes: ProcessMap, work: Path
) -> list[Path]:
    """Turn text into parts, reusing those of an earlier start."""
    # min_count is applied when merging; parts do not depend on it.
    about = {**asdict(settings), "min_count": 1}
    shards = {
        work / key_of(about, digest, astuple(shard)[1:]): shard
        for digest, source in sources.items()
        for shard in cut([source], workers)
    }
    for folder in work.glob("*"):
        if folder not in shards:
            shutil.rmtree(folder, ignore_errors=True)
    left = [folder for folder in shards if not (folder / "done.json").exists()]
    if len(left) < len(shards):
        message(f"Resuming: {len(shards) - len(left)} of {len(shards)} shards are finished")
    with progress("Reading", total=sum(shards[folder].bytes for folder in left) / 1e6, unit="MB") as bar:
        try:
            for place, _ in in_processes(_run_shard, [(shards[folder], settings, folder) for folder in left]):
                bar.advance(shards[left[place]].bytes / 1e6)
        except InputError:  # of a damaged file nothing is kept
            damaged = {shards[folder].source for folder in left if not (folder / "done.json").exists()}
            for folder in (folder for folder, shard in shards.items() if shard.source in damaged):
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
