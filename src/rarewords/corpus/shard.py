"""From a piece of text to a part: split, count, sample."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rarewords.corpus.characters import fold
from rarewords.corpus.contexts import context_hashes, smallest_distinct
from rarewords.corpus.count import distinct, vocabulary_of
from rarewords.corpus.part import Totals, offsets, ragged, write_part
from rarewords.corpus.settings import CorpusSettings
from rarewords.corpus.text import blocks, split


def make_part(text: str, replaced: int, settings: CorpusSettings, folder: Path) -> None:
    """Count the words of ``text``, sample their contexts and write both to ``folder``."""
    sentences, lengths, hashes, word_at = split_all(text, settings)
    values, numbers, first = distinct(hashes)
    words = word_at(first)
    vocabulary = vocabulary_of(values, words, numbers, settings)
    totals = Totals(len(sentences), len(hashes), replaced)
    # The next steps need room; what is not needed any more goes first.
    del word_at, hashes, first

    # Each sentence once, in the order of keys. Equal sentences have equal contexts, so the first will do.
    backwards = zip(reversed(sentences), range(len(sentences) - 1, -1, -1), strict=True)
    unique = dict(backwards)
    encoded = [sentence.encode("utf-8", "replace") for sentence in unique]
    del sentences
    high, low = sentence_keys(encoded)
    place = np.fromiter(unique.values(), dtype=np.int64, count=len(unique))
    del unique, backwards
    by_key = np.lexsort((low, high))
    place = place[by_key]
    word_numbers = numbers[ragged(offsets(lengths)[place], lengths[place])]
    sizes = lengths[place]

    all_hashes = context_hashes(values[word_numbers], sizes, settings.window, settings.seed)
    candidates = np.flatnonzero(vocabulary.kept[word_numbers])
    chosen = smallest_distinct(word_numbers[candidates], all_hashes[candidates], settings.contexts)
    chosen = candidates[chosen]
    starts = offsets(sizes)
    sentence = np.repeat(np.arange(len(sizes)), sizes)[chosen]
    position = chosen - starts[sentence]

    # Sentences that no sampled context needs are not kept.
    used = np.zeros(len(sizes), dtype=np.bool_)
    used[sentence] = True
    rank = np.cumsum(used) - 1
    kept_sentences = [encoded[index] for index in by_key[used].tolist()]
    encoded_words = [word.encode("utf-8", "replace") for word in words]
    write_part(
        folder,
        {
            "word_hash": vocabulary.hashes,
            "word_count": vocabulary.counts,
            "word_start": _line_starts(encoded_words),
            "context_start": offsets(np.bincount(word_numbers[chosen], minlength=len(words))),
            "context_hash": all_hashes[chosen],
            "context_sentence": rank[sentence],
            "context_position": position,
            "sentence_high": high[by_key][used],
            "sentence_low": low[by_key][used],
            "sentence_start": _line_starts(kept_sentences),
        },
        _lines(encoded_words),
        _lines(kept_sentences),
        totals,
    )


def sentence_keys(sentences: list[bytes]) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """A 128-bit key of each sentence's text, as upper and lower half. *Shape:* (sentences,) each"""
    digest = hashlib.blake2b
    joined = b"".join([digest(sentence, digest_size=16).digest() for sentence in sentences])
    keys = np.frombuffer(joined, dtype=">u8").reshape(-1, 2).astype(np.uint64)
    return np.ascontiguousarray(keys[:, 0]), np.ascontiguousarray(keys[:, 1])


def _lines(items: list[bytes]) -> bytes:
    return b"\n".join([*items, b""])


def _line_starts(items: list[bytes]) -> npt.NDArray[np.int64]:
    return offsets(np.fromiter(map(len, items), dtype=np.int64, count=len(items)) + 1)


class _WordAt:
    """Gives the text of words by their running number over all blocks."""

    def __init__(self, lower_case: bool) -> None:
        self._texts: list[str] = []
        self._starts: list[npt.NDArray[np.int64]] = []
        self._ends: list[npt.NDArray[np.int64]] = []
        self._size, self._lower_case = 0, lower_case

    def add(self, text: str, starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]) -> None:
        self._texts.append(text)
        self._starts.append(starts + self._size)
        self._ends.append(ends + self._size)
        self._size += len(text)

    def __call__(self, numbers: npt.NDArray[np.int64]) -> list[str]:
        text = "".join(self._texts)
        starts = _joined(self._starts, np.int64)[numbers].tolist()
        ends = _joined(self._ends, np.int64)[numbers].tolist()
        words = [text[start:end] for start, end in zip(starts, ends, strict=True)]
        return fold("\n".join(words)).split("\n") if words and self._lower_case else words


def split_all(
    text: str, settings: CorpusSettings
) -> tuple[list[str], npt.NDArray[np.int64], npt.NDArray[np.uint64], _WordAt]:
    sentences: list[str] = []
    lengths: list[npt.NDArray[np.int64]] = []
    hashes: list[npt.NDArray[np.uint64]] = []
    word_at = _WordAt(settings.lower_case)
    for block in blocks(text):
        words = split(block, lower_case=settings.lower_case)
        sentences += words.sentences()
        lengths.append(words.lengths())
        hashes.append(words.hashes)
        word_at.add(words.text, words.starts, words.ends)
    return sentences, _joined(lengths, np.int64), _joined(hashes, np.uint64), word_at


def _joined(arrays: Sequence[npt.NDArray[Any]], dtype: type) -> npt.NDArray[Any]:
    return np.concatenate(arrays) if arrays else np.zeros(0, dtype=dtype)
