"""The table of all ways is that of the results files."""

import json

from experiments.mimicking.report import RESULTS
from experiments.mimicking.table import rows, table


def test_the_table_in_the_repository_is_that_of_the_results_files():
    assert (RESULTS / "table.md").read_text("utf-8").rstrip("\n") == table().rstrip("\n")


def test_a_row_has_the_figures_of_the_file_that_it_names():
    found = [one for one in rows() if one.file == "mimicking/results/table-gte-mlm.json"]
    written = json.loads((RESULTS / "table-gte-mlm.json").read_text("utf-8"))["rows"]
    (paper,) = (
        one for one in written if (one["part"], one.get("setting"), one.get("placement")) == ("test", "paper", "append")
    )
    (row,) = (
        one for one in found if (one.way, one.placement, one.entries) == ("AM+context", "append", "6,000 of test")
    )
    assert row.mrr["hypernym", "rare"] == paper["mrr"]["hypernym"]["rare"]
    assert {one.way for one in found} >= {"subwords", "AM", "AM+context", "our learner"}
