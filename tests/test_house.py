"""The shape of the library: imports go one way, no file is too long to read, and lower bounds are tested."""

import ast
import tomllib
from importlib import import_module
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

import rarewords

HOME = Path(rarewords.__file__).parent
# Each package and module may import those before it.
_ORDER = """
    errors _internal tokens embeddings queries model_folder models arithmetic network
    corpus injection lm ota learner mimic wnlampro teaching cli
"""
ORDER = _ORDER.split()
# What loads other modules when a name of it is first used.
_LAZY = {"rarewords"}
# Imports inside functions that would close a cycle: a comment at each says why.
_LATE = {("rarewords.corpus.corpus", "rarewords.corpus.build")}
_LONGEST_FILE = 350


def _name(path):
    return ".".join(["rarewords", *path.relative_to(HOME).with_suffix("").parts]).removesuffix(".__init__")


MODULES = {_name(path): path for path in sorted(HOME.rglob("*.py"))}


def _home(module, name):
    """The module that a name of a module comes from: another module, or where a lazy package has it."""
    if f"{module}.{name}" in MODULES:
        return f"{module}.{name}"
    if module not in _LAZY:
        return module
    home = import_module(module)._HOMES.get(name)
    return f"{module}.{home}" if home else None


def _imports(path):
    """The modules of the library that a file imports, also inside functions, each with its line."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "") in MODULES:
            yield from ((_home(node.module, one.name), node) for one in node.names)
        elif isinstance(node, ast.Import):
            yield from ((one.name, node) for one in node.names if one.name in MODULES.keys() - _LAZY)
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) in _LAZY:
            yield _home(ast.unparse(node.value), node.attr), node


IMPORTS = {
    name: {found: node for found, node in _imports(path) if found not in (None, name)}
    for name, path in MODULES.items()
    if name not in (*_LAZY, "rarewords.__main__")
}


def test_every_package_and_module_has_its_place_in_the_order():
    assert sorted({name.split(".")[1] for name in IMPORTS}) == sorted(ORDER)


def test_packages_import_in_one_direction():
    wrong = [
        f"{name} imports {other}"
        for name, others in IMPORTS.items()
        for other in others
        if ORDER.index(other.split(".")[1]) > ORDER.index(name.split(".")[1])
    ]
    assert not wrong


def test_modules_import_in_one_direction():
    left = {name: {one for one in found if (name, one) not in _LATE} for name, found in IMPORTS.items()}
    # What imports none of the others, or is imported by none, is in no cycle.
    while free := {name for name, others in left.items() if not others & left.keys()} or (
        left.keys() - set().union(*left.values())
    ):
        left = {name: others for name, others in left.items() if name not in free}
    assert not left, f"a cycle of imports runs through {sorted(left)}"


@pytest.mark.parametrize(("module", "imported"), sorted(_LATE))
def test_an_import_that_would_close_a_cycle_is_inside_a_function_and_says_why(module, imported):
    node = IMPORTS[module][imported]
    line = MODULES[module].read_text("utf-8").splitlines()[node.lineno - 1]
    assert node.col_offset
    assert "  # " in line


def test_every_name_that_the_library_takes_from_itself_exists():
    wrong = []
    for path in MODULES.values():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = []
            if isinstance(node, ast.ImportFrom) and node.module in _LAZY:
                names = [(node.module, one.name) for one in node.names]
            elif isinstance(node, ast.Attribute) and ast.unparse(node.value) in _LAZY:
                names = [(ast.unparse(node.value), node.attr)]
            wrong += [f"{path}: {module}.{name}" for module, name in names if not _exists(module, name)]
    assert not wrong


def _exists(module, name):
    return f"{module}.{name}" in MODULES or hasattr(import_module(module), name)


@pytest.mark.parametrize("package", sorted(_LAZY))
def test_every_public_name_is_there(package):
    module = import_module(package)
    assert all(getattr(module, name) is not None for name in module.__all__)


def test_no_file_is_too_long_to_read():
    lengths = {name: len(path.read_text("utf-8").splitlines()) for name, path in MODULES.items()}
    assert not {name: lines for name, lines in lengths.items() if lines > _LONGEST_FILE}


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
