"""Part ``beyond``: our own default method beside AM+context, on the same entries."""

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from rarewords.paper.experiment import Experiment, load_vectors, tf32
from rarewords.paper.part import OverSeeds, Part, paragraphs
from rarewords.paper.parts.main import CONFIGURATION, LABEL, main_table
from rarewords.report.tables import difference_table
from rarewords.stages import Stages
from rarewords.vectors import WordVectors

OURS = "WordLearner"


@dataclass(frozen=True)
class BeyondPart(Part):
    """The main table with our own method.

    :param compared: pieces, AM+context and our method.
    :param against_am: our method against AM+context.
    :param contexts: it reads at most this many contexts per word.
    """

    name = "beyond"
    title = "Our own method beside AM+context"
    trains = (CONFIGURATION,)
    beyond = True

    compared: OverSeeds
    against_am: OverSeeds
    contexts: int

    @classmethod
    def run(cls, experiment: Experiment, folder: Path) -> Self:
        """Vectors of our default method for all keywords, against the pieces and against AM+context."""
        settings, vectors = experiment.settings, _vectors(experiment)
        trained = [experiment.training(CONFIGURATION, seed) for seed in settings.training_seeds]
        am = [experiment.probe(LABEL, vectors=one.vectors[settings.sample.epochs[-1]]) for one in trained]
        ours = experiment.probe(OURS, vectors=vectors)
        test = [
            [one.of_set(experiment.dataset, "test") for one in runs]
            for runs in ([experiment.pieces], am, [ours])
        ]
        test[-1][0].save(folder / "beyond-wordlearner.json.gz")
        return cls(
            OverSeeds.of(test),
            OverSeeds.of(test[1:]),
            settings.sample.contexts or experiment.learner.settings.contexts,
        )

    def markdown(self, _: Path) -> str:
        """The main table with our method, and how it differs from AM+context."""
        return paragraphs(
            self.said("text", label=LABEL),
            main_table(self.compared),
            self.said("change", label=LABEL, ours=OURS),
            difference_table(self.against_am.mean),
        )


def _vectors(experiment: Experiment) -> WordVectors:
    contexts, learner = experiment.settings.sample.contexts, experiment.learner
    if not experiment.settings.sample.whole:
        learner = learner.with_settings(pieces_alone=0.0)  # a sample saves time

    def make(folder: Path, work: Path) -> None:
        with tf32():
            made = learner.infer_words(
                experiment.shown_words, experiment.store, contexts=contexts, stages=Stages(work)
            )
        made.vectors.save(folder / "vectors.safetensors")

    recipe = {**experiment.identity, "learner": learner.key}
    folder = experiment.stages.folder(f"Vectors of {OURS}", recipe, make)
    return load_vectors(folder / "vectors.safetensors")
