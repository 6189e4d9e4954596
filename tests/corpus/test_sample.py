"""The sample of contexts: exact, mergeable, uniform."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rarewords.corpus.part import context_hashes, smallest_distinct
from rarewords.corpus.text import split
from tests.corpus import reference

samples = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 12)), max_size=120)


def brute_force(pairs, k):
    chosen = []
    for word in sorted({word for word, _ in pairs}):
        hashes = sorted({h for w, h in pairs if w == word})[:k]
        chosen += [next(i for i, pair in enumerate(pairs) if pair == (word, h)) for h in hashes]
    return chosen


@settings(max_examples=300, deadline=None)
@given(samples, st.integers(1, 8))
def test_smallest_distinct_is_exact(pairs, k):
    # Spread over the whole range, where the shortcut for frequent words works, and at its lower end.
    for factor in (2**60, 1):
        word = np.array([w for w, _ in pairs], dtype=np.int64)
        hashes = np.array([h * factor for _, h in pairs], dtype=np.uint64)
        assert smallest_distinct(word, hashes, k).tolist() == brute_force(pairs, k)


@settings(max_examples=100, deadline=None)
@given(samples, st.integers(1, 4), st.integers(0, 120))
def test_sample_of_the_whole_is_that_of_the_parts(pairs, k, cut):
    def sample(some):
        word = np.array([w for w, _ in some], dtype=np.int64)
        hashes = np.array([h for _, h in some], dtype=np.uint64)
        return [some[i] for i in smallest_distinct(word, hashes, k)]

    assert sample(sample(pairs[:cut]) + sample(pairs[cut:])) == sample(pairs)


def test_tie_break_decides_between_equal_contexts():
    word, hashes = np.array([0, 0, 0]), np.array([7, 7, 3], dtype=np.uint64)
    key = np.array([9, 4, 5])
    assert smallest_distinct(word, hashes, 5, key).tolist() == [2, 1]


def test_hashes_are_those_of_the_formula(wikipedia):
    text = wikipedia[:20_000]
    found = split(text)
    for window, seed in ((1, 0), (4, 0), (25, 12345)):
        hashes = context_hashes(found.hashes, found.lengths(), window, seed)
        place = 0
        for sentence in found.sentences():
            words = [reference.lower(sentence[a:b]) for a, b in reference.spans(sentence)]
            for i, word in enumerate(words[:5]):
                context = tuple(words[max(0, i - window) : i]), word, tuple(words[i + 1 : i + 1 + window])
                assert int(hashes[place + i]) == reference.context_hash(context, seed)
            place += len(words)


def test_sample_is_uniform_over_distinct_contexts(wikipedia):
    """Chi-square: over many seeds each distinct context of a word is drawn equally often."""
    some = [sentence for sentence in split(wikipedia).sentences() if "however" in sentence.lower()]
    found = split("\n".join(some), sentences=False)
    target = split("however").hashes[0]
    places = np.flatnonzero(found.hashes == target)
    k, seeds = 20, 300
    drawn = np.zeros(len(places))
    names = context_hashes(found.hashes, found.lengths(), 25, 999)[places]
    distinct = len(np.unique(names))
    assert distinct > 100
    for seed in range(seeds):
        hashes = context_hashes(found.hashes, found.lengths(), 25, seed)[places]
        drawn[smallest_distinct(np.zeros(len(places), dtype=np.int64), hashes, k)] += 1
    drawn = drawn[np.unique(names, return_index=True)[1]]
    assert drawn.sum() == k * seeds
    share = k / distinct
    chi_square = ((drawn - seeds * share) ** 2 / (seeds * share * (1 - share))).sum()
    # Of a chi-square distribution with n degrees of freedom, mean n and variance 2 n.
    assert abs(chi_square - (distinct - 1)) < 4.5 * (2 * distinct) ** 0.5
