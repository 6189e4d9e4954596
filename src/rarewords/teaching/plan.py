"""What teaching would do with a text, and how long it would take on this machine.

The text is read as for teaching, into a store that is not kept. Some words are learned and judged with the
real model, and the time they take is extrapolated by the number of contexts that the model reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rarewords.lm import LanguageModel
from rarewords.models import DEFAULT_MODEL, shown_name
from rarewords.stages import Stages
from rarewords.teaching.learners import fitting_passes, learner_for
from rarewords.teaching.learning import learn
from rarewords.teaching.scan import choose_words
from rarewords.teaching.settings import TeachSettings
from rarewords.teaching.splits import passes, split_words
from rarewords.teaching.teach import open_model, open_store

_TIMED_WORDS = 8  # fewer would be computed in smaller batches than when teaching


@dataclass(frozen=True)
class Plan:
    """What would be taught, and the seconds each stage would take.

    :param words: words to teach with their counts in the text.
    :param refused: words that would not be taught, and why.
    """

    model: str
    settings: TeachSettings
    words: dict[str, int]
    refused: dict[str, str]
    seconds: dict[str, float]

    @property
    def total_seconds(self) -> float:
        """The seconds of all stages together."""
        return sum(self.seconds.values())

    def as_json(self) -> dict[str, Any]:
        """Plain values for ``--json``."""
        rounded = {stage: round(seconds, 2) for stage, seconds in self.seconds.items()}
        return {**asdict(self), "seconds": rounded, "total_seconds": round(self.total_seconds, 2)}


def plan_teaching(
    texts: Sequence[str | Path],
    out: str | Path,
    *,
    words: Sequence[str] | None = None,
    model: str | Path | LanguageModel = DEFAULT_MODEL,
    corpus: str | Path | None = None,
    learner: str | Path | None = None,
    reader: str | Path = DEFAULT_MODEL,
    settings: TeachSettings | None = None,
    device: str = "auto",
    field: str = "text",
    workers: int | None = None,
) -> Plan:
    """Read the text and time the model; nothing is kept. The arguments are those of ``teach``."""
    settings = (settings or TeachSettings()).with_rule(listed=words is not None)
    with TemporaryDirectory() as folder:
        stages = Stages(Path(folder))
        with stages.timed("loading"):
            lm = open_model(texts, Path(out), model, corpus, settings, device)
            given = None if learner is None else learner_for(lm, learner, reader)
        with stages.timed("corpus"):
            store = open_store(texts, corpus, lm, settings, field, workers, stages, words)
        chosen = choose_words(store, lm.tokens, settings, words)
        fitting = fitting_passes(lm, store) if given is None else 0
        maker = (given or learner_for(lm, None, reader))[0]
        read = {word: passes(count, settings) for word, count in chosen.counts.items()}
        timed = dict(list(chosen.counts.items())[:: max(1, len(read) // _TIMED_WORDS)][:_TIMED_WORDS])
        splits = split_words(store, timed, settings)
        learn(lm, maker, splits[:1], settings, Stages(Path(folder) / "warming up"))  # the first is slower
        with stages.timed("learning"):
            learn(lm, maker, splits, settings, Stages(Path(folder) / "learning"))
    took = {title: cost.seconds for title, cost in stages.costs.items()}
    pace = took["learning"] / sum(read[word] for word in timed)
    seconds = {
        "loading": took["loading"],
        "corpus": took["corpus"],
        **({"fitting a learner": pace * fitting} if fitting else {}),
        "vectors and judgement": pace * sum(read.values()),
        "saving": took["loading"],  # the model is loaded once more, and written
    }
    return Plan(shown_name(lm.name), settings, chosen.counts, chosen.refused, seconds)
