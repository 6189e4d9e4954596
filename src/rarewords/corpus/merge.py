"""Merging parts into a store, one range of hashes at a time.

1. For each range of word hashes: the words of all parts, their summed counts, and of all their contexts the k
   smallest (:func:`merge_words`).
2. For each range of sentence keys: which sentences those contexts need, each once (:func:`merge_sentences`).
3. For each stretch of the resulting sentences: their text, compressed (:func:`pack_sentences`).

Each step runs on the engine, leaves its result in the work folder and is not repeated after an interruption.
The size of the ranges follows the amount of data, so memory does not; the result does not depend on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rarewords.corpus.contexts import smallest_distinct
from rarewords.corpus.part import Part, offsets, save
from rarewords.corpus.store import SENTENCES_PER_BLOCK, block_packer
from rarewords.files import whole_folder

CONTEXTS_AT_ONCE = 1_500_000
SENTENCES_AT_ONCE = 1_000_000
BLOCKS_AT_ONCE = 8192

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Range:
    """One step's piece of work: hashes or rows from ``low`` to below ``high`` of all ``parts``."""

    parts: tuple[Path, ...]
    folder: Path
    number: int
    low: int
    high: int
    contexts: int = 0
    min_count: int = 1

    @property
    def out(self) -> Path:
        return self.folder / f"{self.number:06d}"


def ranges(folder: Path, parts: tuple[Path, ...], amount: int, at_once: int, **settings: int) -> list[Range]:
    """Cut the space of 64-bit hashes so that each range holds about ``at_once`` of ``amount`` things."""
    count = max(1, -(-amount // at_once))
    edges = [2**64 * number // count for number in range(count + 1)]
    return [Range(parts, folder, n, edges[n], edges[n + 1], **settings) for n in range(count)]


def load(folder: Path, name: str, dtype: str) -> Array:
    """A column of a step's result."""
    return np.fromfile(folder / name, dtype=dtype)


def _save(folder: Path, **columns: tuple[str, Array]) -> None:
    for name, (dtype, values) in columns.items():
        save(folder / name, values, dtype)


@dataclass
class _Sample:
    """Contexts under way: word (contexts,), hash, part, sentence in that part, position in that sentence."""

    word: Array
    hash: Array
    part: Array
    sentence: Array
    position: Array

    @classmethod
    def joined(cls, samples: list[_Sample]) -> _Sample:
        if len(samples) == 1:
            return samples[0]
        return cls(*(np.concatenate([vars(s)[n] for s in samples]) for n in cls.__annotations__))

    def take(self, places: Array) -> _Sample:
        return _Sample(*(vars(self)[name][places] for name in self.__annotations__))


def merge_words(task: Range) -> Path:
    """Words, counts and contexts of a range of word hashes; returns the folder of the result."""
    if task.out.exists():
        return task.out
    parts = [Part(folder) for folder in task.parts]
    spans = [part.span("word_hash", task.low, task.high) for part in parts]
    found = [part.read("word_hash", *span) for part, span in zip(parts, spans, strict=True)]
    hashes = np.unique(np.concatenate(found)) if len(found) > 1 else found[0]
    counts = np.zeros(len(hashes), dtype=np.int64)
    words = np.empty(len(hashes), dtype=object)
    numbers: list[Array] = []
    for part, (start, stop), own in zip(parts, spans, found, strict=True):
        number = np.searchsorted(hashes, own)
        numbers.append(number)
        if start == stop:
            continue
        counts[number] += part.read("word_count", start, stop)
        edges = part.read("word_start", start, stop + 1)
        lines = part.read_lines("words.txt", int(edges[0]), int(edges[-1]))
        words[number] = np.array([*lines, None], dtype=object)[:-1]
    sample = _sample(task, parts, spans, numbers, counts)
    with whole_folder(task.out) as out:
        _save(
            out,
            hash=("<u8", hashes),
            count=("<i8", counts),
            contexts=("<i8", np.bincount(sample.word, minlength=len(hashes))),
            context_part=("<u4", sample.part),
            context_sentence=("<u4", sample.sentence),
            context_position=("<u2", sample.position),
        )
        (out / "words.txt").write_bytes(b"\n".join(words.tolist()))
    return task.out


def _sample(
    task: Range, parts: list[Part], spans: list[tuple[int, int]], numbers: list[Array], counts: Array
) -> _Sample:
    held: list[_Sample] = []
    amount = 0
    rare = counts < task.min_count
    for place, (part, (start, stop)) in enumerate(zip(parts, spans, strict=True)):
        edges = part.read("context_start", start, stop + 1)
        first, last = int(edges[0]), int(edges[-1])
        sample = _Sample(
            np.repeat(numbers[place], np.diff(edges)),
            part.read("context_hash", first, last),
            np.full(last - first, place, dtype=np.uint32),
            part.read("context_sentence", first, last),
            part.read("context_position", first, last),
        )
        if task.min_count > 1:
            sample = sample.take(np.flatnonzero(~rare[sample.word]))
        held.append(sample)
        amount += len(sample.word)
        if amount > 3 * CONTEXTS_AT_ONCE and len(held) > 1:
            held = [_pruned(_Sample.joined(held), parts, task.contexts)]
            amount = len(held[0].word)
    if len(held) == 1:
        return held[0]
    return _pruned(_Sample.joined(held), parts, task.contexts)


def _pruned(sample: _Sample, parts: list[Part], k: int) -> _Sample:
    def by_sentence(places: Array) -> tuple[Array, ...]:
        high = np.empty(len(places), dtype=np.uint64)
        low = np.empty(len(places), dtype=np.uint64)
        part = sample.part[places]
        for number in np.unique(part).tolist():
            own = part == number
            sentence = sample.sentence[places[own]]
            for target, name in ((high, "sentence_high"), (low, "sentence_low")):
                target[own] = np.memmap(parts[number].folder / name, dtype="<u8", mode="r")[sentence]
        return high, low, sample.position[places], part

    return sample.take(smallest_distinct(sample.word, sample.hash, k, by_sentence))


def merge_sentences(task: Range) -> Path:
    """Give each needed sentence of a range of keys its row; ``used`` marks lie beside the step's folder."""
    if task.out.exists():
        return task.out
    high, low, part, local = [], [], [], []
    for place, own in enumerate(map(Part, task.parts)):
        start, stop = own.span("sentence_high", task.low, task.high)
        used = np.fromfile(used_file(task.folder, place), dtype=np.bool_, count=stop - start, offset=start)
        local.append(np.flatnonzero(used))
        high.append(own.read("sentence_high", start, stop)[local[-1]])
        low.append(own.read("sentence_low", start, stop)[local[-1]])
        part.append(np.full(len(local[-1]), place, dtype=np.uint32))
        local[-1] += start
    highs, lows, parts, locals_ = map(np.concatenate, (high, low, part, local))
    order = np.lexsort((lows, highs))
    new = np.ones(len(order), dtype=np.bool_)
    highs, lows = highs[order], lows[order]
    new[1:] = (highs[1:] != highs[:-1]) | (lows[1:] != lows[:-1])
    row = np.empty(len(order), dtype=np.int64)
    row[order] = np.cumsum(new) - 1
    first = order[new]
    with whole_folder(task.out) as out:
        _save(
            out,
            part=("<u4", parts[first]),
            local=("<u4", locals_[first]),
            row=("<i8", row),
            row_local=("<u4", locals_),
            row_start=("<i8", offsets(np.array([len(values) for values in local]))),
        )
    return task.out


def used_file(folder: Path, place: int) -> Path:
    """One byte per sentence of a part: does a sampled context need it? Beside the folder of step 2."""
    return folder.parent / "used" / f"{place:06d}"


def row_file(folder: Path, place: int) -> Path:
    """The store's row of each sentence of a part."""
    return folder.parent / "row" / f"{place:06d}"


def dictionary_file(folder: Path) -> Path:
    """Text that all sentences are compressed against."""
    return folder.parent / "dictionary"


def pack_sentences(task: Range) -> Path:
    """Compress the sentences of rows ``low`` to ``high``, block by block."""
    if task.out.exists():
        return task.out
    size = task.high - task.low
    part = np.fromfile(task.folder.parent / "part", dtype="<u4", count=size, offset=4 * task.low)
    local = np.fromfile(task.folder.parent / "local", dtype="<u4", count=size, offset=4 * task.low)
    texts = sentences_of(task.parts, part, local)
    pack = block_packer(dictionary_file(task.folder).read_bytes())
    blocks = [
        pack(texts[begin : begin + SENTENCES_PER_BLOCK]) for begin in range(0, size, SENTENCES_PER_BLOCK)
    ]
    with whole_folder(task.out) as out:
        _save(out, start=("<i8", offsets(np.array([len(block) for block in blocks]))))
        (out / "text").write_bytes(b"".join(blocks))
    return task.out


def sentences_of(parts: tuple[Path, ...], part: Array, local: Array) -> list[bytes]:
    """The text of sentences by part and place in it, which must rise within each part."""
    texts = np.empty(len(part), dtype=object)
    for place in np.unique(part).tolist():
        own = np.flatnonzero(part == place)
        wanted = local[own].astype(np.int64)
        source, first, last = Part(parts[place]), int(wanted[0]), int(wanted[-1]) + 1
        edges = source.read("sentence_start", first, last + 1)
        lines = source.read_lines("sentences.txt", int(edges[0]), int(edges[-1]))
        texts[own] = np.array([*lines, None], dtype=object)[wanted - first]
    result: list[bytes] = texts.tolist()
    return result
