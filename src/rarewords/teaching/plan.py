"""What teaching or fitting would do with a text, and how long it would take on this machine.

For teaching, the text is read into a store that is not kept. Some words are learned and judged, or fitted on,
with the real model, and the time they take is extrapolated by the number of contexts that the model reads.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rarewords.corpus.store import Store
from rarewords.lm import LanguageModel
from rarewords.mimic.learner import MOST_WORDS, WordLearner, usable_words
from rarewords.models import shown_name
from rarewords.progress import duration
from rarewords.stages import Stages
from rarewords.teaching.learners import fitting_passes, learner_for
from rarewords.teaching.learning import approaches, learn
from rarewords.teaching.scan import choose_words
from rarewords.teaching.settings import TeachSettings
from rarewords.teaching.splits import split_words
from rarewords.teaching.teach import Task

_TIMED_WORDS = 8  # fewer would be computed in smaller batches than when teaching
_FITTED_WORDS = 64


@dataclass(frozen=True)
class Timetable:
    """The seconds that each stage would take with a model."""

    model: str
    seconds: dict[str, float]

    @property
    def total_seconds(self) -> float:
        """The seconds of all stages together."""
        return sum(self.seconds.values())

    def lines(self) -> list[str]:
        """The same for a reader, a line for each stage."""
        times = {**self.seconds, "in all, about": self.total_seconds}
        return [f"  {stage:<22} {duration(seconds):>12}" for stage, seconds in times.items()]

    def as_json(self) -> dict[str, Any]:
        """Plain values for ``--json``."""
        rounded = {stage: round(seconds, 2) for stage, seconds in self.seconds.items()}
        return {**asdict(self), "seconds": rounded, "total_seconds": round(self.total_seconds, 2)}


@dataclass(frozen=True)
class Plan(Timetable):
    """The words that would be taught, with their counts in the text, and those that would not, and why."""

    words: dict[str, int]
    refused: dict[str, str]


def plan_fitting(
    corpus: Path, model: str, *, contexts: int, min_count: int, device: str = "auto"
) -> tuple[Timetable, int]:
    """Fit on a few words and time them; nothing is kept. The arguments are those of ``mimic fit``.

    :return: also the number of words that a learner would be fitted on.
    """
    stages = Stages(Path())
    with stages.timed("loading"):
        store, lm = Store.open(corpus), LanguageModel.from_pretrained(model, device=device)
    with stages.timed("reading"):
        fitted = WordLearner.fit(
            lm, store, words=_FITTED_WORDS, contexts=contexts, min_count=min_count
        ).fitted
    words = min(len(usable_words(lm, store, min_count, ())), MOST_WORDS)
    took = {title: cost.seconds for title, cost in stages.costs.items()}
    took["reading"] *= words / fitted["words"]
    return Timetable(shown_name(lm.name), took), words


def plan_teaching(
    texts: Sequence[str | Path], out: str | Path, *, settings: TeachSettings | None = None, **given: Any
) -> Plan:
    """Read the text and time the model; nothing is kept. The arguments are those of ``teach``."""
    task = Task(texts, Path(out), settings or TeachSettings(), **given)
    settings, searched = task.settings, task.words is None
    with TemporaryDirectory() as folder:
        stages = Stages(Path(folder))
        with stages.timed("loading"):
            lm = task.open_model()
            learner, _ = learner_for(lm, task.learner, task.reader)
        with stages.timed("corpus"):
            store = task.open_store(lm, stages)
        entries = task.entries(lm)
        found = choose_words(store, lm.tokens, settings, task.words, entries)
        chosen = dict(list(found.counts.items())[: settings.top if searched else None])
        splits = split_words(store, chosen, settings, entries)
        timed = splits[:: max(1, len(splits) // _TIMED_WORDS)][:_TIMED_WORDS]
        learn(lm, learner, timed[:1], settings, Stages(Path(folder) / "warming up"))  # the first is slower
        with stages.timed("looking"):
            if searched and store is not None and isinstance(learner, WordLearner):
                approaches(learner, store, [one.word for one in timed], slash=settings.slash)
        with stages.timed("learning"):
            learn(lm, learner, timed, settings, Stages(Path(folder) / "learning"))
        fitting = fitting_passes(learner.lm, store) if store and task.learner is None else 0
    took = {title: cost.seconds for title, cost in stages.costs.items()}
    pace = took["learning"] / max(1, sum(one.passes for one in timed))
    seconds = {
        "loading": took["loading"],
        "corpus": took["corpus"],
        "looking at words": took["looking"] / len(timed) * len(found.counts) if searched else 0.0,
        "fitting a learner": pace * fitting,
        "vectors and judgement": pace * sum(one.passes for one in splits),
        "saving": took["loading"],  # the model is loaded once more, and written
    }
    needed = {stage: taken for stage, taken in seconds.items() if taken}
    return Plan(shown_name(lm.name), needed, chosen, found.refused)
