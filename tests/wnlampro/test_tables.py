"""Tables of results made by hand."""

from dataclasses import replace

from rarewords._internal.tables import markdown_table
from rarewords.wnlampro.comparison import compare
from rarewords.wnlampro.dataset import load
from rarewords.wnlampro.tables import (
    answers_table,
    comparison_table,
    difference_table,
    figure,
    result_table,
    signed,
    sizes_table,
)
from tests.errors import refused_with
from tests.wnlampro.results import made


def test_tables():
    results = [made("a"), made("b", 3)]
    table = result_table(results[0])
    mrr = results[0].measure("hypernym", "frequent")
    (row,) = [line for line in table.splitlines() if "hypernym" in line and "frequent" in line]
    assert f"{figure(mrr.mean)} ± {figure(mrr.error)}" in row
    comparison = compare(results)
    shown = comparison_table(comparison)
    rows = [line for line in shown.splitlines() if line.startswith("| hypernym")]
    assert len(rows) == 2
    assert "**" in rows[0]  # the unshifted ranks are the best
    assert "*" in rows[1].replace("**", "")  # and the others significantly worse
    assert "<0.001" in difference_table(comparison)
    assert len({len(line) for line in shown.splitlines()}) == 1


def test_a_bar_inside_a_cell_is_no_end_of_it():
    table = markdown_table(["word", "n"], [["a|b", "1"], ["oboe", "22"]])
    assert table == "| word |   n |\n| ---- | --: |\n| a\\|b |   1 |\n| oboe |  22 |\n"


def test_numbers():
    assert [figure(x) for x in (0.112, 1.0, float("nan"))] == ["0.112", "1.000", "–"]
    assert [signed(x) for x in (0.05, -0.05, 0.0)] == ["+0.050", "−0.050", "+0.000"]


def test_sizes_are_those_of_the_data_set():
    dataset = load()
    rows = [line.split("|") for line in sizes_table(dataset).splitlines()[2:]]
    assert sum(int(row[3].replace(",", "")) for row in rows) == len(dataset)
    (corruptions,) = [row for row in rows if "corruption" in row[1]]
    assert [cell.strip() for cell in corruptions[2:5]] == ["rare", "2,880", "1.0"]


def test_answers_side_by_side():
    words = ["lime", "oboe", *["w"] * 8]
    first = replace(made("a", entries=10), word=words, answers=[f"{word} is a _. tree" for word in words])
    second = replace(first, settings={**first.settings, "label": "b"}, answers=["lime and _. fruit"] * 10)
    shown = answers_table([first, second], {"lime", "kumquat"})
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in shown.splitlines()[2:]]
    rank = str(first.rank[0])
    assert rows == [
        ["lime", "hypernym", "a", "lime is a _. tree", rank],
        ["lime", "hypernym", "b", "lime and _. fruit", rank],
    ]
    with refused_with("nothing-to-teach"):
        answers_table([first, second], {"kumquat"})
    with refused_with("wnlampro"):
        answers_table([first, made("c", entries=10)], {"lime"})
