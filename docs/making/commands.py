"""``docs/reference/commands.md``: every command and option, from the program's own definition.

The parameters are read, not the printed help, so the page does not depend on the width of a terminal.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_type_hints

import typer

_KINDS = {Path: "PATH", int: "NUMBER", float: "NUMBER", str: "TEXT"}
_INTRODUCTION = """# Commands

Generated from the program by `make docs`; do not edit. Every command prints the same text with `--help`.

Progress goes to stderr, results go to stdout. A mistake in the input gives one line on stderr and exit code
2; an interruption gives exit code 130. `rarewords --quiet COMMAND` shows no progress, and
`rarewords --version` prints the version.
"""


def command_tree() -> Any:
    """The whole program as a tree of commands."""
    from rarewords.cli.app import app

    return typer.main.get_command(app)


def walk(command: Any, path: tuple[str, ...] = ("rarewords",)) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command with its path, groups before their members."""
    yield path, command
    for name, member in getattr(command, "commands", {}).items():
        yield from walk(member, (*path, name))


def commands_page() -> str:
    """The page in Markdown."""
    found = [(path, command) for path, command in walk(command_tree()) if len(path) > 1]
    rows = [
        f"| [`{' '.join(path)}`](#{'-'.join(path)}) | {_first_line(command)} |"
        for path, command in found
        if not _only_a_group(command)
    ]
    sections = [_section(path, command) for path, command in found if not _only_a_group(command)]
    return "\n".join([_INTRODUCTION, "| command | |\n|---|---|", *rows, "", *sections]).rstrip() + "\n"


def _only_a_group(command: Any) -> bool:
    return bool(getattr(command, "commands", None)) and not command.invoke_without_command


def _help(command: Any) -> str:
    return inspect.cleandoc(command.help or "").replace("\f", "")


def _first_line(command: Any) -> str:
    return " ".join(_help(command).split("\n\n")[0].split())


def _section(path: tuple[str, ...], command: Any) -> str:
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    options = [one for one in command.params if one.param_type_name == "option" and "--help" not in one.opts]
    kinds = _kinds(command)
    needed = [f"{one.opts[0]} {_value(one, kinds)}" for one in options if one.required]
    # Required options come first; the table has the rest.
    shown = " ".join([*path, *(_argument(one) for one in arguments), *needed, "[OPTIONS]"])
    parts = [f"## {' '.join(path)}", f"```text\n{shown}\n```", _help(command)]
    if arguments:
        rows = [f"| `{_argument(one)}` | {_cell(one.help)} |" for one in arguments]
        parts.append("\n".join(["| argument | |", "|---|---|", *rows]))
    if options:
        rows = [f"| {_names(one, kinds)} | {_cell(one.help)} | {_default(one)} |" for one in options]
        parts.append("\n".join(["| option | | default |", "|---|---|---|", *rows]))
    return "\n\n".join(parts) + "\n"


def _argument(one: Any) -> str:
    name = str(one.metavar or one.name.upper()).strip("[].")
    name = name if one.nargs == 1 else f"{name}..."
    return name if one.required else f"[{name}]"


def _value(one: Any, kinds: dict[str, str]) -> str:
    return str(one.metavar or kinds[one.name])


def _kinds(command: Any) -> dict[str, str]:
    """The kind of value each parameter takes, from the annotations of the command's function."""
    hints = get_type_hints(inspect.unwrap(command.callback))
    result = {}
    for name, hint in hints.items():
        kinds = [*get_args(hint), hint]
        while any(get_args(kind) for kind in kinds):
            kinds = [part for kind in kinds for part in get_args(kind) or (kind,)]
        known = [word for kind, word in _KINDS.items() if kind in kinds]
        result[name] = known[0] if known else "VALUE"
    return result


def _names(one: Any, kinds: dict[str, str]) -> str:
    if one.is_flag:
        return ", ".join(f"`{name}`" for name in [*one.opts, *one.secondary_opts])
    value = _value(one, kinds).replace("|", "\\|")  # a bare one would end the cell
    return ", ".join(f"`{name}`" for name in one.opts) + f" `{value}`"


def _default(one: Any) -> str:
    if one.required:
        return "required"
    value = one.default
    if value is None or value is False or value == () or value == [] or not _plain(value):
        return ""
    if one.is_flag and value is True:
        return f"`{one.opts[0]}`"
    return f"`{value}`"


def _plain(value: Any) -> bool:
    return isinstance(value, str | int | float) or hasattr(value, "__fspath__")


def _cell(text: str | None) -> str:
    return " ".join((text or "").split()).replace("|", "\\|")
