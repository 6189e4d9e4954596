"""Part ``main``: the model with and without AM+context on test."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Self

import numpy as np

from experiments.paper import published
from experiments.paper.experiment import Experiment
from experiments.paper.part import EMPTY, Check, Claim, Part, Stage, Wait, about_seeds, cell_text, change
from experiments.paper.results import of_set, relabelled, replaced, restrict
from experiments.paper.settings import CONFIGURATIONS
from rarewords._internal.tables import markdown_table
from rarewords.embeddings import WordEmbeddings
from rarewords.wnlampro.comparison import Comparison, compare
from rarewords.wnlampro.dataset import BANDS, RELATIONS
from rarewords.wnlampro.result import METRICS, ProbeResult
from rarewords.wnlampro.tables import METRIC_TITLES, difference_table, figure, relation_title, signed

CONFIGURATION = "am+context"
LABEL = CONFIGURATIONS[CONFIGURATION].title
_MEANINGS = tuple(relation for relation in RELATIONS if relation != "corruption")
# Keywords that occur less often than this get an embedding: none of them, those that do not occur, … all of
# them.
THRESHOLDS = (0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, math.inf)


@dataclass(frozen=True)
class MainPart(Part):
    """The main table.

    :param embeddings: subwords and AM+context.
    :param mixed: subwords and the mixture.
    :param mixed_or_embeddings: AM+context and the mixture.
    :param dev: MRR of the mixture on dev by relation, for each of ``THRESHOLDS``.
    :param without_embedding: number of keywords that keep their subwords.
    """

    name = "main"
    title = "The model with and without attentive mimicking"

    epochs: int
    embeddings: Comparison
    mixed: Comparison
    mixed_or_embeddings: Comparison
    dev: dict[str, tuple[float, ...]]
    without_embedding: int

    @classmethod
    def run(cls, experiment: Experiment, folder: Path) -> Self:
        by_seed = trained_embeddings(experiment)
        runs = [experiment.subwords, *(_probed(experiment, seed) for seed in by_seed)]
        dev = [of_set(run, experiment.dataset, "dev") for run in runs]
        subwords, *embeddings = [of_set(run, experiment.dataset, "test") for run in runs]
        by_threshold = mixture_by_threshold(dev[0], dev[1:])
        below = {relation: THRESHOLDS[int(np.argmax(mrr))] for relation, mrr in by_threshold.items()}
        mixed = [mixture(subwords, run, below) for run in embeddings]
        subwords.save(folder / "main-subwords.json.gz")
        for seed, run, mix in zip(by_seed, embeddings, mixed, strict=True):
            run.save(folder / f"main-am+context-{seed}.json.gz")
            mix.save(folder / f"main-mixed-{seed}.json.gz")
        compared = compare([subwords, embeddings]), compare([subwords, mixed]), compare([embeddings, mixed])
        without_embedding = sum(word not in by_seed[experiment.settings.seed] for word in experiment.keywords())
        return cls(experiment.settings.epochs[-1], *compared, by_threshold, without_embedding)

    @classmethod
    def stages(cls, experiment: Experiment) -> Sequence[Stage]:
        return [
            Stage(Wait.TRAININGS, partial(_probed, experiment, seed)) for seed in experiment.settings.training_seeds
        ]

    @property
    def misspelt(self) -> float:
        """The share of misspellings among the rare entries."""
        cells = [self.embeddings.at.get((relation, "rare")) for relation in ("corruption", "all")]
        misspelt, every = (cell.entries if cell else 0 for cell in cells)
        return misspelt / max(every, 1)

    def markdown(self, _: Path) -> Sequence[str]:
        header = ["relation", "never", *(f"< {count}" for count in THRESHOLDS[1:-1]), "always"]
        rows = []
        for relation, mrr in self.dev.items():
            cells = [figure(value) for value in mrr]
            cells[np.argmax(mrr)] = f"**{figure(max(mrr))}**"
            rows.append([relation_title(relation), *cells])
        return [
            self.text("text", seeds=about_seeds(self.embeddings)),
            self.text("scores"),
            main_table(self.embeddings, paper=True),
            self.text("change"),
            difference_table(self.embeddings),
            self.text("mixture"),
            self.table(header, rows),
            self.text("scores"),
            main_table(self.mixed),
        ]

    def claims(self) -> Sequence[Claim]:
        comparison = self.embeddings
        present = {band: [relation for relation in RELATIONS if (relation, band) in comparison.at] for band in BANDS}
        nouns = ("hypernym", "cohyponym")
        frequent = [relation for relation in nouns if relation in present["frequent"]]
        rarest = [relation for relation in nouns if {relation, "corruption"} <= set(present["rare"])]
        return [
            Claim.of("rare", *(change(comparison, relation, "rare") for relation in present["rare"])),
            Claim.of("misspelt", *map(self._gains_more, rarest)),
            Claim.of("medium", *(change(comparison, relation, "medium") for relation in present["medium"])),
            Claim.of("frequent", *(change(comparison, relation, "frequent", better=False) for relation in frequent)),
            Claim.of("mixture", *map(self._best_of_both, present["medium"])),
        ]

    def _gains_more(self, relation: str) -> Check:
        cells = [self.embeddings.at[name, "rare"] for name in ("corruption", relation)]
        corruption, noun = gains = [cell.differences["mrr"][0] for cell in cells]
        first, second = (f"{signed(gain.mean)} ({signed(gain.low)} … {signed(gain.high)})" for gain in gains)
        text = f"corruption {first}, {relation_title(relation)} {second}"
        return Check(text, corruption.low > max(noun.high, 0.0))

    def _best_of_both(self, relation: str) -> Check:
        subwords, embeddings = (change(comparison, relation) for comparison in (self.mixed, self.mixed_or_embeddings))
        return Check(
            f"from subwords, {subwords.text}; from embeddings, {embeddings.text}", subwords.holds and embeddings.holds
        )


def _probed(experiment: Experiment, seed: int) -> ProbeResult:
    """The result of AM+context on all entries; the seed names the stage only."""
    learned = experiment.training(CONFIGURATION, seed)[experiment.settings.epochs[-1]]
    return relabelled(experiment.probe(f"{LABEL}, seed {seed}", embeddings=learned), label=LABEL)


def trained_embeddings(experiment: Experiment) -> dict[int, WordEmbeddings]:
    """The embeddings of AM+context after its last epoch, by seed."""
    seeds, epochs = experiment.settings.training_seeds, experiment.settings.epochs
    return {seed: experiment.training(CONFIGURATION, seed)[epochs[-1]] for seed in seeds}


def main_table(compared: Comparison, *, paper: bool = False) -> str:
    """Relations and methods down, frequencies across; with the paper's rows below ours."""
    rows = []
    for relation in (*RELATIONS, "all"):
        if not any((relation, band) in compared.at for band in BANDS):
            continue
        group = [
            [label, *(cell_text(compared, method, relation, band, metric) for band in BANDS for metric in METRICS)]
            for method, label in enumerate(compared.labels)
        ]
        for model, theirs in published.MAIN.get(relation, {}).items() if paper else ():
            empty = [EMPTY] * (len(BANDS) * len(METRICS) - len(theirs))  # corruptions are rare only
            group.append([f"paper: {model}", *map(figure, theirs), *empty])
        rows += [[relation_title(relation) if not place else "", *row] for place, row in enumerate(group)]
    for title, relations, weighted in (("without misspellings", _MEANINGS, True), ("macro average", RELATIONS, False)):
        for method, label in enumerate(compared.labels):
            means = [_mean(compared, method, relations, band, metric, weighted) for band in BANDS for metric in METRICS]
            rows.append(["" if method else title, label, *means])
    titles = [f"{band} {name}" for band in BANDS for name in METRIC_TITLES.values()]
    return markdown_table(["relation", "model", *titles], rows, left=2)


def _mean(compared: Comparison, method: int, relations: Sequence[str], band: str, metric: str, weighted: bool) -> str:
    """The mean over relations, or over their entries."""
    cells = [compared.at[relation, band] for relation in relations if (relation, band) in compared.at]
    weights = [cell.entries if weighted else 1 for cell in cells]
    values = [cell.measures[metric][method].mean for cell in cells]
    return figure(float(np.average(values, weights=weights))) if cells else EMPTY


def mixture(subwords: ProbeResult, embeddings: ProbeResult, below: Mapping[str, float]) -> ProbeResult:
    """Embeddings for keywords that occur less often than their relation's threshold, subwords for the others."""
    rare = subwords.count < np.array([below[relation] for relation in subwords.relation])
    mixed = replaced(subwords, restrict(embeddings, rare)) if rare.any() else subwords
    return relabelled(mixed, label=f"{embeddings.label}, mixed")


def mixture_by_threshold(subwords: ProbeResult, runs: Sequence[ProbeResult]) -> dict[str, tuple[float, ...]]:
    """MRR of each relation for each of ``THRESHOLDS``, as a mean over the runs."""
    embeddings, by_relation = np.mean([run.reciprocal for run in runs], axis=0), {}
    for relation in dict.fromkeys(subwords.relation):
        rows = subwords.chosen(relation)
        mixed = [np.where(subwords.count < below, embeddings, subwords.reciprocal)[rows] for below in THRESHOLDS]
        by_relation[relation] = tuple(float(values.mean()) for values in mixed)
    return by_relation
