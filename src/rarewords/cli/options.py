"""What the commands share: the table of their options (``options.toml``), settings from files, output."""

import json
import tomllib
from collections.abc import Collection
from contextlib import AbstractContextManager, nullcontext
from importlib.resources import files
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args, get_type_hints

import typer

from rarewords.engine import Engine, engine_for
from rarewords.errors import InputError
from rarewords.files import read_text
from rarewords.settings import LARGEST_NUMBER, checked_settings
from rarewords.vectors import WordVectors

T = TypeVar("T")
_TABLE = tomllib.loads((files("rarewords") / "cli" / "options.toml").read_text("utf-8"))


def describe(group: typer.Typer, path: tuple[str, ...] = ()) -> None:
    """Give every parameter of every command its flags, bounds and help from the table."""
    for inner in group.registered_groups:
        describe(inner.typer_instance or group, (*path, str(inner.name)))
    for command in group.registered_commands:
        assert command.callback is not None
        own = _TABLE.get(" ".join([*path, command.name or command.callback.__name__]), {})
        hints = get_type_hints(command.callback)
        for name, kind in hints.items():
            if name != "return":
                hints[name] = _described(name, kind, **(own.get(name) or _TABLE["all"][name]))
        command.callback.__annotations__ = hints


def _described(
    name: str, kind: Any, *, flags: str = "", argument: bool = False, advanced: bool = False, **about: Any
) -> Any:
    kinds = (kind, *get_args(kind))
    if argument:
        return Annotated[kind, typer.Argument(**about)]
    if int in kinds:
        about = {"min": 0, "max": LARGEST_NUMBER, **about}
    if bool in kinds and not flags:
        flags = "--" + name.replace("_", "-")  # without --no-NAME
    panel = "Advanced" if advanced else None
    return Annotated[kind, typer.Option(*flags.split(), rich_help_panel=panel, **about)]


def read_settings(path: Path | None, cls: type[T], **changes: Any) -> T:
    """A settings dataclass from a TOML file and from options; an option that is None was not given."""
    return cls(**settings_values(path, cls, **changes))


def settings_values(path: Path | None, cls: type, **changes: Any) -> dict[str, Any]:
    """The fields that a TOML file and options set, for a class with presets; options win."""
    given = {name: value for name, value in changes.items() if value is not None}
    if path is None:
        return given
    try:
        found = tomllib.loads(read_text(path))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"the settings file {path} cannot be read: {error}; give a TOML file") from None
    return {**checked_settings(cls, found, path), **given}


def engine_or_none(name: str, workers: int) -> AbstractContextManager[Engine | None]:
    """The engine that ``--engine`` and ``--workers`` ask for; None for one local process."""
    return nullcontext() if name == "local" and workers == 1 else engine_for(name, workers)


def save_vectors(out: Path, vectors: WordVectors, refused: dict[str, str]) -> None:
    """Write vectors and name the words that have none; if no word has one, that is an error."""
    if not len(vectors):
        word, reason = next(iter(refused.items()))
        raise InputError(f"none of the {len(refused)} words could be given a vector; {word!r}: {reason}")
    for word, reason in refused.items():
        typer.echo(f"{word}: {reason}", err=True)
    vectors.save(out)


def show(as_json: bool, value: Any, *lines: str) -> None:
    """Print a result: with ``--json`` the value, and nothing else on stdout; otherwise the lines."""
    for line in [json.dumps(value, indent=1, ensure_ascii=False)] if as_json else lines:
        typer.echo(line)


def first_few(names: Collection[str], most: int = 10) -> str:
    """Names for one line: ``a, b, c and 17 more``."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(islice(names, most)) + more
