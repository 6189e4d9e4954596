"""``teach``: texts or a glossary in, a model that knows the words out; ``scan``: which words does it lack?

Two ways to see it work: ``demo`` on the bundled model and glossary, ``serve`` as a page to try words on.
"""

import runpy
from dataclasses import asdict
from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated

import typer

import rarewords  # its names load torch when they are used, which takes seconds
from rarewords._internal.cache import require_free, workspace
from rarewords._internal.files import write_lines
from rarewords.cli import options
from rarewords.embeddings import read_words
from rarewords.errors import InputError
from rarewords.teaching.glossary import read_glossary
from rarewords.teaching.settings import TeachSettings

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
        skipped = _skipped({one.word: one.skipped for one in found.words})
        options.show(as_json, found.as_json(), title, *skipped, *found.lines())
        return
    require_free(out)
    with workspace(out) as cache:
        result = run(request, cache)
        result.save_pretrained(out)
    options.show(as_json, {"folder": str(out), **result.as_json()}, *_answers(result), *_figures(result, out))


def _answers(result: "rarewords.TeachResult") -> list[str]:
    """A table for each question, with the answers about the first words that were added."""
    from rarewords.teaching.ask import as_title

    tables: dict[str, list[tuple[str, ...]]] = {}
    for one in result.taught[:_SHOWN]:
        row = one.word, ", ".join(one.before[:3]), ", ".join(one.after[:3]), one.verdict
        tables.setdefault(as_title(one.question), []).append(row)
    lines = []
    for title, rows in tables.items():
        lines += [title, "", *options.table(("word", "before", "after", "verdict"), rows), ""]
    return lines


def _figures(result: "rarewords.TeachResult", out: Path) -> list[str]:
    """How many words there are, how they were checked, and every word that was not added."""
    new, added = len(result.taught), len(result.all_words)
    earlier = f": {new:,} new, {added - new:,} from before" if added > new else ""
    verdicts = ", ".join(f"{count:,} {name}" for name, count in result.verdicts.items())
    lines = [
        f"{out}: {result.base} with {added:,} more {'word' if added == 1 else 'words'}{earlier}",
        f"Verdicts{' of the new words' if earlier else ''}: {verdicts}",
    ]
    if result.learner != "default":
        lines.append(f"Learner: {result.learner}")
    if result.held_out is not None:
        before, after = result.held_out
        lines.append(f"Held-out sentences: {before:.3f} with subwords, {after:.3f} with embeddings")
        lines.append(f"  ({result.measure})")
    worse = {} if result.settings.keep_all else {one.word: one.check.reason for one in result.worse if one.check}
    return [*lines, *_skipped(worse), *_skipped(result.skipped)]


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
    header, rows = ("word", "count", "mismatch", "answers now", "subwords"), []
    for one in kept:
        mismatch = "" if one.mismatch is None else f"{one.mismatch:.2f}"
        rows.append((one.word, f"{one.count:,}", mismatch, ", ".join(one.answers), " ".join(one.subwords)))
    lines += options.table(header, rows, numbers=("count", "mismatch")) if kept else []
    lines += _skipped({one.word: one.skipped for one in found.words})
    if phrases:
        names = ", ".join(f"{phrase} ({count:,})" for phrase, count in found.phrases.items())
        lines.append(f"Fixed phrases: {names or 'none'}")
    options.show(as_json, asdict(found), *lines)


def _skipped(reasons: dict[str, str]) -> list[str]:
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
    meanings = [(word, text) for word, entry in definitions.items() for text in entry.definitions]
    answers = [(one.word, ", ".join(one.before[:3]), ", ".join(one.after[:3])) for one in result.words]
    options.echo(
        f"The bundled model gets {len(result.words)} recent words, each from one definition.\n",
        *options.table(("word", "definition"), meanings),
        "\na … is a kind of _\n",
        *options.table(("word", "before", "after"), answers),
        "\nNow your own:  rarewords teach --glossary FILE --out FOLDER",
    )


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
