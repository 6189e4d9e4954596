"""Part ``methods``: pieces, one-token approximation and the baselines, by frequency."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import erfc, hypot, nan, sqrt
from pathlib import Path
from typing import Self

from experiments.paper import published
from experiments.paper.experiment import Experiment
from experiments.paper.figures import draw_lines, drawn
from experiments.paper.part import Check, Claim, Part, p_text
from rarewords.errors import InputError
from rarewords.probe.compare import LEVEL, Comparison, compare
from rarewords.probe.dataset import BANDS, band_of
from rarewords.probe.result import Measure
from rarewords.report.tables import figure, signed

TITLES = {"ota": "OTA", "pieces": "pieces", "first": "FIRST", "last": "LAST", "avg": "AVG"}
_BASELINES = ("first", "last", "avg")
_MARGINAL = 0.06  # the paper calls its own losses of 4.5, 5.7 and 5.1 % marginal


@dataclass(frozen=True)
class MethodsPart(Part):
    """The figure of methods.

    :param comparison: the methods of ``TITLES`` in that order, so each is compared with OTA.
    """

    name = "methods"
    title = "Pieces, one vector, and the baselines by frequency"

    comparison: Comparison

    @classmethod
    def run(cls, experiment: Experiment, folder: Path) -> Self:
        found = {band_of(entry.word.count) for entry in experiment.dataset}
        if missing := [band for band in BANDS if band not in found]:
            raise InputError(f"the data set has no {missing[0]} words; use one with words of every frequency")
        results = [experiment.probe("OTA", vectors=experiment.approximations), experiment.pieces]
        results += [experiment.probe(TITLES[one], method=one) for one in _BASELINES]
        for method, result in zip(TITLES, results, strict=True):
            result.save(folder / f"methods-{method}.json.gz")
        return cls(compare(results))

    def markdown(self, figures: Path) -> Sequence[str]:
        self._draw(figures / "methods.svg")
        rows = []
        for method, paper in published.METHODS.items():
            row = [TITLES[method]]
            for band, theirs in zip(BANDS, paper, strict=True):
                ours = self._mrr(method, band)
                row += [f"{figure(ours.mean)} ± {figure(ours.error)}", figure(theirs)]
            rows.append(row)
        sizes = ", ".join(f"{self.comparison['all', band].entries:,} {band}" for band in BANDS)
        header = ["method", *(f"{band}, {who}" for band in BANDS for who in ("ours", "paper"))]
        return [self.said("text", sizes=sizes), self.picture(), self.table(header, rows)]

    def claims(self) -> Sequence[Claim]:
        return [
            Claim.of("frequency", *map(self._rises, published.METHODS)),
            Claim.of("ota-near", *map(self._near_the_pieces, BANDS)),
            Claim.of("ota-baselines", *map(self._above_the_baselines, BANDS)),
        ]

    @property
    def gaps(self) -> str:
        """How far the pieces are from the paper's."""
        paper = zip(BANDS, published.METHODS["pieces"], strict=True)
        gaps = [f"{signed(self._mrr('pieces', band).mean - mrr)} for {band} words" for band, mrr in paper]
        return ", ".join(gaps)

    def _mrr(self, method: str, band: str) -> Measure:
        return self.comparison["all", band].measures["mrr"][list(TITLES).index(method)]

    def _rises(self, method: str) -> Check:
        measures = [self._mrr(method, band) for band in BANDS]
        steps = [_z_test(one, other) for one, other in pairwise(measures)]
        means = " → ".join(figure(one.mean) for one in measures)
        rises = all(one.mean < other.mean for one, other in pairwise(measures))
        text = f"{TITLES[method]} {means} ({', '.join(p_text(p) for p in steps)})"
        return Check(text, rises and all(p < LEVEL for p in steps))

    def _near_the_pieces(self, band: str) -> Check:
        ota, pieces = self._mrr("ota", band).mean, self._mrr("pieces", band).mean
        change = ota / pieces - 1 if pieces else 0.0
        found = self.comparison["all", band].differences["mrr"][0]  # of the pieces from OTA
        interval = f"{signed(-found.high)} … {signed(-found.low)}"
        shown = f"{change:+.1%}".replace("-", "−")
        text = f"{band}: {figure(ota)} against {figure(pieces)} ({shown}, {interval})"
        return Check(text, change >= -_MARGINAL)

    def _above_the_baselines(self, band: str) -> Check:
        best = max(_BASELINES, key=lambda method: self._mrr(method, band).mean)
        ota, mrr = self._mrr("ota", band).mean, self._mrr(best, band).mean
        found = self.comparison["all", band].differences["mrr"][list(TITLES).index(best) - 1]
        times = f"{ota / mrr:.1f} times" if mrr else "above"
        baseline = f"the best baseline ({TITLES[best]} {figure(mrr)})"
        text = f"{band}: {figure(ota)}, {times} {baseline}, {p_text(found.p_value)}"
        return Check(text, found.direction < 0)

    def _draw(self, path: Path) -> None:
        """MRR by frequency, a line for each method: ours left, the paper's right, on one scale."""
        ours = [[self._mrr(method, band) for band in BANDS] for method in published.METHODS]
        theirs = [[Measure(mrr, nan) for mrr in paper] for paper in published.METHODS.values()]
        with drawn(path, (8.4, 3.5), panels=2) as (_, panels):
            titles = ("Ours", "Paper, BERT-base")
            for axes, title, measures in zip(panels, titles, (ours, theirs), strict=True):
                draw_lines(axes, [TITLES[method] for method in published.METHODS], measures)
                axes.set_title(title, loc="left", fontsize=10)
            panels[0].set_ylabel("Mean reciprocal rank")
            panels[1].legend(frameon=False, loc="upper left", fontsize=8.5)


def _z_test(one: Measure, other: Measure) -> float:
    """The two-sided p-value for the means of two independent samples to be equal."""
    error = hypot(one.error, other.error)
    return erfc(abs(one.mean - other.mean) / error / sqrt(2)) if error > 0 else 1.0
