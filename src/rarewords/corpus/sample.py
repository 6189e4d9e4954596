"""The sample of a word's contexts: the k smallest hashes of its distinct contexts.

A context is a word with up to ``window`` words to each side in its sentence. Its hash depends on these words,
the place of the word among them and the seed, and on nothing else; the k smallest hashes are a uniform sample
of the distinct contexts, and the sample of a whole is found in the samples of its parts.
"""

import numpy as np
import numpy.typing as npt

from rarewords.corpus.characters import Hash, Int, mix
from rarewords.corpus.text import powers

Ties = tuple[npt.NDArray[np.generic], ...]


def context_hashes(words: Hash, lengths: Int, window: int, seed: int) -> Hash:
    """Hash the context of every word of some sentences.

    ``words`` (words,): the hashes of the words, sentence after sentence; ``lengths`` (sentences,). With
    S = running sum of words[j] * m^j and the window [l, r) of the word at i:
    hash = mix(mix((S[r] - S[l]) * m^-l + seed) + i - l). *Shape:* (words,)
    """
    first = np.repeat(np.cumsum(lengths) - lengths, lengths)
    size = np.repeat(lengths, lengths)
    at = np.arange(len(words)) - first
    power, inverse = powers(int(lengths.max(initial=0)).bit_length())
    running = np.zeros(len(words) + 1, dtype=np.uint64)
    np.cumsum(words * power[at], out=running[1:])
    left = np.maximum(at - window, 0)
    right = np.minimum(at + window + 1, size)
    hashes: Hash = running[first + right]
    hashes -= running[first + left]
    hashes *= inverse[left]
    hashes += mix(np.array([seed + 1], dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15))
    hashes = mix(hashes)
    hashes += (at - left).astype(np.uint64)
    return mix(hashes)


def smallest_distinct(word: npt.NDArray[np.integer], hashes: Hash, k: int, ties: Ties = ()) -> Int:
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
