"""``docs/reference/api.md``: the public names with their signatures and docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import is_dataclass
from functools import cached_property
from importlib import import_module
from typing import Any

_INTRODUCTION = """# Python

Generated from the source by `make docs`; do not edit. `import rarewords` is quick: torch is loaded when a
name that needs it is first used. Every mistake in the input raises [`InputError`](#inputerror), whose message
says what to do."""
_FURTHER = {
    "Settings": (
        "rarewords.corpus.settings.CorpusSettings",
        "rarewords.mimic.settings.LearnerSettings",
        "rarewords.mimic.settings.MimicSettings",
        "rarewords.ota.settings.OtaSettings",
        "rarewords.probe.evaluate.EvalSettings",
        "rarewords.teaching.settings.TeachSettings",
    ),
    "Results": (
        "rarewords.injection.Injection",
        "rarewords.mimic.evidence.Inferred",
        "rarewords.mimic.evidence.InferredWords",
        "rarewords.ota.approximate.Approximation",
        "rarewords.probe.result.ProbeResult",
        "rarewords.teaching.outcome.Learned",
        "rarewords.teaching.outcome.Taught",
        "rarewords.teaching.scan.Scan",
    ),
    "Used in the guides": (
        "rarewords.engine.engine_for",
        "rarewords.mimic.likeness.likeness",
        "experiments.paper.run.reproduce",
        "rarewords.probe.dataset.Dataset",
        "rarewords.forget.forget",
        "rarewords.forget.taught_words",
        "rarewords.vectors.open_vectors",
    ),
}


def api_page() -> str:
    """The page in Markdown."""
    import rarewords

    public = [f"rarewords.{name}" for name in rarewords.__all__ if name != "__version__"]
    parts = [_INTRODUCTION]
    for title, paths in {"Public names": public, **_FURTHER}.items():
        named = [path.rsplit(".", 1) for path in paths]
        members = [(module, name, getattr(import_module(module), name)) for module, name in named]
        rows = [[f"[`{name}`](#{name.lower()})", _summary(value)] for _, name, value in members]
        parts += [f"## {title}", _table("name", rows)]
        parts += [_section(module, name, value) for module, name, value in members]
    return "\n\n".join(parts).rstrip() + "\n"


def _section(module: str, name: str, value: Any) -> str:
    parts = [f"### {name}", f"`from {module} import {name}`"]
    if not inspect.isclass(value):
        return "\n\n".join([*parts, _code(_signature(name, value)), _doc(value)])
    if is_dataclass(value) or "__init__" in vars(value):
        parts.append(_code(_signature(name, value)))
    parts.append(_doc(value))
    members = {called: member for called, member in vars(value).items() if not called.startswith("_")}
    properties = [
        [f"`{called}`", f"`{_annotation(getter.__annotations__.get('return', ''))}`", _summary(getter)]
        for called, member in members.items()
        if (getter := getattr(member, "fget", None) or getattr(member, "func", None))
    ]
    if properties:
        parts.append(_table("property", properties))
    for called, member in members.items():
        method = getattr(member, "__func__", member)  # of a classmethod or staticmethod
        if inspect.isfunction(method) and not isinstance(member, cached_property):
            full = f"{name}.{called}"
            parts += [f"#### {full}", _code(_signature(full, method)), _doc(method)]
    return "\n\n".join(part for part in parts if part)


def _signature(called: str, value: Callable[..., Any]) -> str:
    """A call with all its arguments, one per line if they do not fit in one."""
    found = inspect.signature(value)
    shown, named_only = [], False
    for place, one in enumerate(found.parameters.values()):
        if place == 0 and one.name in ("self", "cls"):
            continue
        if one.kind is one.KEYWORD_ONLY and not named_only:
            shown.append("*")
        named_only = named_only or one.kind in (one.KEYWORD_ONLY, one.VAR_POSITIONAL)
        stars = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind, "")
        shown.append(f"{stars}{one.name}: {_annotation(one.annotation)}{_default(one)}")
    constructs = inspect.isclass(value) or found.return_annotation is found.empty
    returned = "" if constructs else f" -> {_annotation(found.return_annotation)}"
    line = f"{called}({', '.join(shown)}){returned}"
    if len(line) <= 100 or not shown:
        return line
    return f"{called}(\n" + "".join(f"    {one},\n" for one in shown) + f"){returned}"


def _default(one: inspect.Parameter) -> str:
    if one.default is one.empty:
        return ""
    shown = repr(one.default)
    return f" = {'…' if shown.startswith('<') else shown}"  # a factory of dataclasses has no short form


def _annotation(value: Any) -> str:
    if isinstance(value, str):
        return value
    shown = re.sub(r"(?:\w+\.)+(?=\w)", "", inspect.formatannotation(value)).replace("'", "")
    # NumPy spells out its alias, each version in its own way.
    return re.sub(r"ndarray\[(?:Any|tuple\[Any, \.\.\.\]), dtype\[(\w+)\]\]", r"NDArray[\1]", shown)


def _table(first: str, rows: list[list[str]]) -> str:
    head = [first, *[""] * (len(rows[0]) - 1)]
    cells = [[" ".join(cell.split()).replace("|", "\\|") for cell in row] for row in rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *cells])


def _code(text: str) -> str:
    return f"```python\n{text}\n```"


def _summary(value: Any) -> str:
    return _doc(value).split("\n\n")[0]


def _doc(value: Any) -> str:
    """A docstring as Markdown: parameters as a list, names as code, examples as blocks."""
    text = inspect.cleandoc(value.__doc__ or "")
    text = re.sub(r":\w+:`~?(?:[\w.]*\.)?(\w+)`", r"`\1`", text)
    text = re.sub(r"``([^`]+)``", r"`\1`", text)
    lines: list[str] = []
    for line in text.splitlines():
        in_list = bool(lines) and lines[-1].startswith(("- ", "  "))
        if found := re.match(r":(?:param|return)s? ?(\w*):\s*(.*)", line):
            if lines and lines[-1] and not in_list:
                lines.append("")
            name = f"`{found.group(1)}`" if found.group(1) else "returns"
            lines.append(f"- {name}: {found.group(2)}")
        elif line.startswith("    ") and in_list:
            lines.append("  " + line.strip())
        else:
            lines.append(line)
    text = re.sub(r"::\n\n((?:    .*\n?)+)", _block, "\n".join(lines).strip())
    return re.sub(r"(?:^>>> .*\n?(?:^(?!>>> ).+\n?)*)+", _example, text, flags=re.M).strip()


def _block(found: re.Match[str]) -> str:
    return ":\n\n```text\n" + inspect.cleandoc(found.group(1)) + "\n```\n"


def _example(found: re.Match[str]) -> str:
    return _code(re.sub(r"\s*# doctest:.*", "", found.group(0)).rstrip()) + "\n"
