"""Results over seeds, and results as JSON."""

import json
import math
from dataclasses import dataclass

import numpy as np

from experiments.paper.part import about_seeds, cell_text, change, to_json
from rarewords._internal.schema import parse
from rarewords.wnlampro.comparison import Comparison, compare
from rarewords.wnlampro.result import ProbeResult


def result(ranks, label="one", relations=None, counts=None):
    """A result with given ranks; hits do not matter here."""
    size, zeros = len(ranks), np.zeros(len(ranks), dtype=np.int64)
    ids = [f"e{number}" for number in range(size)]
    return ProbeResult(
        {"label": label, "dataset": "d", "set": "all"},
        ids,
        ids,
        relations or ["hypernym", "antonym"] * (size // 2),
        np.array(ranks),
        zeros,
        zeros,
        np.array(counts if counts is not None else [0] * size),
    )


def test_seeds_are_averaged_entry_by_entry():
    compared = compare([result([4] * 20), [result([1] * 20, "AM"), result([2] * 20, "AM")]])
    assert cell_text(compared, 0) == "0.250"
    assert cell_text(compared, 1) == "0.750 ± 0.354 ↑20/0"
    assert cell_text(compared, 1, "corruption") == "–"
    assert "Means of 2 seeds" in about_seeds(compared)
    assert "One seed" in about_seeds(compare([result([4] * 4), result([4] * 4)]))


def test_a_change_must_be_significant_and_the_same_in_every_seed():
    subwords, better, worse = result([4] * 20), result([1] * 20), result([9] * 20)
    agree = change(compare([subwords, [better, better]]))
    assert agree.holds
    assert agree.text == "all: 0.250 → 1.000 (+0.750, p < 0.001, n = 20, 2 of 2 seeds)"
    split = change(compare([subwords, [better, worse]]))  # better in the mean, but not in both
    assert not split.holds
    assert "1 of 2 seeds" in split.text
    assert not change(compare([result([4] * 4), result([1] * 4)])).holds  # too few entries
    single = compare([subwords, worse])
    assert not change(single).holds
    assert change(single, better=False).holds
    assert "one seed" in change(single).text
    still = change(compare([subwords, [worse, subwords]]), better=False)  # worse in one, equal in the other
    assert "1 of 2 seeds" in still.text
    assert not still.holds


@dataclass(frozen=True)
class Inner:
    value: float


@dataclass(frozen=True)
class Outer:
    one: Inner
    several: tuple[Inner, ...]
    named: dict[str, tuple[float, ...]]
    perhaps: float | None
    text: str


def _read(kind, value):
    return parse(kind, value, "part.json", "run the part again")


def test_results_come_back_from_json_as_they_were():
    outer = Outer(Inner(0.1), (Inner(1.5), Inner(2.0)), {"rare": (1.0, 2.0), "all": ()}, None, "x")
    stored = json.loads(json.dumps(to_json(outer)))
    found = _read(Outer, stored)
    assert found == outer
    assert list(found.named) == ["rare", "all"]
    assert math.isnan(_read(Inner, to_json(Inner(math.nan))).value)
    assert to_json(Inner(math.nan)) == {"value": None}
    compared = compare([result([4, 3]), result([1, 2])])
    assert to_json(_read(Comparison, to_json(compared))) == to_json(compared)
