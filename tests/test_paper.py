"""docs/research/paper.md names functions and tests that exist, and every item has both."""

import ast
import importlib
import re
from functools import reduce
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "research" / "paper.md").read_text("utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in PAGE.splitlines()
    if line.startswith("| ") and not line.startswith("| the paper |")
]
_NAMED = re.compile(r"`([\w/]+\.py)::([\w.]+)`")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0][:60])
def test_functions_and_tests_of_an_item_exist(row):
    _, code, kept, tests = row
    assert kept.startswith(("to the letter", "rule as printed", "differs: ", "proposed "))
    for cell in (code, tests):
        assert _NAMED.sub("", cell).strip(", ") == ""  # names and nothing else
        assert _NAMED.search(cell)
    for path, name in _NAMED.findall(code):
        home = "" if path.startswith("experiments/") else "rarewords."
        module = importlib.import_module(home + path.removesuffix(".py").replace("/", "."))
        assert reduce(getattr, name.split("."), module) is not None
    for path, name in _NAMED.findall(tests):
        tree = ast.parse((ROOT / "tests" / path).read_text("utf-8"))
        assert name in [node.name for node in tree.body if isinstance(node, ast.FunctionDef)], name


def test_the_table_is_whole():
    assert len(ROWS) >= 50
