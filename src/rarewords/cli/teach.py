"""``teach``: texts or a glossary in, a model that knows the words out; ``scan``: which words does it lack?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import rarewords  # its names load torch when they are used, which takes seconds
from rarewords._internal.cache import require_free, workspace
from rarewords._internal.files import require_new_file, write_lines
from rarewords.cli import options
from rarewords.cli.options import ADVANCED
from rarewords.embeddings import read_words
from rarewords.teaching.settings import TeachSettings
from rarewords.tokens import Placement

if TYPE_CHECKING:
    from rarewords.teaching.dry_run import DryRun
    from rarewords.teaching.report import TeachResult
    from rarewords.teaching.words import MissingWord

_SHOWN = 10


def teach(
    texts: options.Texts = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="A new or empty folder for the new model.")] = None,
    glossary: Annotated[
        Path | None, typer.Option("--glossary", "-g", help="Terms and definitions: CSV, TSV, JSON lines or Markdown.")
    ] = None,
    words: Annotated[
        Path | None,
        typer.Option(
            "--words",
            "-w",
            help="A file with one word per line; by default the terms of the glossary, "
            "or the words of the text that would gain most.",
        ),
    ] = None,
    model: options.Model = "default",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show which words would be added and how long it would take.")
    ] = False,
    top: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Without a list: at most N words (1000).", show_default=False)
    ] = None,
    min_count: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Without a list: words that occur at least N times (4).", show_default=False
        ),
    ] = None,
    placement: Annotated[
        Placement | None,
        typer.Option(
            help="`replace` makes each word one token; `append` puts the token after its subwords.",
            show_default=False,
            rich_help_panel=ADVANCED,
        ),
    ] = None,
    reader_model: Annotated[
        str,
        typer.Option(
            metavar="MODEL",
            help="The masked LM that reads your sentences if the model is an encoder or a causal LM.",
            rich_help_panel=ADVANCED,
        ),
    ] = "default",
    learner: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER",
            help="A folder made by `rarewords mimic fit` or `mimic train`, "
            "or `am` for the attentive mimicking model that ships.",
            show_default=False,
            rich_help_panel=ADVANCED,
        ),
    ] = None,
    settings: options.SettingsFile = None,
    set_: options.Set = None,
    field: options.Field = "text",
    workers: options.Workers = None,
    device: options.Device = "auto",
    as_json: options.Json = False,
) -> None:
    """Add words to a model, from a glossary, from text that uses them, or from both.

    A word that does worse with its embedding on held-out sentences is skipped, with the reason. After an
    interruption the same command resumes.

    Examples:

        rarewords teach -g terms.csv -m sentence-transformers/all-MiniLM-L6-v2 -o out

        rarewords teach notes/*.txt --out taught
    """
    from rarewords.teaching.prepare import Request

    if out is None and not dry_run:
        raise typer.BadParameter("name the new model's folder with --out", param_hint="--out")
    chosen = options.read_settings(settings, set_, TeachSettings, top=top, min_count=min_count, placement=placement)
    request = Request(
        model=model,
        texts=options.paths(texts),
        glossary=glossary,
        words=None if words is None else read_words(words),
        learner=learner,
        reader_model=reader_model,
        settings=chosen,
        device=device,
        field=field,
        workers=workers,
    )
    if out is None or dry_run:
        from rarewords.teaching.dry_run import dry_run as estimate

        _print_estimate(estimate(**vars(request)), as_json)
        return
    from rarewords.teaching.teach import run

    require_free(out)
    with workspace(out) as cache:
        result = run(request, cache)
        result.save_pretrained(out)
    if as_json:
        options.show(True, {"folder": str(out), **result.as_json()})
    else:
        _print_result(result, out)


def _print_estimate(found: DryRun, as_json: bool) -> None:
    if as_json:
        options.show(True, found.as_json())
        return
    chosen = [one.word for one in found.words if not one.skipped]
    typer.echo(f"Would teach {found.model} {len(chosen):,} words: {options.first_few(chosen)}")
    _print_skipped({one.word: one.skipped for one in found.words if one.skipped})
    typer.echo("\n".join(found.lines()))


def _print_result(result: TeachResult, out: Path) -> None:
    """Print the table of answers, the figures, and every word that was not taught."""
    from rich.console import Console
    from rich.table import Table

    from rarewords.teaching.questions import as_title

    tables: dict[str, Table] = {}
    for one in result.taught[:_SHOWN]:
        title = as_title(one.question)
        table = tables.setdefault(title, Table("word", "before", "after", "verdict", title=title, title_justify="left"))
        cells = (one.word, ", ".join(one.before[:3]), ", ".join(one.after[:3]), one.verdict)
        table.add_row(*map(options.printable, cells))
    Console(markup=False, emoji=False).print(*tables.values())  # a word may look like either
    number = len(result.taught)
    typer.echo(f"{out}: {result.base} with {number:,} more {'word' if number == 1 else 'words'}")
    typer.echo("Verdicts: " + ", ".join(f"{count:,} {name}" for name, count in result.verdicts.items()))
    if result.learner != "default":
        typer.echo(f"Learner: {result.learner}")
    if result.held_out is not None:
        before, after = result.held_out
        typer.echo(f"Held-out sentences: {before:.3f} with subwords, {after:.3f} with embeddings")
        typer.echo(f"  ({result.measure})")
    if not result.settings.keep_all:
        _print_skipped({one.word: one.check.reason for one in result.worse if one.check})
    _print_skipped(result.skipped)


def _print_skipped(skipped: Mapping[str, str]) -> None:
    from rarewords.teaching.clutter import summary

    for line in summary(skipped):
        typer.echo(f"Skipped: {line}")


def scan(
    texts: options.Texts = None,
    model: options.Model = "default",
    top: Annotated[int, typer.Option(min=1, metavar="N", help="Show N words.")] = 20,
    min_count: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Words that occur at least N times (4).", show_default=False)
    ] = None,
    phrases: Annotated[bool, typer.Option("--phrases", help="Find fixed phrases too: shortness of breath.")] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Write a words file for `teach --words`.", callback=require_new_file),
    ] = None,
    settings: options.SettingsFile = None,
    set_: options.Set = None,
    field: options.Field = "text",
    workers: options.Workers = None,
    device: options.Device = "auto",
    as_json: options.Json = False,
) -> None:
    """Show the words of a text that `teach` would add, in its order, and why it would skip others.

    The mismatch says how far the model's answers about a word are from what the text says, from 0 to 1.

    Example:

        rarewords scan reports/*.txt --top 50 --out words.txt
    """
    chosen = options.read_settings(settings, set_, TeachSettings, top=top, min_count=min_count)
    found = rarewords.scan(
        options.paths(texts) or [], model, phrases=phrases, settings=chosen, device=device, field=field, workers=workers
    )
    kept = [one for one in found.words if not one.skipped]
    if out is not None:
        lines = [f"{one.word}\t{one.count}\n" for one in kept]
        write_lines(out, [*lines, *(f"{phrase}\t{count}\n" for phrase, count in found.phrases.items())])
    share = 100 * found.split_occurrences / found.occurrences
    about = f"{found.model} splits {found.split:,} of {found.distinct:,} distinct words, {share:.1f} % of the text"
    lines = [about, *_rows(kept), *_skipped_lines(found.words)]
    if phrases:
        names = ", ".join(f"{phrase} ({count:,})" for phrase, count in found.phrases.items())
        lines.append(f"Fixed phrases: {names or 'none'}")
    options.show(as_json, asdict(found), *lines)


def _rows(words: Iterable[MissingWord]) -> list[str]:
    rows = [("word", "count", "mismatch", "answers now", "subwords")]
    for one in words:
        mismatch = "" if one.mismatch is None else f"{one.mismatch:.2f}"
        rows.append((one.word, f"{one.count:,}", mismatch, ", ".join(one.answers), " ".join(one.subwords)))
    if len(rows) == 1:
        return []
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    aligned = (str.ljust, str.rjust, str.rjust, str.ljust, str.ljust)
    return [
        "  ".join(align(cell, width) for align, cell, width in zip(aligned, row, widths, strict=True)).rstrip()
        for row in rows
    ]


def _skipped_lines(words: Iterable[Any]) -> list[str]:
    from rarewords.teaching.clutter import summary

    return [f"Skipped: {line}" for line in summary({one.word: one.skipped for one in words if one.skipped})]
