"""Part ``methods``: subwords, one-token approximation and the baselines, by frequency."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from math import erfc, hypot, nan, sqrt
from pathlib import Path
from typing import Self

from experiments.paper import published
from experiments.paper.experiment import Experiment
from experiments.paper.figures import draw_lines, new_figure
from experiments.paper.part import Check, Claim, Part, Stage, Wait, p_text
from rarewords.errors import InputError
from rarewords.wnlampro.comparison import LEVEL, Comparison, compare
from rarewords.wnlampro.dataset import BANDS, band_of
from rarewords.wnlampro.result import Measure, ProbeResult
from rarewords.wnlampro.tables import figure, signed

TITLES = {"ota": "OTA", "subwords": "subwords", "first": "FIRST", "last": "LAST", "avg": "AVG"}
_BASELINES = ("first", "last", "avg")
_MARGINAL = 0.06  # the paper calls its own losses of 4.5, 5.7 and 5.1 % marginal


@dataclass(frozen=True)
class MethodsPart(Part):
    """The figure of methods.

    :param comparison: the methods of ``TITLES`` in that order, so each is compared with OTA.
    """

    name = "methods"
    title = "Subwords, one embedding, and the baselines by frequency"

    comparison: Comparison

    @classmethod
    def run(cls, experiment: Experiment, folder: Path) -> Self:
        bands = {band_of(entry.word.count) for entry in experiment.dataset}
        if missing := [band for band in BANDS if band not in bands]:
            raise InputError(
                f"the data set has no {missing[0]} words; use one with words of every frequency", code="wnlampro"
            )
        results = [_probed_ota(experiment), experiment.subwords]
        results += [_probed_baseline(experiment, baseline) for baseline in _BASELINES]
        for method, result in zip(TITLES, results, strict=True):
            result.save(folder / f"methods-{method}.json.gz")
        return cls(compare(results))

    @classmethod
    def stages(cls, experiment: Experiment) -> Sequence[Stage]:
        return [
            *(Stage(Wait.NOTHING, partial(_probed_baseline, experiment, baseline)) for baseline in _BASELINES),
            Stage(Wait.APPROXIMATIONS, partial(_probed_ota, experiment)),
        ]

    def markdown(self, figures: Path) -> Sequence[str]:
        self._draw(figures / "methods.svg")
        rows = []
        for method, paper in published.METHODS.items():
            row = [TITLES[method]]
            for band, theirs in zip(BANDS, paper, strict=True):
                ours = self._mrr(method, band)
                row += [f"{figure(ours.mean)} ± {figure(ours.error)}", figure(theirs)]
            rows.append(row)
        sizes = ", ".join(f"{self.comparison.at['all', band].entries:,} {band}" for band in BANDS)
        header = ["method", *(f"{band}, {who}" for band in BANDS for who in ("ours", "paper"))]
        return [self.text("text", sizes=sizes), self.picture(), self.table(header, rows)]

    def claims(self) -> Sequence[Claim]:
        return [
            Claim.of("frequency", *map(self._rises, published.METHODS)),
            Claim.of("ota-near", *map(self._near_the_subwords, BANDS)),
            Claim.of("ota-baselines", *map(self._above_the_baselines, BANDS)),
        ]

    @property
    def gaps(self) -> str:
        """How far the subwords are from the paper's."""
        paper = zip(BANDS, published.METHODS["subwords"], strict=True)
        gaps = [f"{signed(self._mrr('subwords', band).mean - mrr)} for {band} words" for band, mrr in paper]
        return ", ".join(gaps)

    def _mrr(self, method: str, band: str) -> Measure:
        return self.comparison.at["all", band].measures["mrr"][list(TITLES).index(method)]

    def _rises(self, method: str) -> Check:
        measures = [self._mrr(method, band) for band in BANDS]
        steps = [_z_test(rarer, more_frequent) for rarer, more_frequent in pairwise(measures)]
        means = " → ".join(figure(measure.mean) for measure in measures)
        rises = all(rarer.mean < more_frequent.mean for rarer, more_frequent in pairwise(measures))
        text = f"{TITLES[method]} {means} ({', '.join(p_text(p) for p in steps)})"
        return Check(text, rises and all(p < LEVEL for p in steps))

    def _near_the_subwords(self, band: str) -> Check:
        ota, subwords = self._mrr("ota", band).mean, self._mrr("subwords", band).mean
        change = ota / subwords - 1 if subwords else 0.0
        difference = self.comparison.at["all", band].differences["mrr"][0]  # of the subwords from OTA
        interval = f"{signed(-difference.high)} … {signed(-difference.low)}"
        shown = f"{change:+.1%}".replace("-", "−")
        text = f"{band}: {figure(ota)} against {figure(subwords)} ({shown}, {interval})"
        return Check(text, change >= -_MARGINAL)

    def _above_the_baselines(self, band: str) -> Check:
        best = max(_BASELINES, key=lambda method: self._mrr(method, band).mean)
        ota, mrr = self._mrr("ota", band).mean, self._mrr(best, band).mean
        difference = self.comparison.at["all", band].differences["mrr"][list(TITLES).index(best) - 1]
        times = f"{ota / mrr:.1f} times" if mrr else "above"
        baseline = f"the best baseline ({TITLES[best]} {figure(mrr)})"
        text = f"{band}: {figure(ota)}, {times} {baseline}, {p_text(difference.p_value)}"
        return Check(text, difference.direction < 0)

    def _draw(self, path: Path) -> None:
        """MRR by frequency, a line for each method: ours left, the paper's right, on one scale."""
        ours = [[self._mrr(method, band) for band in BANDS] for method in published.METHODS]
        theirs = [[Measure(mrr, nan) for mrr in paper] for paper in published.METHODS.values()]
        with new_figure(path, (8.4, 3.5), panels=2) as (_, panels):
            titles = ("Ours", "Paper, BERT-base")
            for axes, title, measures in zip(panels, titles, (ours, theirs), strict=True):
                draw_lines(axes, [TITLES[method] for method in published.METHODS], measures)
                axes.set_title(title, loc="left", fontsize=10)
            panels[0].set_ylabel("Mean reciprocal rank")
            panels[1].legend(frameon=False, loc="upper left", fontsize=8.5)


def _probed_ota(experiment: Experiment) -> ProbeResult:
    return experiment.probe("OTA", embeddings=experiment.approximations)


def _probed_baseline(experiment: Experiment, baseline: str) -> ProbeResult:
    return experiment.probe(TITLES[baseline], method=baseline)


def _z_test(one: Measure, other: Measure) -> float:
    """The two-sided p-value for the means of two independent samples to be equal."""
    error = hypot(one.error, other.error)
    return erfc(abs(one.mean - other.mean) / error / sqrt(2)) if error > 0 else 1.0
