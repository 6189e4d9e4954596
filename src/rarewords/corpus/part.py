"""A part: counts, contexts and sentences of one stretch of text, as two Arrow files.

Words are in the order of their hashes, each with its sampled contexts; sentences in the order of their keys. A
range of hashes is one stretch of rows, so parts are merged range by range in bounded memory.
"""

import hashlib
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from rarewords._internal.files import whole_folder, write_json
from rarewords.corpus.characters import Hash, Int, fold
from rarewords.corpus.columns import offsets, ragged, write_batch
from rarewords.corpus.corpus import Totals
from rarewords.corpus.sample import context_hashes, smallest_distinct
from rarewords.corpus.settings import CorpusSettings
from rarewords.corpus.text import Words, blocks, entry_pattern, split


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
    # Words are numbered in the order of their hashes.
    word_hashes, occurrences, first = distinct(np.concatenate([words.hashes for words in found]))
    words = _words_at(found, first, settings.lower_case)
    del found  # it takes much memory
    match = entry_pattern(settings.words, settings.lower_case).fullmatch
    kept = np.fromiter((match(word) is not None for word in words), dtype=np.bool_, count=len(words))

    # Each sentence once, in the order of keys. Equal sentences have equal contexts, so the first will do.
    keys, place = np.unique(sentence_keys(sentences), return_index=True)
    lengths = sizes[place]
    numbers = occurrences[ragged(offsets(sizes)[place], lengths)]

    hashes = context_hashes(word_hashes[numbers], lengths, settings.window, settings.seed)
    candidates = np.flatnonzero(kept[numbers])
    chosen = candidates[smallest_distinct(numbers[candidates], hashes[candidates], settings.contexts)]
    sentence = np.repeat(np.arange(len(lengths)), lengths)[chosen]
    position = (chosen - offsets(lengths)[sentence]).astype(np.uint16)
    contexts = pa.StructArray.from_arrays(
        list(map(pa.array, (hashes[chosen], keys[sentence], position))), names=["hash", "key", "position"]
    )
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
        write_json(out / "part.json", vars(Totals(len(sentences), len(occurrences), replaced)))


def _words_at(found: list[Words], places: Int, lower_case: bool) -> list[str]:
    """Some words of a text that was split block by block, by their places among all words."""
    before = offsets(np.array([len(block.text) for block in found]))[:-1]
    starts = np.concatenate([block.starts + at for block, at in zip(found, before, strict=True)])[places]
    ends = np.concatenate([block.ends + at for block, at in zip(found, before, strict=True)])[places]
    text = "".join(block.text for block in found)
    words = [text[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
    return fold("\n".join(words)).split("\n") if lower_case and words else words


def sentence_keys(sentences: list[bytes]) -> Hash:
    """A 64-bit key of each sentence's text. *Shape:* (sentences,)

    Two of a hundred million sentences share one with a probability of 1 : 3,700.
    """
    digest = hashlib.blake2b
    joined = b"".join([digest(sentence, digest_size=16).digest()[:8] for sentence in sentences])
    return np.frombuffer(joined, dtype=">u8").astype(np.uint64)


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
