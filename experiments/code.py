"""Of which code a results file is: the files of the package that the process which wrote it had imported."""

import ast
import hashlib
import json
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import rarewords

_HOME = Path(rarewords.__file__).parent


def used_modules() -> list[str]:
    """The files of the package that this process has imported so far: ``["__init__.py", "lm.py", ...]``."""
    files = [Path(found) for one in list(sys.modules.values()) if (found := getattr(one, "__file__", None))]
    return sorted(file.relative_to(_HOME).as_posix() for file in files if file.is_relative_to(_HOME))


def modules_behind(files: Sequence[Path]) -> list[str]:
    """The files of the package behind results files, and those that this process has imported.

    The results files must be of this code: what is made from them says that it is.
    """
    for file in files:
        if not made_by_this_code(file):
            raise SystemExit(f"{file} is of other code; make it again")
    named = [read_about(file)["modules"].split() for file in files]
    return sorted({*used_modules(), *(module for own in named for module in own)})


def code_of(modules: Sequence[str]) -> dict[str, str]:
    """What a results file says of the code behind it: these files of the package, and their digest."""
    return {"version": rarewords.__version__, "code": code_digest(modules), "modules": " ".join(modules)}


def code_digest(modules: Sequence[str]) -> str:
    """A digest of files of the package without comments and docstrings, which no result depends on."""
    found = hashlib.sha256()
    for module in sorted(modules):
        found.update(f"{module}\n{_statements_of(_HOME / module)}\0".encode())
    return found.hexdigest()[:16]


def made_by_this_code(path: Path) -> bool:
    """Whether the files of the package that a results file names are still what they were."""
    about = read_about(path)
    return "modules" in about and about["code"] == code_digest(about["modules"].split())


def read_about(path: Path) -> dict[str, Any]:
    """What a results file says of itself; a file of lines says it in the first one. Empty if there is none."""
    if not path.is_file():
        return {}
    text = path.read_text("utf-8")
    about: dict[str, Any] = json.loads(text.partition("\n")[0] if path.suffix == ".jsonl" else text)
    return about


@cache
def _statements_of(path: Path) -> str:
    return "\n".join(statements(path.read_text("utf-8"))) if path.is_file() else ""


def statements(source: str) -> list[str]:
    """The lines of a source file that do something."""
    documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    described: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, documented) and ast.get_docstring(node) is not None:
            described |= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    lines = enumerate(source.splitlines(), 1)
    return [line for number, line in lines if number not in described and line.strip() and line.strip()[0] != "#"]
