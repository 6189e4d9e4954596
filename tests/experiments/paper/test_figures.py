"""Figures of results made by hand."""

import xml.etree.ElementTree as ElementTree

import numpy as np
from matplotlib import pyplot

from experiments.paper.figures import draw_heat_map, draw_methods, figure_files, heat_map
from tests.errors import refused_with
from tests.wnlampro.results import made


def test_heat_map_counts_entries_by_rank_and_count():
    result = made("a", 200)
    cells = np.array(heat_map(result).cells)
    assert cells.shape == (11, 15)
    assert cells.sum() == result.chosen("cohyponym").sum()
    # Cell (9, 5) by hand: ranks 257..512 among counts 17..32.
    chosen = result.chosen("cohyponym") & (result.count > 16) & (result.count <= 32)
    inside = chosen & (result.rank > 256) & (result.rank <= 512)
    assert cells[9, 5] == inside.sum() > 0
    beyond = result.chosen("cohyponym") & (result.count == 1) & (result.rank == 0)
    assert cells[10, 0] == beyond.sum() > 0
    with refused_with("wnlampro"):
        heat_map(result, "corruption")


def test_figures_are_written_the_same_each_time(tmp_path):
    draw_heat_map(heat_map(made("a")), tmp_path / "heat")
    for name in ("lines", "again"):
        draw_methods([made("a"), made("b", 3)], tmp_path / name)
    paths = [path for name in ("heat", "lines", "again") for path in figure_files(tmp_path / name)]
    assert [path.name for path in paths[:2]] == ["heat.png", "heat.svg"]
    for path in paths:
        assert 3_000 < path.stat().st_size < 200_000
    assert paths[2].read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert ElementTree.parse(paths[3]).getroot().tag.endswith("svg")
    assert [path.read_bytes() for path in paths[2:4]] == [path.read_bytes() for path in paths[4:]]
    with refused_with("format"):
        draw_heat_map(heat_map(made("a")), tmp_path / "heat.jpeg")
    with refused_with("settings"):
        draw_methods([made("a")], tmp_path / "x", metric="f1")


def test_a_figure_that_fails_is_not_kept_in_memory(tmp_path):
    with refused_with("wnlampro"):
        draw_methods([made("a")], tmp_path / "x", relation="corruption")
    assert not pyplot.get_fignums()
