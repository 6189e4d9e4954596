"""Phrases and codes: words to the user, such as ``deep vein thrombosis`` or ``C++``, that are none to a corpus.

Their contexts are those of their rarest word that hold all of it. A corpus samples at most 1,000 contexts of a
word, so what is found, and the count of the phrase, is all there is unless its rarest word occurs more often.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from pathlib import Path

from rarewords._internal.files import write_lines
from rarewords._internal.progress import progress
from rarewords.corpus.characters import fold
from rarewords.corpus.corpus import Context, Corpus
from rarewords.corpus.read import read_chunks
from rarewords.corpus.sources import Source, find_sources
from rarewords.corpus.text import blocks, words_of
from rarewords.learner.english import FUNCTION_WORDS
from rarewords.learner.masked import find_word

_RUN = re.compile(r"\b[\w-]+(?: [\w-]+)+\b")
_FIXED = 0.6
_PART = 0.8  # of the occurrences of a shorter phrase in a longer one: it is no phrase of its own


def phrase_contexts(corpus: Corpus, phrase: str) -> list[Context]:
    """The sentences of a corpus that hold a phrase or a code, each once, and its characters in them."""
    lower_case = corpus.settings.lower_case
    counts = {word: corpus.count(word) for word in words_of(phrase, lower_case=lower_case)}
    if not counts or not all(counts.values()):
        return []
    rarest = min(counts, key=lambda word: (counts[word], word))
    found = {}
    for context in corpus.contexts(rarest):
        place = find_word(phrase, context.sentence, lower_case=lower_case)
        if place is not None:
            found[context.sentence] = Context(context.sentence, *place)
    return list(found.values())


def on_one_line(files: Sequence[str | Path], phrases: Sequence[str], field: str, folder: Path) -> list[str]:
    """The files, with a copy in ``folder`` for each that breaks one of these phrases over two lines.

    A corpus's sentences end with their line; the copy has the two lines as one.
    """
    gap = r"(?:[^\S\n]*\n[^\S\n]*|[^\S\n]+)"
    each = (gap.join(map(re.escape, phrase.split())) for phrase in sorted(phrases, key=len, reverse=True))
    broken = re.compile(rf"(?<![^\W_])(?:{'|'.join(each)})(?![^\W_])", re.IGNORECASE)

    def joined(source: Source) -> Iterator[tuple[str, str]]:
        for chunk in read_chunks(source):
            yield chunk.text, broken.sub(lambda found: " ".join(found.group().split()), chunk.text)

    result = []
    for number, source in enumerate(find_sources(files, field)):
        result.append(source.path)
        if any(text.count("\n") != whole.count("\n") for text, whole in joined(source)):
            result[-1] = str(folder / f"{number}.txt")
            write_lines(result[-1], (whole for _, whole in joined(source)))
    return result


def fixed_phrases(
    sources: Sequence[Source], rare: Set[str], counts: Mapping[str, int], least: int, lower_case: bool
) -> dict[str, int]:
    """The fixed phrases of two or three words that hold a rare one, with their counts, the highest first.

    Words that never stand apart have a normalized pointwise mutual information of 1, those that meet by chance 0::

        npmi = log(p(phrase) / (p(word 1) ... p(word n))) / (-(n - 1) log p(phrase))

    :param counts: how often each word of the text occurs.
    :param least: how often a phrase must occur.
    """
    seen: Counter[tuple[str, ...]] = Counter()
    with progress("Phrases", total=sum(source.size for source in sources) / 1e6, unit="MB") as bar:
        for chunk in (chunk for source in sources for chunk in read_chunks(source)):
            for block in blocks(chunk.text):
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
                ends = phrase[0], phrase[-1]
                content = all(len(word) > 2 and word not in FUNCTION_WORDS for word in ends)
                if content and not rare.isdisjoint(phrase):
                    yield phrase
