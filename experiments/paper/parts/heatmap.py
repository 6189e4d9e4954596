"""Part ``heatmap``: the distribution of ranks by how often the keyword occurs."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np

from experiments.paper import published
from experiments.paper.experiment import HEAT_MAP_DEPTH, Experiment
from experiments.paper.figures import HeatMap, draw_heat_map, heat_map
from experiments.paper.part import Check, Claim, Part, Stage, p_text
from experiments.paper.results import restrict
from rarewords.wnlampro.comparison import LEVEL, binomial_test
from rarewords.wnlampro.tables import signed

_FEWEST = 10  # a column of fewer words says little
_FAR = 64  # the paper's ranks "65 to 128" begin above it
_SURE = 0.95


@dataclass(frozen=True)
class HeatMapPart(HeatMap, Part):
    """The heat map of cohyponym+ with the model's own subwords.

    :param correlation: Spearman's coefficient of count and rank, and its p-value.
    :param threshold: the paper's number of occurrences, scaled to the corpus: the nearest power of two.
    """

    name = "heatmap"
    title = "Ranks by the number of occurrences"

    correlation: tuple[float, ...]
    threshold: float

    @classmethod
    def run(cls, experiment: Experiment, _: Path) -> Self:
        from scipy.stats import spearmanr  # takes a second to import

        found = heat_map(experiment.subwords)
        entries = restrict(experiment.subwords, experiment.subwords.chosen("cohyponym"))
        ranks = np.where(entries.rank > 0, entries.rank, HEAT_MAP_DEPTH + 1)
        test = spearmanr(entries.count, ranks)
        correlation = float(test.statistic), float(test.pvalue)
        share = experiment.corpus.totals.words / published.CORPUS_WORDS
        threshold = 2.0 ** max(0, round(math.log2(max(1.0, published.HEAT_MAP_COUNT * share))))
        return cls(**vars(found), correlation=correlation, threshold=threshold)

    @classmethod
    def stages(cls, _: Experiment) -> Sequence[Stage]:
        return ()  # every part needs the subwords

    def markdown(self, figures: Path) -> Sequence[str]:
        draw_heat_map(self, figures / "heatmap.svg")
        return [self.text("text", depth=HEAT_MAP_DEPTH), self.picture()]

    def claims(self) -> Sequence[Claim]:
        cells, checks, rng = np.array(self.cells), [], np.random.default_rng(0)
        counts, ranks = (np.array([end or math.inf for end in ends]) for ends in (self.counts, self.ranks))
        above, far, near = counts > self.threshold, ranks > _FAR, ranks <= published.HEAT_MAP_RANK
        for count, column in zip(counts[~above], cells.T[~above], strict=True):
            total, best = int(column.sum()), int(column.argmax())
            if total < _FEWEST:
                continue
            drawn = rng.multinomial(total, column / total, 2000).argmax(axis=1)
            sure = float(far[drawn].mean())
            text = f"up to {count:,.0f}: most probable ranks {self._interval(best)} (beyond 64 in {sure:.0%})"
            checks.append(Check(text, bool(far[best]) and sure >= _SURE))
        front, total = int(cells[near][:, above].sum()), int(cells[:, above].sum())
        p = binomial_test(front, total)
        text = f"{front / max(total, 1):.0%} of {total:,} words rank up to 16, {p_text(p)}"
        in_front = Check(text, 2 * front > total and p < LEVEL)
        rho, p = self.correlation
        trend = Check(f"Spearman's ρ of count and rank is {signed(rho)}, {p_text(p)}", rho < 0 and p < LEVEL)
        return [
            Claim.of("far-back", *checks),
            Claim.of("in-front", *([in_front] if total else [])),
            Claim.of("trend", *([] if math.isnan(rho) else [trend])),
        ]

    def _interval(self, row: int) -> str:
        end, below = self.ranks[row], (self.ranks[row - 1] or 0) if row else 0
        if end is None:
            return f"beyond {below:.0f}"
        return f"{below + 1:.0f}–{end:.0f}" if end - below > 1 else f"{end:.0f}"
