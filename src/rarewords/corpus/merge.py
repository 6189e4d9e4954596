"""Merging parts into a corpus, one range of hashes at a time.

1. For each range of sentence keys: the distinct sentences of all parts, numbered in the order of their keys
   (:func:`merge_sentences`).
2. For each range of word hashes: the words of all parts, their summed counts, and of all their contexts the k
   smallest (:func:`merge_words`).
3. For each stretch of the sentences that these need: their text, compressed (:func:`pack_sentences`).

Each step runs on the engine, leaves its result in the work folder and is not repeated after an interruption.
The number of ranges grows with the data, so memory does not; the result does not depend on it.
"""

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple, dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from rarewords._internal.cache import key_of
from rarewords._internal.engine import Engine
from rarewords._internal.files import read_json, whole_folder
from rarewords._internal.progress import progress
from rarewords.corpus.columns import Array, Columns, append, offsets, write_table
from rarewords.corpus.corpus import FORMAT, SENTENCES_PER_BLOCK, Header, Totals, pack
from rarewords.corpus.sample import smallest_distinct
from rarewords.corpus.settings import CorpusSettings
from rarewords.errors import InputError

CONTEXTS_AT_ONCE = 1_500_000
SENTENCES_AT_ONCE = 1_000_000
BLOCKS_AT_ONCE = 2048
# A context while words are merged: its word's number in the range, its hash, and where it is.
_CONTEXT = np.dtype([("word", "i8"), ("hash", "u8"), ("number", "i8"), ("position", "u2")])
# Rows of a record batch, and types of the columns.
_TABLES = {
    "words.arrow": (1 << 20, {"hash": pa.uint64(), "word": pa.string(), "count": pa.int64(),
                              "contexts": pa.uint32(), "context_start": pa.int64()}),
    "contexts.arrow": (1 << 22, {"sentence": pa.uint32(), "position": pa.uint16()}),
    "sentences.arrow": (1 << 11, {"text": pa.binary()}),
}  # fmt: skip


@dataclass(frozen=True)
class Merge:
    """The parts to be merged, the folder for intermediate results, and the settings that decide.

    The sentences of all parts are counted through: part p has the places ``starts[p]`` to ``starts[p + 1]``.
    """

    parts: tuple[Columns, ...]
    folder: Path
    settings: CorpusSettings

    @cached_property
    def starts(self) -> Array:
        return offsets(np.array([len(part.numbers("sentence_high")) for part in self.parts]))

    @property
    def sentences(self) -> Columns:
        """What the steps find out about the sentences of all parts."""
        return Columns(self.folder / "numbered")


Result = dict[str, Array | list[bytes]]
Step = Callable[[Merge, int, int], Result]


def merge_parts(
    paths: Sequence[Path],
    settings: CorpusSettings,
    texts: Sequence[str],
    out: Path,
    engine: Engine,
    work: Path,
) -> None:
    """Merge the parts at ``paths`` into a corpus at ``out``; intermediate results go to ``work``.

    :param texts: digests of the texts that the parts were made from.
    """
    names = [f"{path.parent.name}/{path.name}" for path in paths]
    merge = Merge(tuple(map(Columns, paths)), work / "merge" / key_of(names, settings.to_dict()), settings)
    read = [Totals(**read_json(path / "part.json")) for path in paths]
    totals = Totals(*map(sum, zip(*map(astuple, read), strict=True)))
    if not totals.words:
        shutil.rmtree(work, ignore_errors=True)  # a second start has no use for it
        raise InputError("the text has no words; check that the files hold text", code="no-text")
    edges = _edges_of_hashes(merge, "sentence_high", SENTENCES_AT_ONCE)
    _number_sentences(merge, _run(merge, "sentences", merge_sentences, edges, engine))
    edges = _edges_of_hashes(merge, "context_hash", CONTEXTS_AT_ONCE)
    words = _run(merge, "words", merge_words, edges, engine)
    rows = _choose_rows(merge, words)
    edges = [*range(0, rows, BLOCKS_AT_ONCE * SENTENCES_PER_BLOCK), rows]
    packed = _run(merge, "blocks", pack_sentences, edges, engine)
    with whole_folder(out) as folder, progress("Writing the corpus"):
        _write_tables(folder, merge, words, packed)
        contexts = sum(len(result.numbers("context_number")) for result in words)
        Header(settings, totals, rows, contexts, tuple(sorted(texts))).write(folder)


def _edges_of_hashes(merge: Merge, column: str, at_once: int) -> list[int]:
    """Cut the space of 64-bit hashes so that each range has about ``at_once`` rows of the parts' column."""
    count = max(1, -(-sum(len(part.numbers(column)) for part in merge.parts) // at_once))
    return [2**64 * number // count for number in range(count + 1)]


def _run(merge: Merge, name: str, step: Step, edges: list[int], engine: Engine) -> list[Columns]:
    """The results of a step, one for each range from an edge to below the next."""
    folders = [merge.folder / name / f"{number:06d}" for number in range(len(edges) - 1)]
    tasks = [(merge, step, span, folder) for span, folder in zip(pairwise(edges), folders, strict=True)]
    with progress(f"Merging {name}", total=len(tasks), unit="ranges") as bar:
        for _ in engine.map(_run_range, tasks):
            bar.advance()
    return list(map(Columns, folders))


def _run_range(task: tuple[Merge, Step, tuple[int, int], Path]) -> None:
    """Run a step on one range, unless its result exists."""
    merge, step, span, folder = task
    if not folder.exists():
        columns = step(merge, *span)
        with whole_folder(folder) as out:
            append(out, **columns)


def merge_sentences(merge: Merge, low: int, high: int) -> Result:
    """The places of the sentences of a range of keys, in the order of keys; equal ones have one number."""
    found = []
    for part, start in zip(merge.parts, merge.starts[:-1], strict=True):
        span = part.span("sentence_high", low, high)
        upper, lower = (part.numbers(name)[span] for name in ("sentence_high", "sentence_low"))
        found.append((upper, lower, start + np.arange(span.start, span.stop)))
    upper, lower, place = map(np.concatenate, zip(*found, strict=True))
    order = np.lexsort((lower, upper))
    new = np.zeros(len(order), dtype=np.bool_)
    new[1:] = (np.diff(upper[order]) != 0) | (np.diff(lower[order]) != 0)
    return {"place": place[order], "number": np.cumsum(new)}


def _number_sentences(merge: Merge, results: list[Columns]) -> None:
    """Number the distinct sentences of all ranges one after the other."""
    folder = merge.sentences.folder
    shutil.rmtree(folder, ignore_errors=True)  # of an interrupted run
    folder.mkdir(parents=True)
    for size in np.diff(merge.starts).tolist():
        append(folder, sentence_number=np.zeros(size))
    numbers = merge.sentences.numbers("sentence_number", write=True)
    count = 0
    for result in results:
        place, number = result.numbers("place"), result.numbers("number")
        numbers[place] = number + count
        first = place[np.diff(number, prepend=-1) > 0]
        append(folder, distinct_place=first, distinct_used=np.zeros(len(first)))
        count += len(first)


def merge_words(merge: Merge, low: int, high: int) -> Result:
    """Words, counts and contexts of a range of word hashes."""
    spans = [part.span("word_hash", low, high) for part in merge.parts]
    found = [part.numbers("word_hash")[span] for part, span in zip(merge.parts, spans, strict=True)]
    hashes = np.unique(np.concatenate(found))
    numbers = [np.searchsorted(hashes, own) for own in found]
    counts = np.zeros(len(hashes), dtype=np.int64)
    words = np.empty(len(hashes), dtype=object)
    for part, span, number in zip(merge.parts, spans, numbers, strict=True):
        counts[number] += part.numbers("word_count")[span]
        words[number] = part.strings("word", span)
    sample = _sample(merge, spans, numbers, counts)
    return {
        "word": words.tolist(),
        "word_hash": hashes,
        "word_count": counts,
        "context_start": offsets(np.bincount(sample["word"], minlength=len(hashes))),
        **{f"context_{name}": sample[name] for name in ("number", "position")},
    }


def _sample(merge: Merge, spans: list[slice], numbers: list[Array], counts: Array) -> Array:
    """The contexts of the words of all parts, of each word the k smallest. *Shape:* (contexts,)"""
    sentences = merge.sentences.numbers("sentence_number")
    held: list[Array] = []
    for part, start, span, number in zip(merge.parts, merge.starts[:-1], spans, numbers, strict=True):
        edges = part.numbers("context_start")[span.start : span.stop + 1]
        own = slice(int(edges[0]), int(edges[-1]))
        sample = np.empty(own.stop - own.start, dtype=_CONTEXT)
        sample["word"] = np.repeat(number, np.diff(edges))
        sample["hash"] = part.numbers("context_hash")[own]
        sample["number"] = sentences[start + part.numbers("context_sentence")[own]]
        sample["position"] = part.numbers("context_position")[own]
        held.append(sample[counts[sample["word"]] >= merge.settings.min_count])
        if sum(map(len, held)) > 3 * CONTEXTS_AT_ONCE:
            held = [_smallest(np.concatenate(held), merge.settings.contexts)]
    return _smallest(np.concatenate(held), merge.settings.contexts)


def _smallest(sample: Array, k: int) -> Array:
    """The k smallest contexts of each word; of equal ones the one in the sentence with the smallest key."""
    ties = (sample["number"], sample["position"])
    return np.take(sample, smallest_distinct(sample["word"], sample["hash"], k, ties))


def _choose_rows(merge: Merge, words: list[Columns]) -> int:
    """Give a row to each distinct sentence that a sampled context needs; returns how many there are."""
    found, folder = merge.sentences, merge.sentences.folder
    used = found.numbers("distinct_used", write=True)
    for result in words:
        used[result.numbers("context_number")] = True
    rows = 0
    for start in range(0, len(used), SENTENCES_AT_ONCE):
        own = used[start : start + SENTENCES_AT_ONCE]
        places = found.numbers("distinct_place")[start : start + SENTENCES_AT_ONCE]
        append(folder, distinct_row=rows + np.cumsum(own) - 1, row_place=places[own])
        rows += int(own.sum())
    if rows >= 2**32:
        raise InputError("the sample needs more than 2^32 sentences; use fewer --contexts", code="text")
    return rows


def pack_sentences(merge: Merge, low: int, high: int) -> Result:
    """Compress the sentences of rows ``low`` to ``high``, block by block."""
    texts = _texts_of_rows(merge, low, high)
    starts = range(0, len(texts), SENTENCES_PER_BLOCK)
    return {"block": [pack(texts[start : start + SENTENCES_PER_BLOCK]) for start in starts]}


def _texts_of_rows(merge: Merge, low: int, high: int) -> list[bytes]:
    places = merge.sentences.numbers("row_place")[low:high]
    part_of = np.searchsorted(merge.starts, places, side="right") - 1
    texts = np.empty(len(places), dtype=object)
    for part in np.unique(part_of).tolist():
        own = np.flatnonzero(part_of == part)
        wanted = places[own] - merge.starts[part]  # rising: rows and sentences are both in the order of keys
        found = merge.parts[part].strings("sentence", slice(wanted[0], wanted[-1] + 1))
        texts[own] = np.array(found, dtype=object)[wanted - wanted[0]]
    return list(texts)


def _write_tables(folder: Path, merge: Merge, words: list[Columns], packed: list[Columns]) -> None:
    """Write the Arrow files of a corpus: the same bytes however the ranges were cut."""
    metadata = {"format": FORMAT, "settings": json.dumps(merge.settings.to_dict(), sort_keys=True)}
    row = merge.sentences.numbers("distinct_row")
    contexts = (
        {"sentence": row[result.numbers("context_number")], "position": result.numbers("context_position")}
        for result in words
    )
    blocks = ({"text": result.strings("block")} for result in packed)
    tables: dict[str, Iterator[Any]] = {
        "words.arrow": _word_batches(words),
        "contexts.arrow": contexts,
        "sentences.arrow": blocks,
    }
    for name, batches in tables.items():
        rows, types = _TABLES[name]
        write_table(folder / name, pa.schema(types, metadata=metadata), rows, batches)


def _word_batches(words: list[Columns]) -> Iterator[Result]:
    before = 0
    for result in words:
        starts = result.numbers("context_start")
        yield {
            "hash": result.numbers("word_hash"),
            "word": result.strings("word"),
            "count": result.numbers("word_count"),
            "contexts": np.diff(starts),
            "context_start": starts[:-1] + before,
        }
        before += int(starts[-1])
