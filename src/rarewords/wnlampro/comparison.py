"""Several results, each compared with the first, entry by entry.

The paper's test is a two-sided binomial test: among the entries where two results differ, how many does each win,
and how unlikely is that for a fair coin? Beside it stands the bootstrap interval of the difference in means.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from math import exp, fsum, lgamma, log
from typing import Any

import numpy as np

from rarewords.errors import InputError
from rarewords.wnlampro.result import METRICS, Measure, ProbeResult

LEVEL = 0.05
_SAMPLES = 2000


@dataclass(frozen=True)
class Difference:
    """How a result differs from a baseline on the same entries.

    :param mean: of result minus baseline; ``low`` and ``high`` are the ends of its 95 % bootstrap interval.
    :param wins: entries where the result is better; ``losses``: where the baseline is.
    :param p_value: of the two-sided binomial test on wins and losses.
    """

    mean: float
    low: float
    high: float
    wins: int
    losses: int
    p_value: float

    @property
    def direction(self) -> int:
        """1 if the binomial test finds the result better at the level of 5 %, -1 if worse, otherwise 0."""
        return int(np.sign(self.wins - self.losses)) if self.p_value < LEVEL else 0


def compare_values(result: np.ndarray, baseline: np.ndarray) -> Difference:
    """Compare two results, given one number per entry. *Shape of each:* (entries,)"""
    difference = result - baseline
    # The values are fractions with small denominators; anything smaller is a rounding error.
    wins, losses = int((difference > 1e-9).sum()), int((difference < -1e-9).sum())
    low, high = bootstrap_interval(difference)
    return Difference(float(difference.mean()), low, high, wins, losses, binomial_test(wins, wins + losses))


def binomial_test(successes: int, trials: int) -> float:
    """The two-sided p-value of a number of successes of a fair coin.

    The distribution is symmetric, so the p-value is twice the smaller tail:
    ``binomial_test(8, 10) -> 2 * (45 + 10 + 1) / 1024 = 0.109375``.
    """
    tail = range(min(successes, trials - successes) + 1)
    logs = (lgamma(trials + 1) - lgamma(k + 1) - lgamma(trials - k + 1) for k in tail)
    return min(1.0, 2 * fsum(exp(one - trials * log(2)) for one in logs))


def bootstrap_interval(values: np.ndarray) -> tuple[float, float]:
    """The 95 % percentile interval of the mean over resampled entries. *Shape:* (entries,)"""
    random, entries = np.random.default_rng(0), len(values)
    means = [values[random.integers(0, entries, entries)].mean() for _ in range(_SAMPLES)]
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)


@dataclass(frozen=True)
class ComparedCell:
    """One relation and frequency band in all results.

    :param measures: for each metric, the mean of each result.
    :param runs: for each metric and result, the mean of each of its runs.
    :param differences: for each metric, how each result after the first differs from the first.
    """

    relation: str
    band: str
    entries: int
    measures: dict[str, tuple[Measure, ...]]
    runs: dict[str, tuple[tuple[float, ...], ...]]
    differences: dict[str, tuple[Difference, ...]]


@dataclass(frozen=True)
class Comparison:
    """All cells of the paper's main table, and the totals over relations and frequencies."""

    labels: tuple[str, ...]
    cells: tuple[ComparedCell, ...]

    @cached_property
    def at(self) -> dict[tuple[str, str], ComparedCell]:
        """The cells by relation and frequency band; one without entries is missing."""
        return {(cell.relation, cell.band): cell for cell in self.cells}

    def as_json(self) -> dict[str, Any]:
        """Plain numbers for ``--json``."""
        cells = []
        for cell in self.cells:
            about = {"relation": cell.relation, "frequency": cell.band, "entries": cell.entries}
            means = {metric: [one.mean for one in found] for metric, found in cell.measures.items()}
            differences = {metric: list(map(asdict, found)) for metric, found in cell.differences.items()}
            cells.append({**about, **means, "differences": differences})
        return {"results": list(self.labels), "cells": cells}


def compare(results: Sequence[ProbeResult | Sequence[ProbeResult]]) -> Comparison:
    """Compare results on the same entries of the same data set.

    A result may have several runs, such as one for each seed; they are averaged entry by entry.
    """
    methods = [[one] if isinstance(one, ProbeResult) else one for one in results]
    check_comparable([run for runs in methods for run in runs])
    first = methods[0][0]
    cells = []
    for relation, band in first.cells:
        rows = first.chosen(relation, band)
        cell = ComparedCell(relation, band, int(rows.sum()), {}, {}, {})
        for metric in METRICS:
            found = [np.array([run.values(metric)[rows] for run in runs]) for runs in methods]
            baseline, *others = means = [runs.mean(axis=0) for runs in found]
            cell.measures[metric] = tuple(map(Measure.of, means))
            cell.runs[metric] = tuple(tuple(runs.mean(axis=1).tolist()) for runs in found)
            cell.differences[metric] = tuple(compare_values(one, baseline) for one in others)
        cells.append(cell)
    return Comparison(tuple(runs[0].label for runs in methods), tuple(cells))


def check_comparable(results: Sequence[ProbeResult]) -> None:
    """Refuse results of different data sets or entries."""
    if not results:
        raise InputError("give at least one result to compare", code="wnlampro")
    first = results[0]
    for other in results[1:]:
        both = f"{first.label!r} and {other.label!r}"
        if other.settings.get("dataset") != first.settings.get("dataset"):
            raise InputError(f"{both} come from different data sets; evaluate both on the same one", code="wnlampro")
        if list(other.id) != list(first.id):
            problem = f"{both} have different entries; evaluate both with the same subset and limit"
            raise InputError(problem, code="wnlampro")
