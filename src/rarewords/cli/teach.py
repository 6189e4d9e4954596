"""``teach``: texts or a glossary in, a model that knows the words out; ``scan``: which words does it lack?

Two ways to see it work: ``demo`` on the bundled model and glossary, ``serve`` as a page to try words on.
"""

from __future__ import annotations

import runpy
from dataclasses import asdict
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import rarewords  # its names load torch when they are used, which takes seconds
from rarewords._internal.cache import require_free, workspace
from rarewords._internal.files import write_lines
from rarewords.cli import options
from rarewords.embeddings import read_words
from rarewords.errors import InputError
from rarewords.teaching.glossary import read_glossary
from rarewords.teaching.settings import TeachSettings

if TYPE_CHECKING:
    from rarewords.teaching.report import TeachResult
    from rarewords.teaching.words import MissingWord

_SHOWN = 10
_GLOSSARY = "Terms and definitions: CSV, TSV, JSON lines or Markdown."
_WORDS = "One word per line; by default the terms of the glossary, or the words of the text that would improve most."
_READER = "The masked LM that reads your sentences if the model is an encoder or a causal LM."
_DRY_RUN = "Show which words would be added and how long it would take."


def teach(
    texts: options.Texts = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="A new or empty folder for the new model.")] = None,
    glossary: Annotated[Path | None, typer.Option("--glossary", "-g", help=_GLOSSARY)] = None,
    words: Annotated[Path | None, typer.Option("--words", "-w", help=_WORDS)] = None,
    model: options.Model = "default",
    dry_run: Annotated[bool, typer.Option("--dry-run", help=_DRY_RUN)] = False,
    top: Annotated[int | None, options.number(help="Without a list of words: add at most N (1000).")] = None,
    min_count: options.MinCount = None,
    placement: options.Placement = None,
    reader_model: Annotated[str, options.advanced(metavar="MODEL", help=_READER)] = "default",
    learner: options.Learner = None,
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
    from rarewords.teaching.scan import dry_run as estimate  # loads torch
    from rarewords.teaching.teach import run

    if out is None and not dry_run:
        raise typer.BadParameter("name the new model's folder with --out", param_hint="--out")
    given = {"top": top, "min_count": min_count, "placement": placement}
    request = Request(
        model=model,
        texts=options.paths(texts) or None,
        glossary=glossary,
        words=None if words is None else read_words(words),
        learner=learner,
        reader_model=reader_model,
        settings=TeachSettings(**options.read_settings(TeachSettings, settings, set_, **given)),
        device=device,
        field=field,
        workers=workers,
    )
    if out is None or dry_run:
        found = estimate(**vars(request))
        chosen = [one.word for one in found.words if not one.skipped]
        title = f"Would add {len(chosen):,} words to {found.model}: {options.first_few(chosen)}"
        skipped = _skipped_lines({one.word: one.skipped for one in found.words})
        options.show(as_json, found.as_json(), title, *skipped, *found.lines())
        return
    require_free(out)
    with workspace(out) as cache:
        result = run(request, cache)
        result.save_pretrained(out)
    if as_json:
        options.show(True, {"folder": str(out), **result.as_json()})
    else:
        _print_result(result, out)


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
    lines = [
        f"{out}: {result.base} with {number:,} more {'word' if number == 1 else 'words'}",
        "Verdicts: " + ", ".join(f"{count:,} {name}" for name, count in result.verdicts.items()),
    ]
    if result.learner != "default":
        lines.append(f"Learner: {result.learner}")
    if result.held_out is not None:
        before, after = result.held_out
        lines.append(f"Held-out sentences: {before:.3f} with subwords, {after:.3f} with embeddings")
        lines.append(f"  ({result.measure})")
    worse = {} if result.settings.keep_all else {one.word: one.check.reason for one in result.worse if one.check}
    options.show(False, None, *lines, *_skipped_lines(worse), *_skipped_lines(result.skipped))


def scan(
    texts: options.Texts = None,
    model: options.Model = "default",
    top: Annotated[int, options.number(help="Show N words.")] = 20,
    min_count: options.MinCount = None,
    phrases: Annotated[bool, typer.Option("--phrases", help="Find fixed phrases too: shortness of breath.")] = False,
    out: Annotated[Path | None, options.new_file(help="Write a words file for `teach --words`.")] = None,
    settings: options.SettingsFile = None,
    set_: options.Set = None,
    field: options.Field = "text",
    workers: options.Workers = None,
    device: options.Device = "auto",
    as_json: options.Json = False,
) -> None:
    """List the words of a text that `teach` would add, best first, and why it would skip others.

    The mismatch says how far the model's answers about a word are from what the text says, from 0 to 1.

    Example:

        rarewords scan reports/*.txt --top 50 --out words.txt
    """
    chosen = TeachSettings(**options.read_settings(TeachSettings, settings, set_, top=top, min_count=min_count))
    given = options.paths(texts)
    found = rarewords.scan(given, model, phrases=phrases, settings=chosen, device=device, field=field, workers=workers)
    kept = [one for one in found.words if not one.skipped]
    if out is not None:
        counts = [*((one.word, one.count) for one in kept), *found.phrases.items()]
        write_lines(out, [f"{word}\t{count}\n" for word, count in counts])
    share = 100 * found.split_occurrences / found.occurrences
    lines = [f"{found.model} splits {found.split:,} of {found.distinct:,} distinct words, {share:.1f} % of the text"]
    lines += [*_table(kept), *_skipped_lines({one.word: one.skipped for one in found.words})]
    if phrases:
        names = ", ".join(f"{phrase} ({count:,})" for phrase, count in found.phrases.items())
        lines.append(f"Fixed phrases: {names or 'none'}")
    options.show(as_json, asdict(found), *lines)


def _table(words: list[MissingWord]) -> list[str]:
    rows = [("word", "count", "mismatch", "answers now", "subwords")] if words else []
    for one in words:
        mismatch = "" if one.mismatch is None else f"{one.mismatch:8.2f}"
        rows.append((one.word, f"{one.count:5,}", mismatch, ", ".join(one.answers), " ".join(one.subwords)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


def _skipped_lines(reasons: dict[str, str]) -> list[str]:
    """One line for each reason why words are skipped; words without a reason are not."""
    from rarewords.teaching.clutter import summary  # loads Arrow

    return [f"Skipped: {line}" for line in summary({word: why for word, why in reasons.items() if why})]


def demo(
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Keep the new model in this folder.")] = None,
) -> None:
    """Add recent words to the bundled model, each from its definition, and compare its answers.

    Example:

        rarewords demo
    """
    settings = TeachSettings(question="a <W> is a kind of _.")
    with as_file(files("rarewords") / "assets" / "demo" / "glossary.csv") as glossary:
        definitions = read_glossary(glossary)
        result = rarewords.teach(glossary=glossary, settings=settings)
    if out is not None:
        result.save_pretrained(out)
    typer.echo(f"The bundled model gets {len(result.words)} recent words, each from one definition.\n")
    for word, entry in definitions.items():
        for text in entry.definitions:
            typer.echo(f"{word:<15}{text}")
    typer.echo("\na … is a kind of _\n")
    typer.echo(f"{'word':<15}{'before':<31}after")
    for one in result.words:
        typer.echo(f"{one.word:<15}{', '.join(one.before[:3]):<31}{', '.join(one.after[:3])}")
    typer.echo("\nNow your own:  rarewords teach --glossary FILE --out FOLDER")


def serve(
    model: options.Model = "default",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 takes any free one.")] = 8765,
    open_browser: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    device: options.Device = "auto",
) -> None:
    """Open a page on this machine: type a word and a definition, see the answers before and after.

    Press Ctrl-C to stop it.

    Example:

        rarewords serve --open
    """
    try:
        import gradio  # noqa: F401 - loaded by the page
    except ImportError:
        raise InputError("the page needs Gradio: pip install 'rarewords[page]'", code="missing-extra") from None
    installed = Path(str(files("rarewords") / "assets" / "space.py"))
    page = installed if installed.is_file() else Path(rarewords.__file__).parents[2] / "examples/space/app.py"
    build = runpy.run_path(str(page), run_name="rarewords_page")["build"]
    typer.echo(f"http://127.0.0.1:{port}/ (press Ctrl-C to stop)")
    build(model, device).launch(server_name="127.0.0.1", server_port=port or None, inbrowser=open_browser, quiet=True)
