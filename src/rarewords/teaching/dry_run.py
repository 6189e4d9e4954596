"""What teaching would do, and how long it would take on this machine.

The words are chosen as for the real run, a few of them are learned and checked, and the time that takes is
extrapolated by the number of sentences that the model reads. Nothing is kept.
"""

from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rarewords._internal.cache import Cache
from rarewords._internal.progress import duration
from rarewords.models import shown_name
from rarewords.teaching.candidates import learn_and_check
from rarewords.teaching.holdout import hold_out
from rarewords.teaching.prepare import Request, prepare
from rarewords.teaching.words import MissingWord

_TIMED_WORDS = 16  # fewer would be computed in smaller batches than when teaching


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
    """Choose the words and time the model; the arguments are those of :func:`rarewords.teach`."""
    with TemporaryDirectory() as folder:
        cache = Cache(Path(folder))
        prepared = prepare(Request(**given), cache)
        holdouts = hold_out(prepared.corpus, prepared.chosen, prepared.settings, prepared.glossary)
        timed = holdouts[:: max(1, len(holdouts) // _TIMED_WORDS)][:_TIMED_WORDS]
        warming_up, work = Cache(cache.path / "warming up"), Cache(cache.path / "learning")
        learn_and_check(prepared.learner, prepared.check, timed[:1], warming_up)  # the first is slower
        with cache.timed("learning"):
            learn_and_check(prepared.learner, prepared.check, timed, work, prepared.readings)
    took = cache.seconds
    share = sum(one.passes for one in holdouts) / max(1, sum(one.passes for one in timed))
    seconds = {
        "loading": took["loading"],
        "corpus": took["corpus"],
        "fitting a learner": took["learner"],
        "looking at words": took["looking"],
        "embeddings and check": took["learning"] * share,
        "saving": took["loading"] / 2,
    }
    needed = {stage: taken for stage, taken in seconds.items() if taken > 0.05}
    return DryRun(shown_name(prepared.base.name), needed, prepared.words)
