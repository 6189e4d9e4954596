"""``teach``: text in, a model that knows its words out; and ``scan``: which words does the model lack?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import typer

import rarewords  # its names load torch when they are used, which takes seconds
from rarewords.cli import options
from rarewords.files import write_lines
from rarewords.teaching.settings import TeachSettings
from rarewords.vectors import read_words

if TYPE_CHECKING:
    from rarewords.teaching.outcome import Taught

_SHOWN, _ON_SCREEN = 10, 20


def teach(
    out: Path,
    texts: list[str] | None = None,
    words: Path | None = None,
    model: str = "default",
    corpus: Path | None = None,
    learner: str | None = None,
    reader: str = "default",
    min_count: int | None = None,
    top: int | None = None,
    slash: bool | None = None,
    rule: str | None = None,
    question: str | None = None,
    settings: Path | None = None,
    plan: bool = False,
    field: str = "text",
    workers: int | None = None,
    device: str = "auto",
    as_json: bool = False,
) -> None:
    """Teach a model the rare words of a text, judge each word, and save an ordinary Hugging Face folder.

    Each word is judged better, unclear or worse; a word judged worse is left alone and named. After an
    interruption the same command resumes.

    Example: `rarewords teach notes/*.txt --out taught`
    """
    from rarewords.teaching.plan import Plan, plan_teaching

    changes = {"min_count": min_count, "top": top, "slash": slash, "rule": rule, "question": question}
    work: Callable[..., Plan | Taught] = plan_teaching if plan else rarewords.teach
    done = work(
        texts or [],
        out,
        words=read_words(words) if words is not None else None,
        model=model,
        corpus=corpus,
        learner=learner,
        reader=reader,
        settings=options.read_settings(settings, TeachSettings, **changes),
        device=device,
        field=field,
        workers=workers,
    )
    if as_json:
        options.show(True, {"folder": str(out), **done.as_json()})
    elif isinstance(done, Plan):
        names = options.first_few(done.words)
        typer.echo(f"Would teach {done.model} {len(done.words):,} words: {names}")
        _print_refused("Would not teach", done.refused)
        typer.echo("\n".join(done.lines()))
    else:
        _print_taught(done)
    if not isinstance(done, Plan) and done.warning:
        typer.echo(f"Warning: {done.warning}.", err=True)


def _print_taught(taught: Taught) -> None:
    """Print the table of answers, the figures, and every word that was not taught."""
    from rich.console import Console
    from rich.table import Column, Table

    from rarewords.report.tables import figure
    from rarewords.teaching.clutter import summary
    from rarewords.teaching.outcome import fell_line
    from rarewords.teaching.questions import as_title

    answered = any(one.before for one in taught.words)  # by masked LMs only
    headings = ("word", "before", "after") if answered else ("word",)
    tables: dict[str, Table] = {}
    for one in sorted(taught.words, key=lambda one: -one.expected_gain)[:_SHOWN]:
        verdict = one.verdict if one.probability is None else f"{one.verdict}, p = {one.probability:.2f}"
        answers = [", ".join(one.before[:3]), ", ".join(one.after[:3])] if answered else []
        columns = [Column(heading, overflow="fold") for heading in headings]
        title = as_title(one.question) if answered else None
        table = Table(*columns, "verdict", title=title, title_justify="left")
        tables.setdefault(one.question, table).add_row(one.word, *answers, verdict)
    Console(markup=False, emoji=False).print(*tables.values())  # a word may look like either
    number = "one more word" if len(taught.words) == 1 else f"{len(taught.words):,} more words"
    typer.echo(f"{taught.folder}: {taught.model} with {number}")
    typer.echo("Verdicts: " + ", ".join(f"{number:,} {name}" for name, number in taught.verdicts.items()))
    if taught.learner != "default":
        typer.echo(f"Learner: {taught.learner}")
    if taught.held_out is not None:
        before, after = taught.held_out
        means = f"{before:.3f} with pieces, {after:.3f} with vectors"
        typer.echo(f"Held-out contexts, {taught.measure}: {means}")
    for score in taught.probed.scores[-1:]:  # all relations together
        mrr = f"MRR {figure(score.before)} before, {figure(score.after)} after"
        typer.echo(f"WNLaMPro, {score.words:,} of these words: {mrr}")
    if taught.fell:
        typer.echo(fell_line(taught))
    verb = "Taught anyway" if taught.settings.keep_all else "Left alone"
    _print_refused(verb, {one.word: one.judgement.reason for one in taught.worse if one.judgement})
    if taught.unjudged:
        names = ", ".join(taught.unjudged)
        typer.echo(f"Not judged for lack of contexts ({len(taught.unjudged):,}): {names}")
    _print_refused("Not taught", taught.refused)
    for line in summary(taught.passed_over):
        typer.echo(f"Passed over: {line}")


def _print_refused(verdict: str, refused: dict[str, str]) -> None:
    for word, reason in list(refused.items())[:_SHOWN]:
        typer.echo(f"{verdict}: {word}: {reason}")
    if len(refused) > _SHOWN:
        typer.echo(f"{verdict}: {len(refused) - _SHOWN:,} more (--json names all)")


def scan(
    texts: list[str] | None = None,
    model: str = "default",
    rule: str = "english",
    min_count: int = 1,
    top: int | None = None,
    ask: int = 20,
    phrases: bool = False,
    out: Path | None = None,
    field: str = "text",
    workers: int | None = None,
    device: str = "auto",
    as_json: bool = False,
) -> None:
    """Find the words of a text that the model splits into pieces, those that would gain most first.

    Parts of addresses, markup, repeated lines and inflections of known words are passed over. The model is
    asked what the first words mean to it now; their need says how far that is from what the text says.

    Example: `rarewords scan reports/*.txt --out words.txt`
    """
    from rarewords.teaching.clutter import summary  # needs Arrow

    everything = as_json or out is not None
    found = rarewords.scan(
        texts or [],
        model,
        rule=rule,  # type: ignore[arg-type]  # checked with the settings
        min_count=min_count,
        top=top if top or everything else _ON_SCREEN,
        ask=ask,
        phrases=phrases,
        device=device,
        field=field,
        workers=workers,
    )
    if out is not None:
        # A word that loses nothing gains nothing from teaching.
        lines = [f"{word.word}\t{word.count}\n" for word in found.missing if word.gain > 0]
        lines += [f"{phrase}\t{count}\n" for phrase, count in found.phrases.items()]
        write_lines(out, lines)
    missing = [{**asdict(word), "gain": round(word.gain, 2)} for word in found.missing]
    share = 100 * found.missing_occurrences / found.occurrences
    lines = [
        f"{found.missing_words:,} of {found.words:,} words are not one piece for {found.model}; "
        f"they are {share:.1f} % of the text"
    ]
    if min_count > 1:
        lines.append(f"Of these, words that occur {min_count:,} times or more: {found.frequent_words:,}")
    if found.left_out:
        lines.append(f"Words that --rule {rule} leaves out: {found.left_out:,} (--rule any counts them)")
    lines += [f"Passed over: {line}" for line in summary(found.passed_over)]
    shown = found.missing[: top or _ON_SCREEN]
    width, asked = max([4, *(len(word.word) for word in shown)]), any(word.answers for word in shown)
    if shown:
        middle = f"{'need':>4}  {'answers now':<36}  " if asked else ""
        lines.append(f"{'word':<{width}}  {'count':>9}  {middle}pieces")
    for word in shown:
        need = "" if word.need is None else f"{word.need:.2f}"
        middle = f"{need:>4}  {', '.join(word.answers):<36}  " if asked else ""
        lines.append(f"{word.word:<{width}}  {word.count:>9,}  {middle}{' '.join(word.pieces)}")
    if phrases:
        names = ", ".join(f"{phrase} ({count:,})" for phrase, count in found.phrases.items())
        lines.append(f"Fixed phrases: {names or 'none'}")
    options.show(as_json, {**asdict(found), "missing": missing}, *lines)
