"""What a comparison marks, and which results may be compared."""

import json

import numpy as np
import pytest

from rarewords.wnlampro.comparison import compare
from rarewords.wnlampro.result import ProbeResult
from tests.errors import refused_with


def made(ranks, *, label="a", dataset="d", counts=None, ids=None):
    ranks = np.array(ranks)
    return ProbeResult(
        {"label": label, "dataset": dataset},
        id=ids or [str(i) for i in range(len(ranks))],
        word=["lime"] * len(ranks),
        relation=["hypernym"] * len(ranks),
        rank=ranks,
        hits3=(ranks > 0) & (ranks <= 3),
        hits10=(ranks > 0) & (ranks <= 10),
        count=np.array(counts or [5] * len(ranks)),
    )


def test_comparison_marks_the_best_and_the_significant():
    worse, better = made([0] * 20), made([1] * 10 + [0] * 10, label="b")
    comparison = compare([worse, better])
    cell = comparison.at["hypernym", "rare"]
    assert ("hypernym", "frequent") not in comparison.at
    assert comparison.at["all", "rare"].measures == cell.measures  # the only relation is all of them
    assert cell.differences["mrr"][0].wins == 10
    assert cell.differences["mrr"][0].direction == 1
    assert cell.differences["mrr"][0].p_value == pytest.approx(2 / 1024)
    assert compare([better, worse]).at["hypernym", "rare"].differences["mrr"][0].direction == -1


def test_runs_are_averaged_entry_by_entry():
    comparison = compare([made([4] * 4), [made([1, 1, 0, 0], label="b"), made([2, 0, 2, 0], label="b")]])
    cell = comparison.at["all", "rare"]
    assert comparison.labels == ("a", "b")
    assert [one.mean for one in cell.measures["mrr"]] == [0.25, 0.375]
    assert cell.runs["mrr"] == ((0.25,), (0.5, 0.25))
    difference = cell.differences["mrr"][0]
    assert (difference.wins, difference.losses) == (2, 1)  # .75, .5, .25 and 0 against .25


def test_json_is_plain_numbers():
    comparison = compare([made([0, 1]), made([1, 1], label="b")])
    stored = json.loads(json.dumps(comparison.as_json(), allow_nan=False))
    assert stored["results"] == ["a", "b"]
    assert [(cell["relation"], cell["frequency"]) for cell in stored["cells"]] == [
        ("hypernym", "rare"),
        ("hypernym", "all"),
        ("all", "rare"),
        ("all", "all"),
    ]
    rare = stored["cells"][0]
    assert rare["mrr"] == [0.5, 1.0]
    assert rare["differences"]["mrr"][0]["wins"] == 1


def test_a_cell_of_one_entry_has_no_error_but_valid_json():
    stored = compare([made([1]), made([2], label="b")]).as_json()
    assert json.dumps(stored, allow_nan=False)


def test_results_that_cannot_be_compared():
    first = made([1, 2])
    with refused_with("wnlampro"):
        compare([first, made([1, 2], dataset="other", label="b")])
    with refused_with("wnlampro"):
        compare([first, made([1, 2], ids=["0", "7"])])
    with refused_with("wnlampro"):
        compare([])
