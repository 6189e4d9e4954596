"""What the commands share: options that mean the same everywhere, settings from files, output."""

import json
import re
import sys
import tomllib
from collections.abc import Collection, Iterable, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.table import Column, Table

from rarewords._internal.files import read_text, require_new_file
from rarewords._internal.schema import checked_settings
from rarewords.embeddings import WordEmbeddings
from rarewords.errors import InputError
from rarewords.tokens import Placement as PlacementName

advanced = partial(typer.Option, rich_help_panel="Advanced")
number = partial(typer.Option, min=1, metavar="N")
new_file = partial(typer.Option, "--out", "-o", callback=require_new_file)
_UNWRAPPED = 10_000  # columns: `grep` and `cut` want a word on one line
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_FORMATS = "txt, md, jsonl, csv, tsv, parquet; plain, gz, bz2, zst"
_TEXTS = f"Files ({_FORMATS}), folders, patterns, a corpus, or `-` for standard input."
PLACEMENT = "`replace` makes each word one token; `append` puts the token after its subwords."
_LEARNER = "A folder made by `mimic fit` or `mimic train`, or `am` for the bundled attentive mimicking model."

Texts = Annotated[list[str] | None, typer.Argument(metavar="TEXT", help=_TEXTS)]
Model = Annotated[str, typer.Option("--model", "-m", help="`default` (the bundled masked LM), a folder or a hub name.")]
Taught = Annotated[Path, typer.Argument(help="A folder made by `rarewords teach` or `inject`.")]
CorpusPath = Annotated[Path, typer.Option(help="A corpus made by `rarewords corpus build`.")]
WordsFile = Annotated[Path, typer.Option("--words", "-w", help="A file with one word per line.")]
OutFolder = Annotated[Path, typer.Option("--out", "-o", help="A new or empty folder.")]
OutFile = Annotated[Path, new_file(help="The file to write.")]
MinCount = Annotated[int | None, number(help="Without a list of words: add those that occur at least N times (4).")]
Placement = Annotated[PlacementName | None, typer.Option(help=PLACEMENT)]
Learner = Annotated[str | None, advanced(metavar="FOLDER", help=_LEARNER)]
Device = Annotated[str, advanced(help="`auto`, `cuda`, `cuda:N`, `mps` or `cpu`.")]
Field = Annotated[str, advanced(help="The field that holds the text in jsonl, csv, tsv and parquet.")]
SettingsFile = Annotated[Path | None, advanced("--settings", metavar="FILE", help="A TOML file with settings.")]
Set = Annotated[list[str] | None, advanced("--set", metavar="KEY=VALUE", help="One setting; may be repeated.")]
Workers = Annotated[int | None, advanced(min=1, help="Processes; by default as many as are worth it.")]
Json = Annotated[bool, advanced("--json", help="Print the result as JSON on stdout.")]


def paths(texts: list[str] | None) -> list[str | Path]:
    """The texts of a command line, which are always paths; ``-`` is standard input."""
    return [text if text == "-" else Path(text) for text in texts or ()]


def read_settings(cls: type, path: Path | None, given: list[str] | None, **options: Any) -> dict[str, Any]:
    """The fields of a settings class that a TOML file, ``--set`` and options set; the later wins.

    :param options: None for an option that was not given.
    """
    found = {} if path is None else checked_settings(cls, _toml(read_text(path), str(path)), path)
    for one in given or ():
        name, mark, value = one.partition("=")
        if not mark:
            raise InputError(f"--set takes KEY=VALUE, not {one!r}", code="settings")
        try:
            parsed = _toml(f"{name} = {value}", one)
        except InputError:
            parsed = {name: value}  # a text without quotes
        found |= checked_settings(cls, parsed, f"--set {one}")
    return found | {name: value for name, value in options.items() if value is not None}


def _toml(text: str, source: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        problem = f"the settings in {source} cannot be read: {error}; give TOML"
        raise InputError(problem, code="settings") from None


def save_embeddings(out: Path, embeddings: WordEmbeddings, skipped: dict[str, str]) -> None:
    """Write embeddings and name the words that have none; if no word has one, that is an error."""
    if not len(embeddings):
        word, reason = next(iter(skipped.items()))
        problem = f"none of the {len(skipped)} words could be given an embedding; {word!r}: {reason}"
        raise InputError(problem, code="nothing-to-teach")
    for word, reason in skipped.items():
        typer.echo(printable(f"{word}: {reason}"), err=True)
    embeddings.save(out)


def show(as_json: bool, value: Any, *lines: str) -> None:
    """Print a result: with ``--json`` the value, and nothing else on stdout; otherwise the lines."""
    echo(*([json.dumps(value, indent=1, ensure_ascii=False)] if as_json else lines))


def echo(*lines: str) -> None:
    """Print lines that may contain words of a text or a model."""
    for line in lines:
        typer.echo(printable(line, keep="\t\n"))


def table(header: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: Collection[str] = ()) -> list[str]:
    """The lines of a table; on a terminal, long cells are wrapped to its width.

    :param numbers: the columns to align on the right.
    """
    columns = [Column(name, justify="right" if name in numbers else "left", overflow="fold") for name in header]
    shown = Table(*columns, box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for row in rows:
        shown.add_row(*map(printable, row))
    width = None if sys.stdout.isatty() else _UNWRAPPED
    console = Console(color_system=None, markup=False, emoji=False, width=width)
    with console.capture() as captured:
        console.print(shown)
    return [line.rstrip() for line in captured.get().splitlines()]


def printable(text: str, keep: str = "") -> str:
    """A text in which control characters, which can do anything to a terminal, are escaped.

    >>> printable("a\\x1b[2Jb")
    'a\\\\x1b[2Jb'
    """
    return _CONTROL.sub(lambda found: found[0] if found[0] in keep else ascii(found[0])[1:-1], text)


def first_few(names: Collection[str], most: int = 10) -> str:
    """Names for one line: ``a, b, c and 17 more``."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(islice(names, most)) + more
