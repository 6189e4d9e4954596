"""Merging parts into a store, one range of hashes at a time.

1. For each range of word hashes: the words of all parts, their summed counts, and of all their contexts the k
   smallest (:func:`merge_words`).
2. For each range of sentence keys: which sentences those contexts need, each once (:func:`merge_sentences`).
3. For each stretch of the resulting sentences: their text, compressed (:func:`pack_sentences`).

Each step runs on the engine, leaves its result in the work folder and is not repeated after an interruption.
The number of ranges grows with the data, so memory does not; the result does not depend on it.
"""

import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import zstandard

from rarewords.corpus.columns import DTYPES, Array, Columns, append, offsets, write_table
from rarewords.corpus.sample import smallest_distinct
from rarewords.corpus.settings import CorpusSettings
from rarewords.corpus.store import FORMAT, SENTENCES_PER_BLOCK, Header, Totals, block_packer
from rarewords.engine import Engine
from rarewords.errors import InputError
from rarewords.files import read_json, whole_folder
from rarewords.progress import progress
from rarewords.stages import key_of

CONTEXTS_AT_ONCE = 1_500_000
SENTENCES_AT_ONCE = 1_000_000
BLOCKS_AT_ONCE = 8192
_DICTIONARY_SENTENCES = 2048
# A context while words are merged: its word's number in the range, its hash, and where it is.
_CONTEXT = np.dtype([("word", "i8"), ("hash", "u8"), ("part", "u4"), ("sentence", "u4"), ("position", "u2")])
# Rows of a record batch, and types of the columns.
_TABLES = {
    "words.arrow": (1 << 20, {"hash": pa.uint64(), "word": pa.string(), "count": pa.int64(),
                              "contexts": pa.uint32(), "context_start": pa.int64()}),
    "contexts.arrow": (1 << 22, {"sentence": pa.uint32(), "position": pa.uint16()}),
    "sentences.arrow": (1 << 13, {"text": pa.binary()}),
}  # fmt: skip


@dataclass(frozen=True)
class Merge:
    """The parts to be merged, the folder for intermediate results, and the settings that decide."""

    parts: tuple[Columns, ...]
    folder: Path
    settings: CorpusSettings

    @property
    def found(self) -> list[Columns]:
        """What the merge finds out about each part's sentences: ``sentence_used``, ``sentence_row``."""
        return [Columns(self.folder / "parts" / f"{place:06d}") for place in range(len(self.parts))]


@dataclass(frozen=True)
class Range:
    """A piece of work of one step: hashes or rows from ``low`` to below ``high`` of all parts."""

    merge: Merge
    step: str
    number: int
    low: int
    high: int

    @property
    def result(self) -> Columns:
        return Columns(self.merge.folder / self.step / f"{self.number:06d}")


def merge_parts(
    paths: Sequence[Path],
    settings: CorpusSettings,
    texts: Sequence[str],
    out: Path,
    engine: Engine,
    work: Path,
    *,
    replace: bool = False,
) -> None:
    """Merge the parts at ``paths`` into a store at ``out``; intermediate results go to ``work``.

    :param texts: digests of the texts that the parts were made from.
    """
    names = [f"{path.parent.name}/{path.name}" for path in paths]
    merge = Merge(tuple(map(Columns, paths)), work / "merge" / key_of(names, settings.to_dict()), settings)
    read = [Totals(**read_json(path / "part.json")) for path in paths]
    totals = Totals(*map(sum, zip(*map(astuple, read), strict=True)))
    if not totals.words:
        shutil.rmtree(work, ignore_errors=True)  # a second start has no use for it
        raise InputError("the text has no words; check that the files hold text")
    words = _run(merge, "words", _edges_of_hashes(merge, "context_hash", CONTEXTS_AT_ONCE), engine)
    _mark_used(merge, words)
    edges = _edges_of_hashes(merge, "sentence_high", SENTENCES_AT_ONCE)
    rows = _number_rows(merge, _run(merge, "sentences", edges, engine))
    dictionary = b"\n".join(_texts_of_rows(merge, 0, min(_DICTIONARY_SENTENCES, rows // 64)))
    (merge.folder / "dictionary").write_bytes(dictionary)
    packed = _run(merge, "blocks", [*range(0, rows, BLOCKS_AT_ONCE * SENTENCES_PER_BLOCK), rows], engine)
    with whole_folder(out, replace=replace) as folder, progress("Writing the store"):
        _write_tables(folder, settings, words, packed, dictionary)
        contexts = sum(task.result.size("context_sentence") for task in words)
        Header(settings, totals, rows, contexts, tuple(sorted(texts))).write(folder)


def _edges_of_hashes(merge: Merge, column: str, at_once: int) -> list[int]:
    """Cut the space of 64-bit hashes so that each range has about ``at_once`` rows of the parts' column."""
    count = max(1, -(-sum(part.size(column) for part in merge.parts) // at_once))
    return [2**64 * number // count for number in range(count + 1)]


def _run(merge: Merge, step: str, edges: list[int], engine: Engine) -> list[Range]:
    tasks = [Range(merge, step, number, *span) for number, span in enumerate(pairwise(edges))]
    with progress(f"Merging {step}", total=len(tasks), unit="ranges") as bar:
        for _ in engine.map(_run_range, tasks):
            bar.advance()
    return tasks


def _run_range(task: Range) -> None:
    """Run a step on one range, unless its result exists."""
    if not task.result.folder.exists():
        step = {"words": merge_words, "sentences": merge_sentences, "blocks": pack_sentences}[task.step]
        columns = step(task)
        with whole_folder(task.result.folder) as out:
            append(out, **columns)


def merge_words(task: Range) -> dict[str, Array | list[bytes]]:
    """Words, counts and contexts of a range of word hashes."""
    parts = task.merge.parts
    spans = [part.span("word_hash", task.low, task.high) for part in parts]
    found = [part.read("word_hash", *span) for part, span in zip(parts, spans, strict=True)]
    hashes = np.unique(np.concatenate(found))
    numbers = [np.searchsorted(hashes, own) for own in found]
    counts = np.zeros(len(hashes), dtype=np.int64)
    words = np.empty(len(hashes), dtype=object)
    for part, span, number in zip(parts, spans, numbers, strict=True):
        counts[number] += part.read("word_count", *span)
        words[number] = _objects(part.strings("word", *span))
    sample = _sample(task.merge, spans, numbers, counts)
    return {
        "word": words.tolist(),
        "word_hash": hashes,
        "word_count": counts,
        "context_start": offsets(np.bincount(sample["word"], minlength=len(hashes))),
        **{f"context_{name}": sample[name] for name in ("part", "sentence", "position")},
    }


def _objects(values: list[bytes]) -> Array:
    return np.array([*values, None], dtype=object)[:-1]  # without None, numpy would make it an array of bytes


def _sample(merge: Merge, spans: list[tuple[int, int]], numbers: list[Array], counts: Array) -> Array:
    """The contexts of the words of all parts, of each word the k smallest. *Shape:* (contexts,)"""
    held: list[Array] = []
    for place, (part, (start, stop)) in enumerate(zip(merge.parts, spans, strict=True)):
        edges = part.read("context_start", start, stop + 1)
        span = int(edges[0]), int(edges[-1])
        sample = np.empty(span[1] - span[0], dtype=_CONTEXT)
        sample["word"] = np.repeat(numbers[place], np.diff(edges))
        sample["part"] = place
        for name in ("hash", "sentence", "position"):
            sample[name] = part.read(f"context_{name}", *span)
        held.append(sample[counts[sample["word"]] >= merge.settings.min_count])
        if sum(map(len, held)) > 3 * CONTEXTS_AT_ONCE:
            held = [_smallest(merge, np.concatenate(held))]
    return _smallest(merge, np.concatenate(held))


def _smallest(merge: Merge, sample: Array) -> Array:
    """The k smallest contexts of each word; of equal ones the one in the sentence with the smallest key."""
    parts, k = merge.parts, merge.settings.contexts

    def by_sentence(places: Array) -> tuple[Array, ...]:
        tied = sample[places]
        part, sentence = tied["part"], tied["sentence"]
        high, low = (_of_sentences(parts, name, part, sentence) for name in ("sentence_high", "sentence_low"))
        return high, low, tied["position"], part

    return np.take(sample, smallest_distinct(sample["word"], sample["hash"], k, by_sentence))


def _of_sentences(parts: Sequence[Columns], name: str, part: Array, sentence: Array) -> Array:
    """The values of a column for sentences of several parts. *Shape:* (sentences,)"""
    values = np.empty(len(part), dtype=DTYPES[name])
    for place in np.unique(part).tolist():
        own = part == place
        values[own] = parts[place].mapped(name)[sentence[own]]
    return values


def _mark_used(merge: Merge, tasks: list[Range]) -> None:
    """Mark the sentences of the parts that a sampled context needs."""
    shutil.rmtree(merge.folder / "parts", ignore_errors=True)
    found = merge.found
    for part, about in zip(merge.parts, found, strict=True):
        about.folder.mkdir(parents=True)
        append(about.folder, sentence_used=np.zeros(part.size("sentence_high")))
    for task in tasks:
        part_of, sentence = task.result.read("context_part"), task.result.read("context_sentence")
        for place in np.unique(part_of).tolist():
            marks = found[place].mapped("sentence_used", write=True)
            marks[sentence[part_of == place]] = True


def merge_sentences(task: Range) -> dict[str, Array | list[bytes]]:
    """Number the needed sentences of a range of keys, equal ones alike, and say where the text of each is."""
    parts = task.merge.parts
    spans = [part.span("sentence_high", task.low, task.high) for part in parts]
    high, low = (
        np.concatenate([part.read(name, *span) for part, span in zip(parts, spans, strict=True)])
        for name in ("sentence_high", "sentence_low")
    )
    marked = zip(task.merge.found, spans, strict=True)
    used = np.flatnonzero(np.concatenate([about.read("sentence_used", *span) for about, span in marked]))
    order = used[np.lexsort((low[used], high[used]))]
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = (high[order][1:] != high[order][:-1]) | (low[order][1:] != low[order][:-1])
    row = np.zeros(len(high), dtype=np.int64)
    row[order] = np.cumsum(new) - 1
    firsts, stops = np.array(spans).T
    starts = offsets(stops - firsts)
    part_of = np.searchsorted(starts, order[new], side="right") - 1
    return {
        "sentence_row": row,
        "part_start": starts,
        "row_part": part_of,
        "row_sentence": order[new] - starts[part_of] + firsts[part_of],
    }


def _number_rows(merge: Merge, tasks: list[Range]) -> int:
    """Number the rows of all ranges one after the other; returns how many there are."""
    for name in ("row_part", "row_sentence"):
        (merge.folder / name).unlink(missing_ok=True)
    rows = 0
    for task in tasks:
        numbers = task.result.read("sentence_row").astype(np.int64) + rows
        spans = pairwise(task.result.read("part_start").tolist())
        for about, (start, stop) in zip(merge.found, spans, strict=True):
            append(about.folder, sentence_row=numbers[start:stop])
        append(merge.folder, **{name: task.result.read(name) for name in ("row_part", "row_sentence")})
        rows += task.result.size("row_part")
    if rows >= 2**32:
        raise InputError("the sample needs more than 2^32 sentences; use fewer --contexts")
    return rows


def pack_sentences(task: Range) -> dict[str, Array | list[bytes]]:
    """Compress the sentences of rows ``low`` to ``high``, block by block."""
    texts = _texts_of_rows(task.merge, task.low, task.high)
    pack = block_packer((task.merge.folder / "dictionary").read_bytes())
    starts = range(0, len(texts), SENTENCES_PER_BLOCK)
    return {"block": [pack(texts[start : start + SENTENCES_PER_BLOCK]) for start in starts]}


def _texts_of_rows(merge: Merge, low: int, high: int) -> list[bytes]:
    part, sentence = (Columns(merge.folder).read(name, low, high) for name in ("row_part", "row_sentence"))
    texts = np.empty(len(part), dtype=object)
    for place in np.unique(part).tolist():
        own = np.flatnonzero(part == place)
        wanted = sentence[own].astype(np.int64)  # rising: rows and sentences are both in the order of keys
        first = int(wanted[0])
        found = merge.parts[place].strings("sentence", first, int(wanted[-1]) + 1)
        texts[own] = _objects(found)[wanted - first]
    return list(texts)


def _write_tables(
    folder: Path, settings: CorpusSettings, words: list[Range], packed: list[Range], dictionary: bytes
) -> None:
    """Write the Arrow files of a store: the same bytes however the ranges were cut."""
    metadata = {"format": FORMAT, "settings": json.dumps(settings.to_dict(), sort_keys=True)}
    shared = {"dictionary": zstandard.ZstdCompressor(level=9).compress(dictionary)}
    blocks = ([task.result.arrow("block", pa.binary())] for task in packed)
    for name, batches, extra in (
        ("words.arrow", _word_batches(words), {}),
        ("contexts.arrow", _context_batches(words), {}),
        ("sentences.arrow", blocks, shared),
    ):
        rows, types = _TABLES[name]
        schema = pa.schema(list(types.items()), metadata={**metadata, **extra})
        write_table(folder / name, schema, rows, batches)


def _word_batches(tasks: list[Range]) -> Iterator[list[pa.Array]]:
    before = 0
    for task in tasks:
        result = task.result
        starts = result.read("context_start")
        yield [
            pa.array(result.read("word_hash")),
            result.arrow("word", pa.string()),
            pa.array(result.read("word_count")),
            pa.array(np.diff(starts).astype(np.uint32)),
            pa.array(starts[:-1] + before),
        ]
        before += int(starts[-1])


def _context_batches(tasks: list[Range]) -> Iterator[list[pa.Array]]:
    for task in tasks:
        part, sentence = task.result.read("context_part"), task.result.read("context_sentence")
        row = _of_sentences(task.merge.found, "sentence_row", part, sentence)
        yield [pa.array(row), pa.array(task.result.read("context_position"))]
