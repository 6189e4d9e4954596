"""The shape of the house: imports go one way, no file is too long to read, and lower bounds are tested."""

import ast
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version

import rarewords

HOME = Path(rarewords.__file__).parent
_ROOMS = """
    errors english settings files progress vectors tokens model_folder models engine lm stages
    corpus ota mimic rules card injection forget probe report teaching
    app cli
"""
ORDER = _ROOMS.split()
_LONGEST_FILE = 350


def _room(path):
    """The package or module of the house that a file belongs to."""
    return path.relative_to(HOME).parts[0].removesuffix(".py")


def _imports(path):
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("rarewords."):
            yield node.module.split(".")[1]
        elif isinstance(node, ast.ImportFrom) and node.module == "rarewords":
            yield from (name.name for name in node.names if name.name in ORDER)
        elif isinstance(node, ast.Import):
            yield from (name.name.split(".")[1] for name in node.names if name.name.startswith("rarewords."))


def test_every_file_has_its_place_in_the_order():
    rooms = {_room(path) for path in HOME.rglob("*.py")} - {"__init__", "__main__"}
    assert rooms == set(ORDER)


def test_imports_go_one_way():
    wrong = [
        f"{path.relative_to(HOME)} imports rarewords.{room}"
        for path in HOME.rglob("*.py")
        if _room(path) not in ("__init__", "__main__")
        for room in _imports(path)
        if ORDER.index(room) > ORDER.index(_room(path))
    ]
    assert not wrong


def test_no_file_is_too_long_to_read():
    lengths = {
        path.relative_to(HOME): len(path.read_text("utf-8").splitlines()) for path in HOME.rglob("*.py")
    }
    assert not {path: lines for path, lines in lengths.items() if lines > _LONGEST_FILE}


def test_the_lowest_versions_are_those_of_the_bounds():
    root = HOME.parents[1]
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    declared = sum(project["optional-dependencies"].values(), project["dependencies"])
    bounds = {
        one.name: Version(bound.version)
        for one in map(Requirement, declared)
        for bound in one.specifier
        if bound.operator == ">=" and one.name not in ("torch", "mypy", "ruff")
    }
    pinned = (root / "constraints-lowest.txt").read_text("utf-8").splitlines()[1:]
    assert bounds == {name: Version(version) for name, version in (line.split("==") for line in pinned)}
