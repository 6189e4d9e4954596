"""A part: counts, contexts and sentences of one piece of text, or of a finished store, as plain columns.

Everything in a part is ordered by content hash (words by their hash, sentences by their key), so that a range
of hashes is one stretch of each file and parts are merged range by range in bounded memory.
"""

from __future__ import annotations

import hashlib
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from rarewords.corpus.columns import Columns, append, offsets, ragged
from rarewords.corpus.count import count_text
from rarewords.corpus.sample import context_hashes, smallest_distinct
from rarewords.corpus.settings import CorpusSettings
from rarewords.corpus.store import SENTENCES_PER_BLOCK, Store, Totals
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
