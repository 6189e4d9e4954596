"""Part ``main``: the model with and without AM+context on test."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np

from experiments.paper import published
from experiments.paper.experiment import Experiment
from experiments.paper.part import EMPTY, Check, Claim, Part, cell_text, change
from experiments.paper.settings import CONFIGURATIONS
from rarewords.probe.compare import Comparison, compare
from rarewords.probe.dataset import BANDS, RELATIONS
from rarewords.probe.result import METRICS, ProbeResult
from rarewords.report.tables import (
    METRIC_TITLES,
    difference_table,
    figure,
    markdown_table,
    relation_title,
    signed,
)
from rarewords.vectors import WordVectors

CONFIGURATION = "am+context"
LABEL = CONFIGURATIONS[CONFIGURATION].title
# Keywords that occur less often than this get a vector: none of them, those that do not occur, … all of them.
THRESHOLDS = (0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, math.inf)


@dataclass(frozen=True)
class MainPart(Part):
    """The main table.

    :param vectors: pieces and AM+context.
    :param mixed: pieces and the mixture.
    :param mixed_or_vectors: AM+context and the mixture.
    :param dev: MRR of the mixture on dev by relation, for each of ``THRESHOLDS``.
    :param without_vector: number of keywords that keep their pieces.
    """

    name = "main"
    title = "The model with and without attentive mimicking"
    trains = (CONFIGURATION,)

    epochs: int
    vectors: Comparison
    mixed: Comparison
    mixed_or_vectors: Comparison
    dev: dict[str, tuple[float, ...]]
    without_vector: int

    @classmethod
    def run(cls, experiment: Experiment, folder: Path) -> Self:
        made = trained(experiment)
        runs = [experiment.pieces]
        for seed, learned in made.items():
            run = experiment.probe(f"{LABEL}, seed {seed}", vectors=learned)
            runs.append(run.restrict(run.count >= 0, label=LABEL))  # the seed names the stage only
        dev = [one.of_set(experiment.dataset, "dev") for one in runs]
        pieces, *vectors = [one.of_set(experiment.dataset, "test") for one in runs]
        by_threshold = mixture_by_threshold(dev[0], dev[1:])
        below = {one: THRESHOLDS[int(np.argmax(mrr))] for one, mrr in by_threshold.items()}
        mixed = [mixture(pieces, one, below) for one in vectors]
        pieces.save(folder / "main-pieces.json.gz")
        for seed, one, mix in zip(made, vectors, mixed, strict=True):
            one.save(folder / f"main-am+context-{seed}.json.gz")
            mix.save(folder / f"main-mixed-{seed}.json.gz")
        compared = compare([pieces, vectors]), compare([pieces, mixed]), compare([vectors, mixed])
        without_vector = sum(word not in made[experiment.settings.seed] for word in experiment.keywords())
        return cls(experiment.settings.epochs[-1], *compared, by_threshold, without_vector)

    def markdown(self, _: Path) -> Sequence[str]:
        header = ["relation", "never", *(f"< {count}" for count in THRESHOLDS[1:-1]), "always"]
        rows = []
        for relation, mrr in self.dev.items():
            cells = [figure(one) for one in mrr]
            cells[np.argmax(mrr)] = f"**{figure(max(mrr))}**"
            rows.append([relation_title(relation), *cells])
        return [
            self.said("text"),
            self.said("scores"),
            main_table(self.vectors, paper=True),
            self.said("change"),
            difference_table(self.vectors),
            self.said("mixture"),
            self.table(header, rows),
            self.said("scores"),
            main_table(self.mixed),
        ]

    def claims(self) -> Sequence[Claim]:
        found = self.vectors
        present = {band: [one for one in RELATIONS if found.cell(one, band)] for band in BANDS}
        nouns = ("hypernym", "cohyponym")
        frequent = [one for one in nouns if one in present["frequent"]]
        rarest = [one for one in nouns if {one, "corruption"} <= set(present["rare"])]
        return [
            Claim.of("rare", *(change(found, one, "rare") for one in present["rare"])),
            Claim.of("misspelt", *map(self._gains_more, rarest)),
            Claim.of("medium", *(change(found, one, "medium") for one in present["medium"])),
            Claim.of("frequent", *(change(found, one, "frequent", better=False) for one in frequent)),
            Claim.of("mixture", *map(self._best_of_both, present["medium"])),
        ]

    def _gains_more(self, relation: str) -> Check:
        cells = [self.vectors[name, "rare"] for name in ("corruption", relation)]
        one, other = gains = [cell.differences["mrr"][0] for cell in cells]
        first, second = (f"{signed(one.mean)} ({signed(one.low)} … {signed(one.high)})" for one in gains)
        text = f"corruption {first}, {relation_title(relation)} {second}"
        return Check(text, one.low > max(other.high, 0.0))

    def _best_of_both(self, relation: str) -> Check:
        own, vectors = (change(one, relation) for one in (self.mixed, self.mixed_or_vectors))
        return Check(f"from pieces, {own.text}; from vectors, {vectors.text}", own.holds and vectors.holds)


def trained(experiment: Experiment) -> dict[int, WordVectors]:
    """The vectors of AM+context after its last epoch, by seed."""
    seeds, epochs = experiment.settings.training_seeds, experiment.settings.epochs
    return {seed: experiment.training(CONFIGURATION, seed)[epochs[-1]] for seed in seeds}


def main_table(compared: Comparison, *, paper: bool = False) -> str:
    """Relations and methods down, frequencies across; with the paper's rows below ours."""
    rows = []
    for relation in (*RELATIONS, "all"):
        if not any(compared.cell(relation, band) for band in BANDS):
            continue
        group = [
            [label, *(cell_text(compared, method, relation, one, two) for one in BANDS for two in METRICS)]
            for method, label in enumerate(compared.labels)
        ]
        for model, theirs in published.MAIN.get(relation, {}).items() if paper else ():
            empty = [EMPTY] * (len(BANDS) * len(METRICS) - len(theirs))  # corruptions are rare only
            group.append([f"paper: {model}", *map(figure, theirs), *empty])
        rows += [[relation_title(relation) if not place else "", *row] for place, row in enumerate(group)]
    titles = [f"{band} {name}" for band in BANDS for name in METRIC_TITLES.values()]
    return markdown_table(["relation", "model", *titles], rows, left=2)


def mixture(pieces: ProbeResult, vectors: ProbeResult, below: Mapping[str, float]) -> ProbeResult:
    """Vectors for keywords that occur less often than their relation's threshold, pieces for the others."""
    rare = pieces.count < np.array([below[relation] for relation in pieces.relation])
    mixed = pieces.replaced(vectors.restrict(rare)) if rare.any() else pieces
    return mixed.restrict(mixed.count >= 0, label=f"{vectors.label}, mixed")


def mixture_by_threshold(pieces: ProbeResult, runs: Sequence[ProbeResult]) -> dict[str, tuple[float, ...]]:
    """MRR of each relation for each of ``THRESHOLDS``, as a mean over the runs."""
    vectors, found = np.mean([run.reciprocal for run in runs], axis=0), {}
    for relation in dict.fromkeys(pieces.relation):
        rows = pieces.chosen(relation)
        mixed = [np.where(pieces.count < below, vectors, pieces.reciprocal)[rows] for below in THRESHOLDS]
        found[relation] = tuple(float(one.mean()) for one in mixed)
    return found
