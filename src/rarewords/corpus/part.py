"""A part: counts, contexts and sentences of one piece of text, or of a finished store, as plain columns.

Everything in a part is ordered by content hash (words by their hash, sentences by their key), so that a range
of hashes is one stretch of each file and parts are merged range by range in bounded memory.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from rarewords.corpus.characters import fold
from rarewords.corpus.columns import Columns, append, offsets, ragged
from rarewords.corpus.sample import context_hashes, smallest_distinct
from rarewords.corpus.settings import CorpusSettings
from rarewords.corpus.store import SENTENCES_PER_BLOCK, Store, Totals
from rarewords.corpus.text import blocks, entry_pattern, split
from rarewords.files import read_json, whole_folder, write_json
from rarewords.progress import progress

_SENTENCES_AT_ONCE = 2048 * SENTENCES_PER_BLOCK
_CONTEXTS_AT_ONCE = 1 << 20


class Part(Columns):
    """The columns of a part, and what was read to make it."""

    @cached_property
    def totals(self) -> Totals:
        return Totals(**read_json(self.folder / "part.json"))


def part_of_text(text: str, replaced: int, settings: CorpusSettings, folder: Path) -> None:
    """Count the words of ``text``, sample their contexts and write both to ``folder``, unless it exists."""
    if folder.exists():
        return
    counted = count_text(text, settings)
    # Each sentence once, in the order of keys. Equal sentences have equal contexts, so the first will do.
    count = len(counted.sentences)
    unique = dict(zip(reversed(counted.sentences), range(count - 1, -1, -1), strict=True))
    encoded = [sentence.encode("utf-8", "replace") for sentence in unique]
    high, low = sentence_keys(encoded)
    by_key = np.lexsort((low, high))
    place = np.fromiter(unique.values(), dtype=np.int64, count=len(unique))[by_key]
    lengths = counted.lengths[place]
    numbers = counted.numbers[ragged(offsets(counted.lengths)[place], lengths)]

    hashes = context_hashes(counted.hashes[numbers], lengths, settings.window, settings.seed)
    candidates = np.flatnonzero(counted.kept[numbers])
    chosen = candidates[smallest_distinct(numbers[candidates], hashes[candidates], settings.contexts)]
    sentence = np.repeat(np.arange(len(lengths)), lengths)[chosen]

    # Sentences that no sampled context needs are not kept.
    used = np.zeros(len(lengths), dtype=np.bool_)
    used[sentence] = True
    with whole_folder(folder) as out:
        append(
            out,
            word=[word.encode("utf-8", "replace") for word in counted.words],
            word_hash=counted.hashes,
            word_count=counted.counts,
            context_start=offsets(np.bincount(numbers[chosen], minlength=len(counted.words))),
            context_hash=hashes[chosen],
            context_sentence=(np.cumsum(used) - 1)[sentence],
            context_position=chosen - offsets(lengths)[sentence],
            sentence=[encoded[row] for row in by_key[used].tolist()],
            sentence_high=high[by_key][used],
            sentence_low=low[by_key][used],
        )
        write_json(out / "part.json", vars(Totals(count, len(counted.numbers), replaced)))


def part_of_store(store: Store, folder: Path) -> None:
    """Write ``store`` as a part to ``folder``, in bounded memory, unless it exists; needs no text.

    A store does not keep the hashes of contexts and the keys of sentences; they follow from its text.
    """
    if folder.exists():
        return
    with whole_folder(folder) as out:
        append(
            out,
            word=[word.encode("utf-8") for word in store.vocabulary()],
            word_hash=store.words.column("hash"),
            word_count=store.words.column("count"),
            context_start=offsets(store.words.column("contexts")),
        )
        _append_sentences(store, out)
        _append_contexts(store, out)
        write_json(out / "part.json", vars(store.totals))


def _append_sentences(store: Store, out: Path) -> None:
    count = store.header.sentences
    with progress("Opening the store", total=count, unit="sentences") as bar:
        for begin in range(0, max(count, 1), _SENTENCES_AT_ONCE):
            rows = np.arange(begin, min(begin + _SENTENCES_AT_ONCE, count))
            texts = [text.encode("utf-8") for text in store.sentences(rows)]
            high, low = sentence_keys(texts)
            words, starts = store.sentence_hashes(rows)
            lengths = np.diff(starts)
            append(
                out,
                sentence=texts,
                sentence_high=high,
                sentence_low=low,
                sentence_words=lengths,
                sentence_hashes=context_hashes(words, lengths, store.settings.window, store.settings.seed),
            )
            bar.advance(len(rows))


def _append_contexts(store: Store, out: Path) -> None:
    part = Part(out)
    starts, hashes = offsets(part.read("sentence_words")), part.mapped("sentence_hashes")
    count = store.header.contexts
    for begin in range(0, max(count, 1), _CONTEXTS_AT_ONCE):
        places = np.arange(begin, min(begin + _CONTEXTS_AT_ONCE, count))
        sentence, position = (store.context_rows.take(name, places) for name in ("sentence", "position"))
        append(
            out,
            context_hash=hashes[starts[sentence] + position],
            context_sentence=sentence,
            context_position=position,
        )
    del hashes
    for name in ("sentence_words", "sentence_hashes"):
        (out / name).unlink()


def sentence_keys(sentences: list[bytes]) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """A 128-bit key of each sentence's text, as upper and lower half. *Shape:* (sentences,) each"""
    digest = hashlib.blake2b
    joined = b"".join([digest(sentence, digest_size=16).digest() for sentence in sentences])
    keys = np.frombuffer(joined, dtype=">u8").reshape(-1, 2).astype(np.uint64)
    return np.ascontiguousarray(keys[:, 0]), np.ascontiguousarray(keys[:, 1])


@dataclass(frozen=True)
class CountedText:
    """A piece of text as sentences of word numbers; words are numbered in the order of their hashes.

    ``sentences``: those with at least one word; ``lengths`` (sentences,): words in each; ``numbers``
    (occurrences,): their words, sentence after sentence. ``hashes`` (words,) rising; ``words``: the words
    themselves; ``counts`` (words,); ``kept`` (words,): which of them get contexts under the word rule.
    """

    sentences: list[str]
    lengths: npt.NDArray[np.int64]
    numbers: npt.NDArray[np.int32]
    hashes: npt.NDArray[np.uint64]
    words: list[str]
    counts: npt.NDArray[np.int64]
    kept: npt.NDArray[np.bool_]


def count_text(text: str, settings: CorpusSettings) -> CountedText:
    """Split a piece of text and count its words."""
    found = [split(block, lower_case=settings.lower_case) for block in blocks(text)]
    sentences = [sentence for words in found for sentence in words.sentences()]
    lengths = _joined((words.lengths() for words in found), np.int64)
    hashes, numbers, first = distinct(_joined((words.hashes for words in found), np.uint64))
    # The text of each word, taken where it occurs first.
    sizes = np.array([len(words.text) for words in found], dtype=np.int64)
    before = np.cumsum(sizes) - sizes
    starts = _joined((words.starts + at for words, at in zip(found, before, strict=True)), np.int64)[first]
    ends = _joined((words.ends + at for words, at in zip(found, before, strict=True)), np.int64)[first]
    whole = "".join(words.text for words in found)
    names = [whole[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
    if settings.lower_case and names:
        names = fold("\n".join(names)).split("\n")
    match = entry_pattern(settings.words, settings.lower_case).fullmatch
    kept = np.fromiter((match(name) is not None for name in names), dtype=np.bool_, count=len(names))
    counts = np.bincount(numbers, minlength=len(names)).astype(np.int64)
    return CountedText(sentences, lengths, numbers, hashes, names, counts, kept)


def distinct(
    hashes: npt.NDArray[np.uint64],
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    """Number the distinct hashes in rising order.

    Returns the distinct hashes (distinct,), for each input its number (inputs,) and for each distinct hash
    the place where it comes first (distinct,).

    >>> values, numbers, first = distinct(np.array([7, 3, 7, 9], dtype=np.uint64))
    >>> values.tolist(), numbers.tolist(), first.tolist()
    ([3, 7, 9], [1, 0, 1, 2], [1, 0, 3])
    """
    encoded = pa.array(hashes).dictionary_encode()
    values = encoded.dictionary.to_numpy()
    order = np.argsort(values)
    rank = np.empty(len(values), dtype=np.int32)
    rank[order] = np.arange(len(values), dtype=np.int32)
    numbers = rank[encoded.indices.to_numpy()]
    first = np.empty(len(values), dtype=np.int64)
    # Written from the back, so that the first place of each stays.
    first[numbers[::-1]] = np.arange(len(numbers) - 1, -1, -1)
    return values[order], numbers, first


def _joined(arrays: Iterable[npt.NDArray[Any]], dtype: type) -> npt.NDArray[Any]:
    return np.concatenate([np.zeros(0, dtype=dtype), *arrays])
