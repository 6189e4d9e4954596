"""Fixed phrases of rare words, such as ``deep vein thrombosis`` and ``shortness of breath``.

A phrase of n words is fixed if they stand together much more often than chance would have it. The measure is
their normalized pointwise mutual information, 1 if they never stand apart and 0 if they meet by chance::

    npmi = log(p(phrase) / (p(word 1) ... p(word n))) / (-(n - 1) log p(phrase))
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set

from rarewords.corpus.characters import fold
from rarewords.corpus.read import read_shard
from rarewords.corpus.sources import Shard, Source
from rarewords.corpus.text import blocks
from rarewords.progress import progress
from rarewords.teaching.clutter import FUNCTION_WORDS

_RUN = re.compile(r"\b[\w-]+(?: [\w-]+)+\b")
_FIXED = 0.6
_PART = 0.8  # of the occurrences of a shorter phrase in a longer one: it is no phrase of its own


def fixed_phrases(
    sources: Sequence[Source], rare: Set[str], counts: Mapping[str, int], *, least: int, lower_case: bool
) -> dict[str, int]:
    """The fixed phrases of two or three words that hold a rare one, with their counts, the highest first.

    :param counts: how often each word of the text occurs.
    :param least: how often a phrase must occur.
    """
    seen: Counter[tuple[str, ...]] = Counter()
    with progress("Phrases", total=sum(source.size for source in sources) / 1e6, unit="MB") as bar:
        for text in (text for source in sources for _, text, _ in read_shard(Shard(source))):
            for block in blocks(text):
                seen.update(_runs(fold(block) if lower_case else block, rare))
                bar.advance(len(block) / 1e6)
    total = sum(counts.values())
    found: dict[str, int] = {}
    inside: dict[tuple[str, ...], int] = {}
    for words, count in sorted(seen.items(), key=lambda item: (-len(item[0]), -item[1], item[0])):
        if count < least or any(word not in counts for word in words):
            continue
        expected = sum(math.log(counts[word] / total) for word in words)
        npmi = (math.log(count / total) - expected) / (-(len(words) - 1) * math.log(count / total))
        if npmi >= _FIXED and inside.get(words, 0) < _PART * count:
            found[" ".join(words)] = count
            inside |= {part: max(count, inside.get(part, 0)) for part in (words[:-1], words[1:])}
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def _runs(text: str, rare: Set[str]) -> Iterator[tuple[str, ...]]:
    """Two or three words with a space between them, content words first and last, a rare one among them."""
    for run in _RUN.findall(text):
        words = run.split(" ")
        for first in range(len(words) - 1):
            for phrase in {tuple(words[first : first + length]) for length in (2, 3)}:
                content = all(
                    len(word) > 2 and word not in FUNCTION_WORDS for word in (phrase[0], phrase[-1])
                )
                if content and not rare.isdisjoint(phrase):
                    yield phrase
