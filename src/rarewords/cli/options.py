"""Options that several commands share, each with one meaning and one help text."""

import json
import tomllib
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from rarewords.engine import Engine, engine_for
from rarewords.errors import InputError
from rarewords.files import checked_settings, read_text

T = TypeVar("T")

# An option that few need; --help shows these in a panel of their own.
advanced = partial(typer.Option, rich_help_panel="Advanced")

Texts = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="TEXT",
        help="Files (txt, jsonl, csv, tsv, parquet; plain, gz, bz2, xz, zst), folders, patterns, `-` for "
        "standard input.",
        show_default=False,
    ),
]
TextOption = Annotated[
    list[str] | None, typer.Option("--text", "-t", help="Text, like the arguments; may be repeated.")
]
Field = Annotated[str, advanced(help="The field that holds the text in jsonl, csv, tsv and parquet.")]
Rule = Annotated[
    str, advanced(metavar="RULE", help="What counts as a word: `english` (letters a-z, `.`, `-`) or `any`.")
]
Workers = Annotated[int | None, advanced(min=1, help="Number of processes; by default one per core.")]
OneWorker = Annotated[int, advanced("--workers", min=1, help="Number of processes.")]
EngineName = Annotated[
    str, advanced("--engine", metavar="ENGINE", help="`local` processes or `ray`, at RAY_ADDRESS.")
]
Corpus = Annotated[Path, typer.Option("--corpus", help="A store made by `rarewords corpus build`.")]
Words = Annotated[Path, typer.Option("--words", "-w", help="A file with one word per line.")]
NewModel = Annotated[
    Path, typer.Option("--out", "-o", help="The new model's folder; must not exist or be empty.")
]
Contexts = Annotated[int | None, typer.Option(min=1, help="Use at most N contexts per word.", metavar="N")]
Learner = Annotated[
    str | None,
    typer.Option(
        "--learner",
        metavar="FOLDER",
        help="A folder made by `rarewords mimic fit` or `mimic train`, or `am` for the attentive mimicking "
        "model that ships. By default the best learner for the model.",
    ),
]
SettingsFile = Annotated[
    Path | None, advanced("--settings", metavar="FILE", help="A TOML file with further settings.")
]
Seed = Annotated[int, advanced(min=0, help="Seed of all random choices.")]
Model = Annotated[
    str,
    typer.Option("--model", "-m", help="A model: `default` (the bundled one), a local folder or a hub name."),
]
Device = Annotated[str, advanced(help="Device: auto, cuda, cuda:N, mps or cpu.")]
AsJson = Annotated[bool, advanced("--json", help="Print the result as JSON on stdout.")]


def all_texts(texts: list[str] | None, more: list[str] | None) -> list[str]:
    """The texts given as arguments and with ``--text``, together."""
    return [*(texts or []), *(more or [])]


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


def print_json(value: Any) -> None:
    """Print machine-readable output: JSON on stdout, and nothing else there."""
    typer.echo(json.dumps(value, indent=1, ensure_ascii=False))
