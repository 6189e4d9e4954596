"""Fixed phrases of rare words, such as ``deep vein thrombosis`` and ``shortness of breath``.

A phrase of n words is fixed if they stand together much more often than chance would have it. The measure is
their normalized pointwise mutual information, 1 if they never stand apart and 0 if they meet by chance::

    npmi = log(p(phrase) / (p(word 1) ... p(word n))) / (-(n - 1) log p(phrase))
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rarewords.corpus.read import read_shard
from rarewords.corpus.sources import Shard, Source
from rarewords.corpus.text import blocks, split
from rarewords.progress import progress
from rarewords.teaching.clutter import FUNCTION_WORDS

_LONGEST = 3
_FIXED = 0.6
_PART = 0.8  # of the occurrences of a shorter phrase in a longer one: it is no phrase of its own


@dataclass(frozen=True)
class Phrase:
    """A fixed phrase: how often it occurs, and how fixed it is."""

    phrase: str
    count: int
    npmi: float


def fixed_phrases(
    sources: Sequence[Source],
    rare: Collection[str],
    counts: Mapping[str, int],
    *,
    min_count: int,
    lower_case: bool,
) -> list[Phrase]:
    """The fixed phrases of two or three words that hold a rare one, the most frequent first.

    :param counts: how often each word of the text occurs.
    """
    seen: Counter[tuple[str, ...]] = Counter()
    with progress("Phrases", total=sum(source.size for source in sources) / 1e6, unit="MB") as bar:
        for source in sources:
            for _, text, _ in read_shard(Shard(source)):
                for block in blocks(text):
                    seen.update(_runs(block, rare, lower_case))
                    bar.advance(len(block) / 1e6)
    total = sum(counts.values())
    found: list[Phrase] = []
    inside: dict[tuple[str, ...], int] = {}
    for words, count in sorted(seen.items(), key=lambda item: -len(item[0])):
        if count < min_count or any(word not in counts for word in words):
            continue
        expected = sum(math.log(counts[word] / total) for word in words)
        npmi = (math.log(count / total) - expected) / (-(len(words) - 1) * math.log(count / total))
        if npmi >= _FIXED and inside.get(words, 0) < _PART * count:
            found.append(Phrase(" ".join(words), count, round(npmi, 2)))
            inside |= {part: max(count, inside.get(part, 0)) for part in (words[:-1], words[1:])}
    return sorted(found, key=lambda one: (-one.count, one.phrase))


def _runs(text: str, rare: Collection[str], lower_case: bool) -> Iterator[tuple[str, ...]]:
    """Words that stand together in a sentence with a space between them, a rare one among them."""
    words = split(text, lower_case=lower_case)
    names = words.names(lower_case)
    sentence = np.repeat(np.arange(len(words.offsets) - 1), np.diff(words.offsets))
    apart = (words.starts[1:] - words.ends[:-1] != 1) | (sentence[1:] != sentence[:-1])
    follows = [
        not gap and words.text[end] == " "
        for gap, end in zip(apart.tolist(), words.ends.tolist(), strict=False)
    ]
    for first in range(len(names)):
        for length in range(2, _LONGEST + 1):
            if not all(follows[first : first + length - 1]) or first + length > len(names):
                break
            run = tuple(names[first : first + length])
            if _content(run[0]) and _content(run[-1]) and any(word in rare for word in run):
                yield run


def _content(word: str) -> bool:
    return len(word) > 2 and word not in FUNCTION_WORDS
