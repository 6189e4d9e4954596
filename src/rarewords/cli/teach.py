"""``rarewords teach``: text in, a model that knows its words out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rarewords.cli import options

if TYPE_CHECKING:
    from rarewords.teaching.outcome import Taught
    from rarewords.teaching.plan import Plan, Timetable

_SHOWN = 10


def teach(
    out: options.NewModel,
    texts: options.Texts = None,
    text: options.TextOption = None,
    words: Annotated[
        Path | None, typer.Option("--words", "-w", help="A words file; by default the text is searched.")
    ] = None,
    model: options.Model = "default",
    corpus: Annotated[
        Path | None, typer.Option(help="A store made by `rarewords corpus build`, instead of text.")
    ] = None,
    learner: options.Learner = None,
    reader: Annotated[
        str,
        options.advanced(metavar="MODEL", help="The masked LM that reads the text for a model that is none."),
    ] = "default",
    min_count: Annotated[
        int | None,
        options.advanced(min=1, metavar="N", help="Without --words: words that occur at least N times (4)."),
    ] = None,
    top: Annotated[
        int | None, options.advanced(min=1, metavar="N", help="Without --words: at most N words (1000).")
    ] = None,
    slash: Annotated[
        bool | None,
        options.advanced(
            "--slash/--replace", help="Pieces and vector side by side (default), or one token per word."
        ),
    ] = None,
    rule: Annotated[
        str | None, options.advanced(metavar="RULE", help="What counts as a word: `english` or `any`.")
    ] = None,
    question: Annotated[
        str | None,
        options.advanced(
            metavar="TEXT",
            help="Ask this about each word in the report: `a <W> treats _`. By default a "
            "question that suits how the text uses the word.",
        ),
    ] = None,
    settings: options.SettingsFile = None,
    plan: Annotated[
        bool, typer.Option("--plan", help="Say what would be taught and how long it would take; do nothing.")
    ] = False,
    field: options.Field = "text",
    workers: options.Workers = None,
    device: options.Device = "auto",
    as_json: options.AsJson = False,
) -> None:
    """Teach a model the rare words of a text, judge each word, and save an ordinary Hugging Face folder.

    Each word is judged better, unclear or worse; a word judged worse is left alone and named. After an
    interruption the same command resumes.

    Example: `rarewords teach notes/*.txt --out taught`
    """
    from rarewords.teaching.plan import Plan, plan_teaching
    from rarewords.teaching.settings import TeachSettings
    from rarewords.teaching.teach import teach as teach_words
    from rarewords.vectors import read_words

    changes = {"min_count": min_count, "top": top, "slash": slash, "rule": rule, "question": question}
    work: Callable[..., Plan | Taught] = plan_teaching if plan else teach_words
    done = work(
        options.all_texts(texts, text),
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
        options.print_json({"folder": str(out), **done.as_json()})
    elif isinstance(done, Plan):
        _print_plan(done)
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
    Console().print(*tables.values())
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


def _print_plan(plan: Plan) -> None:
    names = ", ".join(list(plan.words)[:_SHOWN])
    more = f" and {len(plan.words) - _SHOWN:,} more" if len(plan.words) > _SHOWN else ""
    typer.echo(f"Would teach {plan.model} {len(plan.words):,} words: {names}{more}")
    _print_refused("Would not teach", plan.refused)
    print_seconds(plan)


def print_seconds(plan: Timetable) -> None:
    """Print how long each stage of a plan would take."""
    from rarewords.progress import duration

    for stage, seconds in {**plan.seconds, "in all, about": plan.total_seconds}.items():
        typer.echo(f"  {stage:<22} {duration(seconds):>12}")


def _print_refused(verdict: str, refused: dict[str, str]) -> None:
    for word, reason in list(refused.items())[:_SHOWN]:
        typer.echo(f"{verdict}: {word}: {reason}")
    if len(refused) > _SHOWN:
        typer.echo(f"{verdict}: {len(refused) - _SHOWN:,} more (--json names all)")
