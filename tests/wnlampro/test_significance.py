"""The binomial test against scipy's, the bootstrap against theory."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from rarewords.wnlampro.comparison import binomial_test, bootstrap_interval, compare_values


@given(st.integers(0, 3000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_binomial_test_is_scipys(drawn):
    successes, trials = drawn
    expected = binomtest(successes, trials).pvalue if trials else 1.0
    assert binomial_test(successes, trials) == pytest.approx(expected, rel=1e-8, abs=1e-250)  # below, SciPy gives 0


def test_binomial_test_by_hand():
    assert binomial_test(8, 10) == pytest.approx(2 * (45 + 10 + 1) / 1024)
    assert binomial_test(0, 0) == 1.0


def test_bootstrap_interval_is_near_the_normal_one():
    values = np.random.default_rng(3).random(4000)
    low, high = bootstrap_interval(values)
    error = values.std() / np.sqrt(len(values))
    assert low == pytest.approx(values.mean() - 1.96 * error, abs=error / 4)
    assert high == pytest.approx(values.mean() + 1.96 * error, abs=error / 4)
    assert bootstrap_interval(values) == (low, high)  # the seed is fixed


def test_ties_do_not_count():
    ours, theirs = np.array([1.0, 0.5, 0.2, 0.2, 0.0]), np.array([0.5, 0.2, 0.2, 0.1, 0.1])
    difference = compare_values(ours, theirs)
    assert (difference.wins, difference.losses) == (3, 1)
    assert difference.p_value == pytest.approx(2 * 5 / 16)
    assert difference.mean == pytest.approx((0.5 + 0.3 + 0.1 - 0.1) / 5)
    assert difference.low <= difference.mean <= difference.high
    assert difference.direction == 0


def test_a_direction_needs_significance():
    ranks = np.concatenate([np.ones(20), np.zeros(2)])
    assert [compare_values(*pair).direction for pair in ((ranks, 1 - ranks), (1 - ranks, ranks))] == [1, -1]
    few = ranks[-10:]  # eight against two
    assert compare_values(few, 1 - few).p_value == pytest.approx(0.109375)
    assert compare_values(few, 1 - few).direction == 0
