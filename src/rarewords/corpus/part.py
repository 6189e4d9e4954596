"""A part: counts, contexts and sentences of one stretch of text, as plain columns.

Everything in a part is ordered by content hash (words by their hash, sentences by their key), so that a range
of hashes is one stretch of each file and parts are merged range by range in bounded memory.
"""

import hashlib
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from rarewords._internal.files import whole_folder, write_json
from rarewords.corpus.characters import Hash, Int, fold
from rarewords.corpus.columns import append, offsets, ragged
from rarewords.corpus.corpus import Totals
from rarewords.corpus.sample import context_hashes, smallest_distinct
from rarewords.corpus.settings import CorpusSettings
from rarewords.corpus.text import Words, blocks, entry_pattern, split


def part_of_text(text: str, replaced: int, settings: CorpusSettings, folder: Path) -> None:
    """Count the words of ``text``, sample their contexts and write both to ``folder``, unless it exists."""
    if folder.exists():
        return
    lower_case = settings.lower_case
    found = [split(block, lower_case=lower_case) for block in blocks(text)]
    sentences = [sentence for words in found for sentence in words.sentences()]
    sizes = np.concatenate([words.lengths() for words in found])
    # Words are numbered in the order of their hashes.
    word_hashes, occurrences, first = distinct(np.concatenate([words.hashes for words in found]))
    words = _words_at(found, first, lower_case)
    del found  # it takes much memory
    match = entry_pattern(settings.words, lower_case).fullmatch
    kept = np.fromiter((match(word) is not None for word in words), dtype=np.bool_, count=len(words))

    # Each sentence once, in the order of keys. Equal sentences have equal contexts, so the first will do.
    count = len(sentences)
    unique = dict(zip(reversed(sentences), range(count - 1, -1, -1), strict=True))
    encoded = [sentence.encode("utf-8", "replace") for sentence in unique]
    high, low = sentence_keys(encoded)
    by_key = np.lexsort((low, high))
    place = np.fromiter(unique.values(), dtype=np.int64, count=len(unique))[by_key]
    lengths = sizes[place]
    numbers = occurrences[ragged(offsets(sizes)[place], lengths)]

    hashes = context_hashes(word_hashes[numbers], lengths, settings.window, settings.seed)
    candidates = np.flatnonzero(kept[numbers])
    chosen = candidates[smallest_distinct(numbers[candidates], hashes[candidates], settings.contexts)]
    sentence = np.repeat(np.arange(len(lengths)), lengths)[chosen]

    # Sentences that no sampled context needs are not kept.
    used = np.zeros(len(lengths), dtype=np.bool_)
    used[sentence] = True
    with whole_folder(folder) as out:
        append(
            out,
            word=[word.encode("utf-8", "replace") for word in words],
            word_hash=word_hashes,
            word_count=np.bincount(occurrences, minlength=len(words)),
            context_start=offsets(np.bincount(numbers[chosen], minlength=len(words))),
            context_hash=hashes[chosen],
            context_sentence=(np.cumsum(used) - 1)[sentence],
            context_position=chosen - offsets(lengths)[sentence],
            sentence=[encoded[row] for row in by_key[used].tolist()],
            sentence_high=high[by_key][used],
            sentence_low=low[by_key][used],
        )
        write_json(out / "part.json", vars(Totals(count, len(occurrences), replaced)))


def _words_at(found: list[Words], places: Int, lower_case: bool) -> list[str]:
    """Some words of a text that was split block by block, by their places among all words."""
    before = offsets(np.array([len(block.text) for block in found]))[:-1]
    starts = np.concatenate([block.starts + at for block, at in zip(found, before, strict=True)])[places]
    ends = np.concatenate([block.ends + at for block, at in zip(found, before, strict=True)])[places]
    text = "".join(block.text for block in found)
    words = [text[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
    return fold("\n".join(words)).split("\n") if lower_case and words else words


def sentence_keys(sentences: list[bytes]) -> tuple[Hash, Hash]:
    """A 128-bit key of each sentence's text, as upper and lower half. *Shape:* (sentences,) each"""
    digest = hashlib.blake2b
    joined = b"".join([digest(sentence, digest_size=16).digest() for sentence in sentences])
    keys = np.frombuffer(joined, dtype=">u8").reshape(-1, 2).astype(np.uint64)
    return np.ascontiguousarray(keys[:, 0]), np.ascontiguousarray(keys[:, 1])


def distinct(hashes: Hash) -> tuple[Hash, npt.NDArray[np.int32], Int]:
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
