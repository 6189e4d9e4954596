"""The three steps of the merge on an engine, and the store written from them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from operator import add
from pathlib import Path

import numpy as np

from rarewords.corpus.engine import Engine
from rarewords.corpus.merge import (
    BLOCKS_AT_ONCE,
    CONTEXTS_AT_ONCE,
    SENTENCES_AT_ONCE,
    Range,
    dictionary_file,
    load,
    merge_sentences,
    merge_words,
    pack_sentences,
    ranges,
    row_file,
    sentences_of,
    used_file,
)
from rarewords.corpus.part import Part, Totals, save
from rarewords.corpus.settings import CorpusSettings
from rarewords.corpus.store import SENTENCES_PER_BLOCK
from rarewords.corpus.write import write_store
from rarewords.errors import InputError
from rarewords.files import whole_file, whole_folder, write_json
from rarewords.progress import Bar, progress

_DICTIONARY_SENTENCES = 2048


def merge_parts(
    parts: Sequence[Path],
    settings: CorpusSettings,
    out: Path,
    engine: Engine,
    work: Path,
    *,
    replace: bool = False,
) -> None:
    """Merge parts into a store at ``out``; ``work`` holds what is under way."""
    opened = [Part(part) for part in parts]
    totals = reduce(add, (part.totals for part in opened), Totals())
    if not totals.words:
        raise InputError("the text has no words; check that the files are not empty and hold text")
    folder = work / "merge" / _name(parts, settings)
    amount = sum(part.context_count for part in opened)
    limits = {"contexts": settings.contexts, "min_count": settings.min_count}
    words = ranges(folder / "words", tuple(parts), amount, CONTEXTS_AT_ONCE, **limits)
    _run("Merging words", engine, merge_words, words)
    _mark_used(folder, words, opened)
    amount = sum(part.sentence_count for part in opened)
    keys = ranges(folder / "sentences", tuple(parts), amount, SENTENCES_AT_ONCE)
    _run("Merging sentences", engine, merge_sentences, keys)
    rows = _number_sentences(folder, keys, opened)
    dictionary = _dictionary(folder, tuple(parts), rows)
    step = BLOCKS_AT_ONCE * SENTENCES_PER_BLOCK
    packs = [
        Range(tuple(parts), folder / "packed", number, low, min(low + step, rows))
        for number, low in enumerate(range(0, rows, step))
    ]
    _run("Packing sentences", engine, pack_sentences, packs)
    title, steps = "Writing the store", len(words) + len(packs)
    with whole_folder(out, replace=replace) as temporary, progress(title, steps, "ranges") as bar:
        results = _watched(words, bar), _watched(packs, bar)
        write_store(temporary, settings, totals, *results, rows, dictionary)


def _run(title: str, engine: Engine, function: Callable[[Range], Path], tasks: list[Range]) -> None:
    if tasks:
        tasks[0].folder.mkdir(parents=True, exist_ok=True)
    with progress(title, total=len(tasks), unit="ranges") as bar:
        for _ in engine.map(function, tasks):
            bar.advance()


def _watched(tasks: list[Range], bar: Bar) -> Iterator[Path]:
    for task in tasks:
        yield task.out
        bar.advance()


def _mark_used(folder: Path, tasks: list[Range], parts: list[Part]) -> None:
    target = used_file(folder / "words", 0).parent
    if target.exists():
        return
    with whole_folder(target) as temporary:
        for place, part in enumerate(parts):
            save(temporary / f"{place:06d}", np.zeros(part.sentence_count), "?")
        for task in tasks:
            part_of = load(task.out, "context_part", "<u4")
            sentence = load(task.out, "context_sentence", "<u4")
            for place in np.unique(part_of).tolist():
                marks = np.memmap(temporary / f"{place:06d}", dtype=np.bool_, mode="r+")
                marks[sentence[part_of == place]] = True
                del marks


def _number_sentences(folder: Path, tasks: list[Range], parts: list[Part]) -> int:
    """For each part the store's row of each sentence, for each row where it is; returns how many rows."""
    target = row_file(folder / "sentences", 0).parent
    state = folder / "rows.json"
    if state.exists():
        return (folder / "part").stat().st_size // 4
    base = 0
    target.mkdir(parents=True, exist_ok=True)
    for place, part in enumerate(parts):
        save(target / f"{place:06d}", np.zeros(part.sentence_count), "<u4")
    with (folder / "part").open("wb") as part_of, (folder / "local").open("wb") as local_of:
        for task in tasks:
            row = load(task.out, "row", "<i8") + base
            local = load(task.out, "row_local", "<u4")
            starts = load(task.out, "row_start", "<i8")
            for place in range(len(parts)):
                own = slice(int(starts[place]), int(starts[place + 1]))
                if own.start < own.stop:
                    rows = np.memmap(target / f"{place:06d}", dtype="<u4", mode="r+")
                    rows[local[own]] = row[own]
                    del rows
            part_of.write((task.out / "part").read_bytes())
            local_of.write((task.out / "local").read_bytes())
            base += (task.out / "part").stat().st_size // 4
    if base >= 2**32:
        raise InputError("the sample needs more than 4 thousand million sentences; use fewer --contexts")
    write_json(state, {"rows": base})
    return base


def _dictionary(folder: Path, parts: tuple[Path, ...], rows: int) -> bytes:
    """The first sentences, a random sample as they are ordered by hash; short for a small store."""
    size = min(_DICTIONARY_SENTENCES, rows // 64)
    part, local = (np.fromfile(folder / name, dtype="<u4", count=size) for name in ("part", "local"))
    dictionary = b"\n".join(sentences_of(parts, part, local))
    with whole_file(dictionary_file(folder / "packed")) as temporary:
        temporary.write_bytes(dictionary)
    return dictionary


def _name(parts: Sequence[Path], settings: CorpusSettings) -> str:
    names = [f"{part.parent.name}/{part.name}" for part in parts]
    identity = json.dumps([names, settings.to_dict()], sort_keys=True)
    return hashlib.sha256(identity.encode()).hexdigest()[:24]
