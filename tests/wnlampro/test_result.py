"""The figures by hand, and a result's file."""

import json
from dataclasses import replace

import numpy as np
import pytest

from rarewords.wnlampro.result import ProbeResult, score
from tests.errors import refused_with


@pytest.fixture
def result():
    return ProbeResult(
        {"label": "by hand", "dataset": "d", "set": "all", "limit": None, "depth": 512},
        id=["1", "2", "3", "4"],
        word=["lime", "kumquat", "salsify", "new"],
        relation=["hypernym", "hypernym", "hypernym", "antonym"],
        rank=np.array([1, 4, 0, 200]),
        hits3=np.array([2, 0, 0, 0]),
        hits10=np.array([3, 1, 0, 0]),
        count=np.array([500, 4, 9, 70000]),
    )


def test_figures_by_hand(result):
    mrr = result.measure("hypernym")
    assert mrr.mean == pytest.approx((1 + 1 / 4 + 0) / 3)
    assert mrr.error == pytest.approx(np.std([1, 0.25, 0], ddof=1) / np.sqrt(3))
    assert result.measure("hypernym", metric="p3").mean == pytest.approx((2 / 3) / 3)
    assert result.measure("hypernym", metric="p10").mean == pytest.approx((0.3 + 0.1) / 3)
    assert result.measure("hypernym", "rare").mean == pytest.approx(0.125)
    assert result.measure("antonym").mean == 0  # a rank beyond 100 counts for nothing
    assert np.isnan(result.measure("antonym").error)
    assert np.isnan(result.measure("corruption").mean)
    assert result.mrr == pytest.approx(1.25 / 4)


def test_the_cells_of_the_file(result, tmp_path):
    result.save(tmp_path / "r.json")
    cells = json.loads((tmp_path / "r.json").read_text())["cells"]
    assert [(cell["relation"], cell["frequency"], cell["entries"]) for cell in cells] == [
        ("antonym", "frequent", 1),
        ("antonym", "all", 1),
        ("hypernym", "rare", 2),
        ("hypernym", "frequent", 1),
        ("hypernym", "all", 3),
        ("all", "rare", 2),
        ("all", "frequent", 2),
        ("all", "all", 4),
    ]
    assert cells[2]["mrr"] == cells[2]["mrr_error"] == 0.125
    assert "mrr_error" not in cells[0]  # of one entry


def test_score_is_the_best_over_patterns_and_targets():
    found = np.zeros((2, 100), dtype=bool)
    found[0, [4, 5]] = True  # first pattern: places 5 and 6
    found[1, [1, 50]] = True  # second: places 2 and 51
    assert score(found) == (2, 1, 2)
    assert score(np.zeros((2, 100), dtype=bool)) == (0, 0, 0)


@pytest.mark.parametrize("name", ["r.json", "r.json.gz"])
def test_file_round_trip(result, tmp_path, name):
    result.save(tmp_path / name)
    again = ProbeResult.load(tmp_path / name)
    assert (again.settings, again.word, again.rank.tolist()) == (result.settings, result.word, [1, 4, 0, 200])
    again.save(tmp_path / f"again-{name}")
    assert (tmp_path / f"again-{name}").read_bytes() == (tmp_path / name).read_bytes()


def test_answers_are_kept_in_the_file(result, tmp_path):
    kept = replace(result, answers=["lime is a _. fruit", "b", "c", "d"])
    kept.save(tmp_path / "r.json")
    again = ProbeResult.load(tmp_path / "r.json")
    assert again.answers == ["lime is a _. fruit", "b", "c", "d"]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["entries"], []),
        (["entries"], "text"),
        (["entries", "rank"], "1 four 0 200"),
        (["entries", "rank"], "1 4 0"),
        (["entries", "rank"], "1 4 0 -2"),
        (["entries", "rank"], "1 4 0 600"),
        (["entries", "rank"], "1 4 0 99999999999999999999999"),
        (["entries", "hits3"], "4 0 0 0"),
        (["entries", "id"], [1, 2, 3, 4]),
        (["entries", "relation"], "hypernym hypernym hypernym meronym"),
        (["settings"], [1]),
        (["settings"], None),
        (["settings", "depth"], "deep"),
        (["settings", "depth"], 0),
        (["answers"], ["only one"]),
        (["answers"], [1, 2, 3, 4]),
        (["answers"], {}),
    ],
)
def test_results_of_the_wrong_shape_are_refused(result, tmp_path, path, value):
    file = tmp_path / "r.json"
    result.save(file)
    stored = json.loads(file.read_text())
    *folders, last = path
    place = stored
    for folder in folders:
        place = place[folder]
    place[last] = value
    file.write_text(json.dumps(stored))
    with refused_with("damaged") as caught:
        ProbeResult.load(file)
    assert "r.json" in str(caught.value)


def test_files_that_are_no_results(tmp_path):
    path = tmp_path / "r.json"
    for text in ('{"format": "other"}', "[]", "3", "null", '"text"'):
        path.write_text(text)
        with refused_with("wnlampro"):
            ProbeResult.load(path)
    for text in ("{", "", "[" * 100_000):
        path.write_text(text)
        with refused_with("format"):
            ProbeResult.load(path)
