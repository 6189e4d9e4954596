"""``docs/reference/api.md``: the public names with their signatures and docstrings.

Signatures are taken from the source, not from the running objects, so that they read the same under every
version of Python.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from pathlib import Path
from typing import Any

_INTRODUCTION = """# Python

Made from the source by `make docs`; do not edit. `import rarewords` takes no time: what needs torch is loaded
when it is first used. Every mistake in what you give is an [`InputError`](#inputerror) that says what to do.
"""
# Not among the public names of the package, but used in the guides.
_FURTHER = (
    "rarewords.corpus.build.build",
    "rarewords.corpus.settings.CorpusSettings",
    "rarewords.mimic.learner_settings.LearnerSettings",
    "rarewords.mimic.mimicking.Inferred",
    "rarewords.probe.dataset.Dataset",
    "rarewords.probe.evaluate.EvalSettings",
    "rarewords.probe.evaluate.evaluate",
    "rarewords.reproduction.run.reproduce",
    "rarewords.slash.SlashRewriter",
    "rarewords.slash.slash_text",
    "rarewords.teaching.learning.Learned",
    "rarewords.vectors.open_vectors",
)


def api_page() -> str:
    """The page in Markdown."""
    import rarewords

    public = [(f"rarewords.{name}", getattr(rarewords, name)) for name in rarewords.__all__]
    public = [(name, value) for name, value in public if callable(value)]
    further = [(name, _named(name)) for name in _FURTHER]
    groups = [("## The package", public), ("## Used in the guides", further)]
    parts = [_INTRODUCTION]
    for title, members in groups:
        rows = [
            f"| [`{_short(name)}`](#{_short(name).lower()}) | {_summary(value)} |" for name, value in members
        ]
        parts += [title, "\n".join(["| name | |", "|---|---|", *rows])]
        parts += [_section(name, value) for name, value in members]
    return "\n\n".join(parts).rstrip() + "\n"


def _named(path: str) -> Any:
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def _short(path: str) -> str:
    return path.rpartition(".")[2]


def _summary(value: Any) -> str:
    return _markdown(inspect.cleandoc(value.__doc__ or "").split("\n\n")[0]).replace("|", "\\|")


def _section(path: str, value: Any) -> str:
    node = _source(value)
    title = f"### {_short(path)}\n\n`from {path.rpartition('.')[0]} import {_short(path)}`"
    if isinstance(node, ast.ClassDef):
        return "\n\n".join([title, *_class(node)])
    assert isinstance(node, ast.FunctionDef)
    return "\n\n".join([title, _function(node)])


def _source(value: Any) -> ast.stmt:
    file = inspect.getsourcefile(value)
    assert file is not None
    for node in ast.parse(Path(file).read_text("utf-8")).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == value.__name__:
            return node
    raise LookupError(f"{value.__name__} is not in {file}")


def _class(node: ast.ClassDef) -> list[str]:
    parts = [_code(_constructor(node))] if _constructor(node) else []
    parts.append(_markdown(ast.get_docstring(node) or ""))
    members = [one for one in node.body if isinstance(one, ast.FunctionDef) and not one.name.startswith("_")]
    properties = [one for one in members if _is_property(one)]
    if properties:
        rows = [f"| `{one.name}` | `{_returned(one)}` | {_in_a_cell(_doc(one))} |" for one in properties]
        parts.append("\n".join(["| property | | |", "|---|---|---|", *rows]))
    for member in members:
        if member not in properties:
            called = f"{node.name}.{member.name}"
            parts.append(f"#### {called}\n\n{_function(member, called)}")
    return [part for part in parts if part]


def _is_property(node: ast.FunctionDef) -> bool:
    return bool({ast.unparse(mark) for mark in node.decorator_list} & {"property", "cached_property"})


def _returned(node: ast.FunctionDef) -> str:
    return _in_a_cell(ast.unparse(node.returns)) if node.returns else "Any"


def _in_a_cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _constructor(node: ast.ClassDef) -> str:
    """What is written to make one: the arguments of ``__init__``, or the fields of a dataclass."""
    for member in node.body:
        if isinstance(member, ast.FunctionDef) and member.name == "__init__":
            return _signature(member, node.name, returns=False)
    marks = [ast.unparse(mark) for mark in node.decorator_list]
    if not any("dataclass" in mark for mark in marks):
        return ""
    named = ["*"] if any("kw_only=True" in mark for mark in marks) else []
    fields = [ast.unparse(member) for member in node.body if isinstance(member, ast.AnnAssign)]
    return _call(node.name, [*named, *(_default_shown(field) for field in fields)])


def _function(node: ast.FunctionDef, called: str = "") -> str:
    return f"{_code(_signature(node, called or node.name))}\n\n{_doc(node)}".rstrip()


def _signature(node: ast.FunctionDef, called: str, *, returns: bool = True) -> str:
    arguments = node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(arguments.defaults))
    pairs = list(zip(positional, [*defaults, *arguments.defaults], strict=True))
    if pairs and pairs[0][0].arg in ("self", "cls"):
        pairs = pairs[1:]
    shown = [_argument(one, default) for one, default in pairs]
    if arguments.vararg:
        shown.append(f"*{_argument(arguments.vararg, None)}")
    elif arguments.kwonlyargs:
        shown.append("*")
    shown += [
        _argument(one, default)
        for one, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    ]
    if arguments.kwarg:
        shown.append(f"**{_argument(arguments.kwarg, None)}")
    result = f" -> {ast.unparse(node.returns)}" if returns and node.returns else ""
    return _call(called, shown) + result


def _argument(one: ast.arg, default: ast.expr | None) -> str:
    text = one.arg + (f": {ast.unparse(one.annotation)}" if one.annotation else "")
    if default is None:
        return text
    return f"{text} = {ast.unparse(default)}" if one.annotation else f"{text}={ast.unparse(default)}"


def _call(name: str, arguments: list[str]) -> str:
    line = f"{name}({', '.join(arguments)})"
    if len(line) <= 100:
        return line
    return f"{name}(\n" + "".join(f"    {one},\n" for one in arguments) + ")"


def _default_shown(field: str) -> str:
    """``field(default=x, …)`` as plain ``x``."""
    return re.sub(r"= field\(default=([^,)]+).*", r"= \1", field)


def _code(text: str) -> str:
    return f"```python\n{text}\n```"


def _doc(node: ast.FunctionDef) -> str:
    return _markdown(ast.get_docstring(node) or "")


def _markdown(text: str) -> str:
    """Docstrings as Markdown: parameters as a list, names as code, examples as blocks."""
    text = re.sub(r":\w+:`~?(?:[\w.]*\.)?(\w+)`", r"`\1`", text)
    text = re.sub(r"``([^`]+)``", r"`\1`", text)
    lines: list[str] = []
    for line in text.splitlines():
        found = re.match(r":(param|return)s? ?(\w*):\s*(.*)", line)
        if found:
            if lines and lines[-1] and not lines[-1].startswith(("- ", "  ")):
                lines.append("")
            name = f"`{found.group(2)}`" if found.group(2) else "returns"
            lines.append(f"- {name}: {found.group(3)}")
        elif line.startswith("    ") and lines and lines[-1].startswith(("- ", "  ")):
            lines.append("  " + line.strip())
        else:
            lines.append(line)
    text = "\n".join(lines).strip()
    text = re.sub(r"::\n\n((?:    .*\n?)+)", _block, text)
    return re.sub(r"(?:^>>> .*\n?(?:^(?!>>> ).+\n?)*)+", _example, text, flags=re.M)


def _block(found: re.Match[str]) -> str:
    return ":\n\n```text\n" + inspect.cleandoc(found.group(1)) + "\n```\n"


def _example(found: re.Match[str]) -> str:
    lines = re.sub(r"\s*# doctest:.*", "", found.group(0)).rstrip()
    return f"```python\n{lines}\n```\n"
