"""Before teaching: the words that ``teach`` would take from a text, and how long it would take on this machine."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rarewords._internal.cache import Cache, open_cache
from rarewords._internal.progress import duration, progress
from rarewords.corpus.characters import fold
from rarewords.corpus.corpus import Corpus
from rarewords.corpus.read import read_chunks
from rarewords.corpus.sources import Source, find_sources, spool
from rarewords.corpus.text import blocks
from rarewords.learner.english import FUNCTION_WORDS
from rarewords.models import DEFAULT_MODEL, shown_name
from rarewords.teaching.candidates import learn_and_check
from rarewords.teaching.holdout import hold_out
from rarewords.teaching.prepare import Request, Texts, prepare
from rarewords.teaching.settings import TeachSettings
from rarewords.teaching.words import MissingWord, count_words, missing_words

_TIMED_WORDS = 16  # fewer would be computed in smaller batches than when teaching
_FEWEST_PHRASES = 4  # occurrences below which two words may stand together by chance
_RUN = re.compile(r"\b[\w-]+(?: [\w-]+)+\b")
_FIXED = 0.6
_PART = 0.8  # of the occurrences of a shorter phrase in a longer one: it is no phrase of its own


@dataclass(frozen=True)
class Scan:
    """What a model lacks of a text.

    :param distinct: distinct words of the text; ``split``: those that the tokenizer splits.
    :param words: the words that ``teach`` would take, in its order, and those that it would skip on the way.
    :param phrases: fixed phrases with such a word, with their counts, the highest first, if asked for.
    """

    model: str
    distinct: int
    occurrences: int
    split: int
    split_occurrences: int
    words: tuple[MissingWord, ...]
    phrases: dict[str, int]


def scan(
    texts: Texts,
    model: Any = DEFAULT_MODEL,
    *,
    phrases: bool = False,
    settings: TeachSettings | None = None,
    device: str = "auto",
    field: str = "text",
    workers: int | None = None,
) -> Scan:
    """Find the words of texts that ``teach`` with the same settings would add to a model.

    :param texts: as for :func:`rarewords.teach`.
    :param phrases: find fixed phrases of rare words as well, which takes a second pass over the texts.
    """
    with open_cache(None) as cache:
        files: list[Path] = []
        if phrases and not isinstance(texts, Corpus):
            texts = files = spool([texts] if isinstance(texts, str | Path) else texts, cache.path / "texts", field)
        request = Request(model, texts, settings=settings, device=device, field=field, workers=workers)
        prepared = prepare(request, cache)
        assert prepared.corpus is not None  # without texts there is nothing to prepare
        lm, counts = prepared.check.lm, count_words(prepared.corpus)
        missing = missing_words(counts, lm.tokens)
        fixed: dict[str, int] = {}
        if files:
            rare, least = {one.word for one in missing}, max(prepared.settings.min_count, _FEWEST_PHRASES)
            fixed = _fixed_phrases(find_sources(files, field), rare, counts, least, lm.lower_case)
        return Scan(
            model=shown_name(lm.name),
            distinct=len(counts),
            occurrences=sum(counts.values()),
            split=len(missing),
            split_occurrences=sum(one.count for one in missing),
            words=prepared.words,
            phrases=dict(list(fixed.items())[: prepared.settings.top]),
        )


@dataclass(frozen=True)
class DryRun:
    """The seconds that each stage would take with a model, and the words; some say why they would be skipped."""

    model: str
    seconds: dict[str, float]
    words: tuple[MissingWord, ...]

    @property
    def total_seconds(self) -> float:
        """The seconds of all stages together."""
        return sum(self.seconds.values())

    def lines(self) -> list[str]:
        """A line for each stage."""
        times = {**self.seconds, "in all, about": self.total_seconds}
        return [f"  {stage:<22} {duration(seconds):>12}" for stage, seconds in times.items()]

    def as_json(self) -> dict[str, Any]:
        """Plain values for ``--json``."""
        rounded = {stage: round(seconds, 2) for stage, seconds in self.seconds.items()}
        return {**asdict(self), "seconds": rounded, "total_seconds": round(self.total_seconds, 2)}


def dry_run(**given: Any) -> DryRun:
    """What teaching would do, and how long it would take; the arguments are those of :func:`rarewords.teach`.

    The words are chosen as for the real run, a few of them are learned and checked, and the time that takes is
    extrapolated by the number of sentences that the model reads. Nothing is kept.
    """
    with open_cache(None) as cache:
        prepared = prepare(Request(**given), cache)
        holdouts = hold_out(prepared.corpus, prepared.chosen, prepared.settings, prepared.glossary)
        timed = holdouts[:: max(1, len(holdouts) // _TIMED_WORDS)][:_TIMED_WORDS]
        warming_up, work = Cache(cache.path / "warming up"), Cache(cache.path / "learning")
        learn_and_check(prepared.learner, prepared.check, timed[:1], warming_up)  # the first is slower
        with cache.timed("embeddings and check"):
            learn_and_check(prepared.learner, prepared.check, timed, work, prepared.readings)
    seconds = {**cache.seconds, "saving": cache.seconds["loading"] / 2}
    seconds["embeddings and check"] *= sum(one.passes for one in holdouts) / max(1, sum(one.passes for one in timed))
    needed = {stage: taken for stage, taken in seconds.items() if taken > 0.05}
    return DryRun(shown_name(prepared.base.name), needed, prepared.words)


def _fixed_phrases(
    sources: Sequence[Source], rare: Set[str], counts: Mapping[str, int], least: int, lower_case: bool
) -> dict[str, int]:
    """The fixed phrases of two or three words that hold a rare one, with their counts, the highest first.

    Words that never stand apart have a normalized pointwise mutual information of 1, those that meet by chance 0::

        npmi = log(p(phrase) / (p(word 1) ... p(word n))) / (-(n - 1) log p(phrase))

    :param counts: how often each word of the text occurs; ``least``: how often a phrase must.
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
