"""A part: counts, sampled contexts and sentences of one stretch of text, as two Arrow files; and how parts are merged.

Words are in the order of their hashes, sentences in that of their keys. A range of hashes is one stretch of rows,
so parts are merged range by range in bounded memory. Which contexts are sampled depends on their hashes alone
(docs/concepts/corpus.md), so the sample of a whole is found in the samples of its parts.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from rarewords._internal.files import whole_folder, write_json
from rarewords.corpus.characters import Hash, Int, fold, mix
from rarewords.corpus.columns import offsets, open_batch, ragged, rows_between, write_batch
from rarewords.corpus.settings import CorpusSettings
from rarewords.corpus.text import Words, blocks, entry_pattern, span_sums, split

_CONTEXTS_AT_ONCE = 4_500_000  # while words are merged
# A context then: its word's number in the range, its hash, and where it is.
_CONTEXT = np.dtype([("word", "i8"), ("hash", "u8"), ("key", "u8"), ("position", "u2")])


def part_of_text(text: str, replaced: int, settings: CorpusSettings, folder: Path) -> None:
    """Count the words of ``text``, sample their contexts and write both to ``folder``.

    ``words.arrow`` has the columns ``hash``, ``word``, ``count`` and ``contexts``, a list of ``hash``, ``key`` of
    the sentence and ``position`` in it, rising by hash; ``sentences.arrow`` has ``key`` and ``text``.
    """
    found = [split(block, lower_case=settings.lower_case) for block in blocks(text)]
    sentences = [sentence.encode("utf-8", "replace") for words in found for sentence in words.sentences()]
    sizes = np.concatenate([words.lengths() for words in found])
    # Words are numbered in the order of their hashes; to find them by a hash table is faster than to sort.
    encoded = pa.array(np.concatenate([words.hashes for words in found])).dictionary_encode()
    word_hashes, ranks = np.unique(encoded.dictionary, return_inverse=True)
    occurrences = ranks.astype(np.int32)[encoded.indices]
    place = np.empty(len(word_hashes), dtype=np.int64)
    place[occurrences] = np.arange(len(occurrences))  # any place of the word
    words = _words_at(found, place, settings.lower_case)
    del found  # it takes much memory
    match = entry_pattern(settings.words, settings.lower_case).fullmatch
    kept = np.array([match(word) is not None for word in words], dtype=np.bool_)

    # Each sentence once, in the order of 64-bit keys. Equal sentences have equal contexts, so the first will do.
    # Two of a hundred million sentences share a key with a probability of 1 : 3,700.
    digests = b"".join([hashlib.blake2b(sentence, digest_size=16).digest()[:8] for sentence in sentences])
    keys, place = np.unique(np.frombuffer(digests, dtype=">u8").astype(np.uint64), return_index=True)
    lengths = sizes[place]
    numbers = occurrences[ragged(offsets(sizes)[place], lengths)]

    hashes = context_hashes(word_hashes[numbers], lengths, settings.window, settings.seed)
    candidates = np.flatnonzero(kept[numbers])
    chosen = candidates[smallest_distinct(numbers[candidates], hashes[candidates], settings.contexts)]
    sentence = np.repeat(np.arange(len(lengths)), lengths)[chosen]
    position = (chosen - offsets(lengths)[sentence]).astype(np.uint16)
    contexts = pa.StructArray.from_arrays([hashes[chosen], keys[sentence], position], ["hash", "key", "position"])
    edges = offsets(np.bincount(numbers[chosen], minlength=len(words)))
    with whole_folder(folder) as out:
        write_batch(
            out / "words.arrow",
            hash=word_hashes,
            word=pa.array(words, pa.string()),
            count=np.bincount(occurrences, minlength=len(words)),
            contexts=pa.ListArray.from_arrays(edges.astype(np.int32), contexts),
        )
        texts = pa.array([sentences[row] for row in place.tolist()], pa.string())
        write_batch(out / "sentences.arrow", key=keys, text=texts)
        totals = {"sentences": len(sentences), "words": len(occurrences), "replaced": replaced}
        write_json(out / "part.json", totals)


def _words_at(found: list[Words], places: Int, lower_case: bool) -> list[str]:
    """Some words of a text that was split block by block, by their places among all words."""
    before = offsets(np.array([len(block.text) for block in found]))[:-1]
    starts = np.concatenate([block.starts + at for block, at in zip(found, before, strict=True)])[places]
    ends = np.concatenate([block.ends + at for block, at in zip(found, before, strict=True)])[places]
    text = "".join(block.text for block in found)
    words = [text[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
    return fold("\n".join(words)).split("\n") if lower_case and words else words


def merge_words(parts: Sequence[Path], settings: CorpusSettings, task: tuple[int, int, Path]) -> None:
    """Words, counts and contexts of a range of word hashes, and the keys of the sentences they need.

    :param task: the range, and the folder for the result; one that exists is kept.
    """
    low, high, folder = task
    if folder.exists():
        return
    batches = [rows_between(open_batch(path / "words.arrow"), low, high) for path in parts]
    hashes, first, numbers = np.unique(_joined(batches, "hash"), return_index=True, return_inverse=True)
    counts = np.zeros(len(hashes), dtype=np.int64)
    np.add.at(counts, numbers, _joined(batches, "count"))
    held: list[np.ndarray] = []
    for batch, start in zip(batches, offsets([len(batch) for batch in batches]).tolist(), strict=False):
        contexts = batch["contexts"].flatten()
        sample = np.empty(len(contexts), dtype=_CONTEXT)
        sample["word"] = np.repeat(numbers[start : start + len(batch)], batch["contexts"].value_lengths())
        for name in ("hash", "key", "position"):
            sample[name] = contexts.field(name)
        held.append(sample[counts[sample["word"]] >= settings.min_count])
        if sum(map(len, held)) > _CONTEXTS_AT_ONCE:
            held = [_smallest(np.concatenate(held), settings.contexts)]
    sample = _smallest(np.concatenate(held), settings.contexts)
    keys, place = np.unique(sample["key"], return_inverse=True)
    with whole_folder(folder) as out:
        write_batch(
            out / "words.arrow",
            hash=hashes,
            word=pa.concat_arrays([batch["word"] for batch in batches]).take(pa.array(first)),
            count=counts,
            contexts=np.bincount(sample["word"], minlength=len(hashes)).astype(np.uint32),
        )
        write_batch(out / "contexts.arrow", place=place, position=sample["position"])
        write_batch(out / "keys.arrow", key=keys)


def merge_sentences(parts: Sequence[Path], words: Sequence[Path], task: tuple[int, int, Path]) -> None:
    """The sentences of a range of keys that a sampled context needs, in the order of keys.

    :param words: the results of :func:`merge_words`.
    """
    low, high, folder = task
    if folder.exists():
        return
    wanted = np.sort(_joined([rows_between(open_batch(path / "keys.arrow"), low, high) for path in words], "key"))
    found: list[pa.RecordBatch] = []
    for path in parts:
        batch = rows_between(open_batch(path / "sentences.arrow"), low, high)
        first, last = (np.searchsorted(wanted, batch["key"], side) for side in ("left", "right"))
        found.append(batch.filter(pa.array(first < last)))
    keys, first = np.unique(_joined(found, "key"), return_index=True)
    texts = pa.concat_arrays([batch["text"] for batch in found]).take(pa.array(first))
    with whole_folder(folder) as out:
        write_batch(out / "sentences.arrow", key=keys, text=texts)


def _joined(batches: list[pa.RecordBatch], name: str) -> np.ndarray:
    return np.concatenate([batch[name].to_numpy() for batch in batches])


def _smallest(sample: np.ndarray, k: int) -> np.ndarray:
    """The k smallest contexts of each word; of equal ones the one in the sentence with the smallest key."""
    return np.take(sample, smallest_distinct(sample["word"], sample["hash"], k, sample["key"], sample["position"]))


def context_hashes(words: Hash, lengths: Int, window: int, seed: int) -> Hash:
    """Hash the context of every word of some sentences.

    ``words`` (words,): the hashes of the words, sentence after sentence; ``lengths`` (sentences,). With
    S = running sum of words[j] * m^j and the window [l, r) of the word at i:
    hash = mix(mix((S[r] - S[l]) * m^-l + seed) + i - l). *Shape:* (words,)
    """
    first = np.repeat(np.cumsum(lengths) - lengths, lengths)
    at = np.arange(len(words)) - first
    left = np.maximum(at - window, 0)
    right = np.minimum(at + window + 1, np.repeat(lengths, lengths))
    hashes = span_sums(words, at, first + left, first + right)
    hashes += mix(np.array([seed + 1], dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15))
    hashes = mix(hashes)
    hashes += (at - left).astype(np.uint64)
    return mix(hashes)


def smallest_distinct(word: np.ndarray, hashes: Hash, k: int, *ties: np.ndarray) -> Int:
    """For each word the places of its k smallest distinct hashes, ordered by word, then hash.

    ``word`` (contexts,): number of the word each context belongs to; ``hashes`` (contexts,). Of equal
    contexts the one with the smallest ``ties`` (contexts,) is taken, then the first.

    >>> smallest_distinct(np.array([1, 0, 1, 1, 1]), np.array([5, 9, 2, 5, 7], dtype=np.uint64), 2).tolist()
    [1, 2, 0]
    """
    bits = max(int(word.max(initial=0)).bit_length(), 1)
    # Word and the upper bits of the hash in one number: one fast sort instead of two slow ones.
    keys = (word.astype(np.uint64) << np.uint64(64 - bits)) | (hashes >> np.uint64(bits))
    order = np.argsort(keys)
    keys = keys[order]
    same = np.append(keys[1:] == keys[:-1], False)
    places = np.flatnonzero(same | np.roll(same, 1))  # where the lower bits, or the ties, decide
    some = order[places]
    within = (some, *(tie[some] for tie in reversed(ties)))
    order[places] = some[np.lexsort((*within, hashes[some], keys[places]))]
    word, hashes = word[order], hashes[order]
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = (word[1:] != word[:-1]) | (hashes[1:] != hashes[:-1])
    order, word = order[new], word[new]
    first = np.ones(len(order), dtype=np.bool_)
    first[k:] = word[k:] != word[:-k]  # of equal words side by side, the first k
    return order[first]
