"""Whether two results differ by more than chance.

Both ways compare the two results entry by entry. The paper's is a two-sided binomial test: of the entries
where the results differ, how many does each win, and how unlikely is that for a fair coin. The other is the
bootstrap interval of the difference of the means.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rarewords.errors import InputError

_BLOCK = 4_000_000


@dataclass(frozen=True)
class Difference:
    """How a result differs from another on the same entries.

    :param mean: mean of result minus baseline.
    :param low: lower end of the bootstrap interval of that mean.
    :param high: upper end.
    :param wins: entries where the result is better.
    :param losses: entries where the baseline is.
    :param p_value: of the two-sided binomial test on wins and losses.
    """

    mean: float
    low: float
    high: float
    wins: int
    losses: int
    p_value: float

    def significant(self, level: float = 0.05) -> bool:
        """Whether the binomial test rejects that the two are equal."""
        return self.p_value < level


def compare_values(
    result: np.ndarray, baseline: np.ndarray, *, samples: int = 2000, confidence: float = 0.95, seed: int = 0
) -> Difference:
    """Compare two results, one number an entry each. *Shape of each:* (entries,)"""
    if result.shape != baseline.shape or result.ndim != 1 or not len(result):
        raise InputError(f"{result.shape} and {baseline.shape} numbers cannot be compared entry by entry")
    difference = result - baseline
    # Both are made of fractions with small denominators; what is smaller than this is rounding.
    wins, losses = int((difference > 1e-9).sum()), int((difference < -1e-9).sum())
    low, high = bootstrap_interval(difference, samples=samples, confidence=confidence, seed=seed)
    return Difference(float(difference.mean()), low, high, wins, losses, binomial_test(wins, wins + losses))


def binomial_test(successes: int, trials: int) -> float:
    """The two-sided p-value of so many successes of a fair coin.

    With p = 1/2 the distribution is symmetric, so it is twice the smaller tail:
    ``binomial_test(8, 10) -> 2 * (45 + 10 + 1) / 1024 = 0.109375``.
    """
    if not 0 <= successes <= trials:
        raise InputError(f"{successes} successes in {trials} trials are impossible")
    fewer = min(successes, trials - successes)
    if 2 * fewer == trials:
        return 1.0
    # In logarithms, for 2**trials is out of reach of a float.
    ways = [
        math.lgamma(trials + 1) - math.lgamma(k + 1) - math.lgamma(trials - k + 1) for k in range(fewer + 1)
    ]
    largest = max(ways)
    tail = largest + math.log(math.fsum(math.exp(one - largest) for one in ways))
    return min(1.0, 2 * math.exp(tail - trials * math.log(2)))


def bootstrap_interval(
    values: np.ndarray, *, samples: int = 2000, confidence: float = 0.95, seed: int = 0
) -> tuple[float, float]:
    """The percentile interval of the mean over resampled entries."""
    if samples < 1 or not 0 < confidence < 1:
        raise InputError("the bootstrap needs at least one sample and a confidence between 0 and 1")
    random = np.random.default_rng(seed)
    means = []
    at_once = max(1, _BLOCK // len(values))
    for start in range(0, samples, at_once):
        rows = min(at_once, samples - start)
        means.append(values[random.integers(0, len(values), (rows, len(values)))].mean(axis=1))
    low, high = np.quantile(np.concatenate(means), [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)
