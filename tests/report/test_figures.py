"""Figures of results made by hand."""

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from matplotlib import pyplot

from rarewords import InputError
from rarewords.report.figures import draw_heat_map, draw_methods, heat_map
from tests.report.results import made


def test_heat_map_columns_sum_to_one():
    result = made("a")
    table = heat_map(result)
    assert table.shares.shape == (11, 15)
    sums = table.shares.sum(axis=0)
    assert np.allclose(sums[~np.isnan(sums)], 1)
    assert np.sum(table.cells) == result.chosen("cohyponym").sum()
    # Cell (3, 5) by hand: ranks 5..8 among counts 17..32.
    chosen = result.chosen("cohyponym") & (result.count > 16) & (result.count <= 32)
    inside = chosen & (result.rank > 4) & (result.rank <= 8)
    assert table.shares[3, 5] == pytest.approx(inside.sum() / chosen.sum())
    beyond = chosen & (result.rank == 0)
    assert table.shares[10, 5] == pytest.approx(beyond.sum() / chosen.sum())
    with pytest.raises(InputError, match="no entries"):
        heat_map(result, "corruption")


def test_figures_are_written_the_same_each_time(tmp_path):
    first = draw_heat_map(heat_map(made("a")), tmp_path / "heat")
    assert [path.name for path in first] == ["heat.png", "heat.svg"]
    second = draw_methods([made("a"), made("b", 3)], tmp_path / "lines")
    again = draw_methods([made("a"), made("b", 3)], tmp_path / "again")
    for path in (*first, *second):
        assert 3_000 < path.stat().st_size < 200_000
    assert second[0].read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert ElementTree.parse(second[1]).getroot().tag.endswith("svg")
    assert [path.read_bytes() for path in second] == [path.read_bytes() for path in again]
    with pytest.raises(InputError, match=r"\.png and \.svg"):
        draw_heat_map(heat_map(made("a")), tmp_path / "heat.jpeg")
    with pytest.raises(InputError, match="unknown metric"):
        draw_methods([made("a")], tmp_path / "x", metric="f1")


def test_a_figure_that_fails_is_not_kept_in_memory(tmp_path):
    with pytest.raises(InputError, match="no entries of the relation corruption"):
        draw_methods([made("a")], tmp_path / "x", relation="corruption")
    assert not pyplot.get_fignums()


def test_a_relation_may_be_named_as_in_the_paper(tmp_path):
    (short,) = draw_heat_map(heat_map(made("a"), "coh+"), tmp_path / "short.svg")
    (full,) = draw_heat_map(heat_map(made("a"), "cohyponym"), tmp_path / "full.svg")
    assert short.read_bytes() == full.read_bytes()
