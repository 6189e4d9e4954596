"""Part ``beyond``: our own default method beside AM+context, on the same entries."""

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from rarewords.paper.experiment import Experiment
from rarewords.paper.part import Part, paragraphs
from rarewords.paper.parts.main import CONFIGURATION, LABEL, main_table, probed, trained
from rarewords.probe.compare import Comparison, compare
from rarewords.report.tables import difference_table
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

    compared: Comparison
    against_am: Comparison
    contexts: int

    @classmethod
    def run(cls, experiment: Experiment, folder: Path) -> Self:
        vectors = _vectors(experiment)
        am = probed(experiment, trained(experiment))
        ours = experiment.probe(OURS, vectors=vectors)
        test = [
            [one.of_set(experiment.dataset, "test") for one in runs]
            for runs in ([experiment.pieces], am, [ours])
        ]
        test[-1][0].save(folder / "beyond-wordlearner.json.gz")
        contexts = experiment.settings.contexts or experiment.learner.settings.contexts
        return cls(compare(test), compare(test[1:]), contexts)

    def markdown(self, _: Path) -> str:
        return paragraphs(
            self.said("text", label=LABEL),
            main_table(self.compared),
            self.said("change", label=LABEL, ours=OURS),
            difference_table(self.against_am),
        )


def _vectors(experiment: Experiment) -> WordVectors:
    words, store, size = experiment.shown_words, experiment.store, experiment.settings
    learner = experiment.learner
    if not size.whole:
        learner = learner.with_settings(pieces_alone=0.0)  # a sample saves time
    return experiment.vectors(
        f"Vectors of {OURS}",
        {**experiment.identity, "learner": learner.key},
        lambda stages: learner.infer_words(words, store, contexts=size.contexts, stages=stages).vectors,
    )
