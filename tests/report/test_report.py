"""Tables, figures and the page, from results made by hand."""

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from rarewords import InputError
from rarewords.probe.answers import AnsweredQuery
from rarewords.probe.compare import compare
from rarewords.probe.dataset import Dataset
from rarewords.probe.result import ProbeResult
from rarewords.report.dataset_card import examples_table, sizes_table
from rarewords.report.figures import draw_heat_map, draw_methods, heat_map
from rarewords.report.page import examples_page
from rarewords.report.tables import comparison_table, difference_table, figure, result_table, signed


def made(label, shift=0, entries=900):
    random = np.random.default_rng(7)
    count = (2 ** random.uniform(0, 16, entries)).astype(int)
    rank = np.maximum(1, (3000 / (count + 8) + random.integers(0, 9, entries)).astype(int) + shift)
    rank[rank > 512] = 0
    return ProbeResult(
        {"label": label, "dataset": "d", "depth": 512},
        id=[str(i) for i in range(entries)],
        word=["w"] * entries,
        relation=["cohyponym" if i % 3 else "hypernym" for i in range(entries)],
        rank=rank,
        hits3=((rank > 0) & (rank <= 3)).astype(int),
        hits10=((rank > 0) & (rank <= 10)).astype(int),
        count=count,
    )


def test_heat_map_columns_sum_to_one():
    result = made("a")
    table = heat_map(result)
    assert table.shares.shape == (11, 15)
    sums = table.shares.sum(axis=0)
    assert np.allclose(sums[~np.isnan(sums)], 1)
    assert sum(table.entries) == result.chosen("cohyponym").sum()
    # Cell (3, 5) by hand: ranks 5..8 among counts 17..32.
    chosen = result.chosen("cohyponym") & (result.count > 16) & (result.count <= 32)
    inside = chosen & (result.rank > 4) & (result.rank <= 8)
    assert table.shares[3, 5] == pytest.approx(inside.sum() / chosen.sum())
    beyond = chosen & (result.rank == 0)
    assert table.shares[10, 5] == pytest.approx(beyond.sum() / chosen.sum())
    with pytest.raises(InputError, match="no entries"):
        heat_map(result, "corruption")


def test_figures_are_written_the_same_each_time(tmp_path):
    first = draw_heat_map(made("a"), tmp_path / "heat")
    assert [path.name for path in first] == ["heat.png", "heat.svg"]
    second = draw_methods([made("a"), made("b", 3)], tmp_path / "lines")
    again = draw_methods([made("a"), made("b", 3)], tmp_path / "again")
    for path in (*first, *second):
        assert 3_000 < path.stat().st_size < 200_000
    assert second[0].read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert ElementTree.parse(second[1]).getroot().tag.endswith("svg")
    assert [path.read_bytes() for path in second] == [path.read_bytes() for path in again]
    with pytest.raises(InputError, match=r"\.png and \.svg"):
        draw_heat_map(made("a"), tmp_path / "heat.jpeg")
    with pytest.raises(InputError, match="unknown metric"):
        draw_methods([made("a")], tmp_path / "x", metric="f1")


def test_tables():
    results = [made("a"), made("b", 3)]
    table = result_table(results[0])
    cell = results[0].cell("hypernym", "frequent")
    (row,) = [line for line in table.splitlines() if "hypernym" in line and "frequent" in line]
    assert f"{figure(cell.mrr.mean)} ± {figure(cell.mrr.error)}" in row
    comparison = compare(results, samples=100)
    shown = comparison_table(comparison)
    rows = [line for line in shown.splitlines() if line.startswith("| hypernym")]
    assert len(rows) == 2
    assert "**" in rows[0]  # the unshifted ranks are the best
    assert "*" in rows[1].replace("**", "")  # and the others significantly worse
    assert "<0.001" in difference_table(comparison)
    assert len({len(line) for line in shown.splitlines()}) == 1


def test_numbers():
    assert [figure(x) for x in (0.112, 1.0, float("nan"))] == [".112", "1.000", "–"]
    assert [signed(x) for x in (0.05, -0.05, 0.0)] == ["+.050", "−.050", "+.000"]


def test_card_tables_are_of_the_shipped_set():
    dataset = Dataset.load()
    rows = [line.split("|") for line in sizes_table(dataset).splitlines()[2:]]
    assert sum(int(row[3].replace(",", "")) for row in rows) == len(dataset)
    assert "lingonberry" in examples_table(dataset)


def asked(word, pattern, answers):
    return AnsweredQuery("1", word, "hypernym", pattern, False, ["fruit"], answers)


def test_page_shows_the_best_questions_of_both_and_escapes():
    a, b, c = "<W> is a _.", '"<W>" refers to a _.', "<W> is a kind of _."
    first = [
        asked("lime", a, ["tree", "fruit"]),
        asked("lime", b, ["<b>", "x"]),
        asked("lime", c, ["q", "r"]),
    ]
    second = [asked("lime", a, ["y", "z"]), asked("lime", b, ["fruit", "z"]), asked("lime", c, ["q", "r"])]
    page = examples_page(first, second, ("one", "two"), words=["lime"])
    assert '<span class="hit">fruit</span>' in page
    assert "(rank 2)" in page
    assert "(rank 1)" in page
    assert "&lt;b&gt;" in page
    assert "<b>" not in page
    assert "is a kind of" not in page  # best in neither
    assert "http" not in page  # self-contained
    with pytest.raises(InputError, match="not asked"):
        examples_page(first, second, ("one", "two"), words=["kumquat"])
    with pytest.raises(InputError, match="different questions"):
        examples_page(first, second[:1], ("one", "two"), words=["lime"])
