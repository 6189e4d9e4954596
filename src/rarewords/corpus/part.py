"""A part: counts, sampled contexts and sentences of one stretch of text, as two Arrow files.

Words are in the order of their hashes, sentences in that of their keys. A range of hashes is one stretch of rows,
so parts are merged range by range in bounded memory. Which contexts are sampled depends on their hashes alone
(docs/concepts/corpus.md), so the sample of a whole is found in the samples of its parts.
"""

import hashlib
from pathlib import Path

import numpy as np
import pyarrow as pa

from rarewords._internal.files import whole_folder, write_json
from rarewords.corpus.characters import Hash, Int, fold, mix
from rarewords.corpus.columns import offsets, ragged, write_batch
from rarewords.corpus.settings import CorpusSettings
from rarewords.corpus.text import Words, blocks, entry_pattern, span_sums, split


def part_of_text(text: str, replaced: int, settings: CorpusSettings, folder: Path) -> None:
    """Count the words of ``text``, sample their contexts and write both to ``folder``, unless it exists.

    ``words.arrow`` has the columns ``hash``, ``word``, ``count`` and ``contexts``, a list of ``hash``, ``key`` of
    the sentence and ``position`` in it, rising by hash; ``sentences.arrow`` has ``key`` and ``text``.
    """
    if folder.exists():
        return
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
