"""Stages made side by side in several processes, ahead of the parts that ask for them.

The processes share the folder of stages: if two need the same stage, one makes it and the other waits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from rarewords.corpus.store import Store
from rarewords.engine import Engine
from rarewords.mimic.learner import WordLearner
from rarewords.paper.experiment import Experiment
from rarewords.paper.part import Part
from rarewords.paper.settings import CONFIGURATIONS, ReproduceSettings
from rarewords.probe.dataset import Dataset
from rarewords.progress import progress
from rarewords.stages import Stages, key_of
from rarewords.vectors import WordVectors
from rarewords.worker import ModelReference


@dataclass(frozen=True)
class Inputs:
    """An experiment as it is handed to other processes.

    :param key: stands for all of it.
    :param learner: the folder of our own method.
    """

    key: str
    model: ModelReference
    store: Path
    dataset: Dataset
    settings: ReproduceSettings
    stages: Path
    targets: WordVectors | None
    learner: Path

    def experiment(self) -> Experiment:
        """The experiment in this process, opened once."""
        if self.key not in _opened:
            lm = self.model.load()
            learner = WordLearner.from_pretrained(self.learner, lm)
            given = Store.open(self.store), self.dataset, self.settings, Stages(self.stages)
            _opened[self.key] = Experiment(lm, *given, self.targets, learner)
        return _opened[self.key]


_opened: dict[str, Experiment] = {}


@dataclass(frozen=True)
class Chore:
    """A part to run for its stages, or a training: a configuration and its seed."""

    inputs: Inputs
    part: type[Part] | None = None
    training: tuple[str, int] = ("", 0)


def make_ahead(experiment: Experiment, parts: Sequence[type[Part]], engine: Engine) -> None:
    """Make the stages of these parts: each training, and each part that needs more than trainings."""
    stages = experiment.stages.path.absolute()
    learner = stages / f"learner-{experiment.learner.key}"
    if not learner.exists():
        experiment.learner.save_pretrained(learner)
    inputs = Inputs(
        key_of(experiment.identity, str(stages)),
        ModelReference.of(experiment.lm, engine),
        experiment.store.path.absolute(),
        experiment.dataset,
        experiment.settings,
        stages,
        experiment.targets,
        learner,
    )
    chores = [Chore(inputs, part) for part in parts if part.beyond or not part.trains]
    trained = {name for part in parts for name in part.trains}
    # First those that need no approximations, which another process is making meanwhile.
    for name in sorted(trained, key=lambda name: (CONFIGURATIONS[name].ota, name)):
        chores += [Chore(inputs, training=(name, seed)) for seed in experiment.settings.training_seeds]
    with progress("Making stages side by side", total=len(chores), unit="stages") as bar:
        for _ in engine.map(_make, chores):
            bar.advance()


def _make(chore: Chore) -> None:
    experiment = chore.inputs.experiment()
    if chore.part is None:
        experiment.training(*chore.training)
        return
    with TemporaryDirectory() as folder:  # its results are written by the part itself, later
        chore.part.run(experiment, Path(folder))
