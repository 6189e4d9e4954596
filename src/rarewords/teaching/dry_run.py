"""What teaching or fitting would do, and how long it would take on this machine.

For teaching, the words are chosen as for the real run, a few of them are learned and checked, and the time
that takes is extrapolated by the number of sentences that the model reads. Nothing is kept.
"""

from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rarewords._internal.cache import Cache
from rarewords._internal.progress import duration
from rarewords.corpus.corpus import Corpus
from rarewords.learner.learner import MOST_WORDS, WordLearner, usable_words
from rarewords.lm import LanguageModel
from rarewords.models import shown_name
from rarewords.teaching.candidates import learn_and_check
from rarewords.teaching.holdout import hold_out
from rarewords.teaching.prepare import Request, prepare
from rarewords.teaching.words import MissingWord

_TIMED_WORDS = 16  # fewer would be computed in smaller batches than when teaching
_FITTED_WORDS = 64


@dataclass(frozen=True)
class TimeEstimate:
    """The seconds that each stage would take with a model."""

    model: str
    seconds: dict[str, float]

    @property
    def total_seconds(self) -> float:
        """The seconds of all stages together."""
        return sum(self.seconds.values())

    def lines(self) -> list[str]:
        """The same for people, a line for each stage."""
        times = {**self.seconds, "in all, about": self.total_seconds}
        return [f"  {stage:<22} {duration(seconds):>12}" for stage, seconds in times.items()]

    def as_json(self) -> dict[str, Any]:
        """Plain values for ``--json``."""
        rounded = {stage: round(seconds, 2) for stage, seconds in self.seconds.items()}
        return {**asdict(self), "seconds": rounded, "total_seconds": round(self.total_seconds, 2)}


@dataclass(frozen=True)
class DryRun(TimeEstimate):
    """The words that would be taught, and those that would be skipped, with the reason."""

    words: tuple[MissingWord, ...]


def dry_run_fit(
    corpus: Corpus, model: str, *, contexts: int, min_count: int, device: str = "auto"
) -> tuple[TimeEstimate, int]:
    """Fit on a few words and time them; nothing is kept. The arguments are those of ``mimic fit``.

    :return: also the number of words that a learner would be fitted on.
    """
    cache = Cache(Path())
    with cache.timed("loading"):
        lm = LanguageModel.from_pretrained(model, device=device)
    with cache.timed("reading"):
        few = WordLearner.fit(lm, corpus, words=_FITTED_WORDS, contexts=contexts, min_count=min_count)
    words = min(len(usable_words(lm, corpus, min_count, ())), MOST_WORDS)
    took = {title: cost.seconds for title, cost in cache.costs.items()}
    took["reading"] *= words / few.fitted["words"]
    return TimeEstimate(shown_name(lm.name), took), words


def dry_run(**given: Any) -> DryRun:
    """Choose the words and time the model; the arguments are those of :func:`rarewords.teach`."""
    with TemporaryDirectory() as folder:
        cache = Cache(Path(folder))
        prepared = prepare(Request(**given), cache)
        holdouts = hold_out(prepared.corpus, prepared.chosen, prepared.settings, prepared.glossary)
        timed = holdouts[:: max(1, len(holdouts) // _TIMED_WORDS)][:_TIMED_WORDS]
        doing = prepared.lm, prepared.learner, prepared.check
        learn_and_check(*doing, timed[:1], Cache(Path(folder) / "warming up"))  # the first is slower
        with cache.timed("learning"):
            learn_and_check(*doing, timed, Cache(Path(folder) / "learning"), prepared.readings)
    took = {title: cost.seconds for title, cost in cache.costs.items()}
    pace = took["learning"] / max(1, sum(one.passes for one in timed))
    seconds = {
        "loading": took["loading"],
        "corpus": took["corpus"],
        "fitting a learner": took["learner"],
        "looking at words": took["looking"],
        "embeddings and check": pace * sum(one.passes for one in holdouts),
        "saving": took["loading"] / 2,
    }
    needed = {stage: taken for stage, taken in seconds.items() if taken > 0.05}
    return DryRun(shown_name(prepared.lm.name), needed, prepared.words)
