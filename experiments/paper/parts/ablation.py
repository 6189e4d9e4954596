"""Part ``ablation``: what attentive mimicking needs, on dev."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Self

from experiments.paper import published
from experiments.paper.experiment import Experiment
from experiments.paper.part import EMPTY, Check, Claim, Part, Stage, Wait, about_seeds, cell_text, change
from experiments.paper.results import of_set
from experiments.paper.settings import CONFIGURATIONS, ReproduceSettings
from rarewords.wnlampro.comparison import Comparison, compare
from rarewords.wnlampro.result import ProbeResult
from rarewords.wnlampro.tables import figure, signed


@dataclass(frozen=True)
class AblationPart(Part):
    """The table of configurations.

    :param subwords: MRR of the model as it is.
    :param against_am: AM and each configuration, at each of the epochs.
    :param longer: AM+context after the first and after the last of the epochs.
    :param context_share: how much of an embedding came from contexts in the last epoch, for each seed.
    """

    name = "ablation"
    title = "What attentive mimicking needs"

    entries: int
    epochs: tuple[int, ...]
    subwords: float
    against_am: dict[str, tuple[Comparison, ...]]
    longer: Comparison
    context_share: dict[str, tuple[float, ...]]

    @classmethod
    def run(cls, experiment: Experiment, folder: Path) -> Self:
        epochs = experiment.settings.epochs
        subwords = of_set(experiment.subwords, experiment.dataset, "dev")
        runs: dict[tuple[str, int], list[ProbeResult]] = defaultdict(list)
        shares: dict[str, list[float]] = defaultdict(list)
        for seed in experiment.settings.training_seeds:
            for configuration in CONFIGURATIONS:
                trained = experiment.training(configuration, seed)
                shares[configuration].append(trained[epochs[-1]].settings["context_share"])
                for epoch, result in _probed(experiment, configuration, seed).items():
                    result.save(folder / f"ablation-{configuration}-{epoch}-{seed}.json.gz")
                    runs[configuration, epoch].append(result)
        against_am = {}
        for name in CONFIGURATIONS:
            against_am[name] = tuple(compare([runs["am", epoch], runs[name, epoch]]) for epoch in epochs)
        longer = compare([runs["am+context", epoch] for epoch in (epochs[0], epochs[-1])])
        context_share = {name: tuple(share) for name, share in shares.items()}
        return cls(len(subwords), epochs, subwords.mrr, against_am, longer, context_share)

    @classmethod
    def stages(cls, experiment: Experiment) -> Sequence[Stage]:
        return [
            Stage(Wait.APPROXIMATIONS if about.ota else Wait.NOTHING, partial(_probed, experiment, name, seed))
            for seed in experiment.settings.training_seeds
            for name, about in CONFIGURATIONS.items()
        ]

    def markdown(self, _: Path) -> Sequence[str]:
        rows, header = [], ["configuration"]
        for epoch, paper_epoch in zip(self.epochs, ReproduceSettings.epochs, strict=False):
            header += [f"{epoch} epochs", f"paper, {paper_epoch}"]
        for configuration, about in CONFIGURATIONS.items():
            comparisons, paper = self.against_am[configuration], published.ABLATION[configuration]
            row = [about.title]
            for ours, theirs in zip(comparisons, paper, strict=False):
                row += [cell_text(ours, 1), figure(theirs)]
            gain = comparisons[-1].at["all", "all"].differences["mrr"][0].mean
            gains = (gain, paper[-1] - published.ABLATION["am"][-1])
            row += [EMPTY if configuration == "am" else signed(gain) for gain in gains]
            rows.append([*row, f"{fmean(self.context_share[configuration]):.0%}"])
        header += ["Δ AM", "Δ AM, paper", "from contexts"]
        return [
            self.text("text", subwords=figure(self.subwords), seeds=about_seeds(self.longer)),
            self.table(header, rows),
        ]

    def claims(self) -> Sequence[Claim]:
        lean, more = self.context_share["am"], self.context_share["am+context"]
        longer = f"from {self.epochs[0]} epochs to {self.epochs[-1]} epochs"
        risen = all(share < larger for share, larger in zip(lean, more, strict=True))
        return [
            *(Claim.of(name, *self._checks(name, better=False)) for name in ("no-ota", "no-form", "no-context")),
            Claim.of("am+context", *self._checks("am+context", better=True)),
            Claim.of("longer", change(self.longer, name=longer)),
            Claim.of(
                "leaning",
                Check(f"AM takes {fmean(lean):.0%} from contexts in training", max(lean) < 0.5),
                Check(f"AM+context takes {fmean(more):.0%}", risen),
            ),
        ]

    def _checks(self, configuration: str, *, better: bool) -> tuple[Check, ...]:
        title, comparisons = CONFIGURATIONS[configuration].title, self.against_am[configuration]
        return tuple(
            change(comparison, better=better, name=f"AM → {title}, {epoch} epochs")
            for epoch, comparison in zip(self.epochs, comparisons, strict=True)
        )


def _probed(experiment: Experiment, configuration: str, seed: int) -> dict[int, ProbeResult]:
    """The result on dev after each of the measured epochs of a training."""
    found, title = experiment.training(configuration, seed), CONFIGURATIONS[configuration].title
    labels = {epoch: f"{title}, {epoch} epochs, seed {seed}" for epoch in found}
    return {epoch: experiment.probe(labels[epoch], embeddings=made, subset="dev") for epoch, made in found.items()}
