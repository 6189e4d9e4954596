"""``rarewords teach``: text in, a model that knows its words out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rarewords.cli.corpus import Field, MoreTexts, OptionalTexts, Workers, _rule
from rarewords.cli.options import AsJson, Device, Model, print_json

if TYPE_CHECKING:
    from rarewords.teaching.plan import Plan
    from rarewords.teaching.result import Taught

_REASONS_SHOWN = 10


def teach(
    out: Annotated[
        Path, typer.Option("--out", "-o", help="The new model's folder; must not exist or be empty.")
    ],
    text: OptionalTexts = None,
    more: MoreTexts = None,
    words: Annotated[
        Path | None,
        typer.Option("--words", "-w", help="A file with one word a line; otherwise the text is searched."),
    ] = None,
    model: Model = "default",
    corpus: Annotated[
        Path | None, typer.Option(help="A store made by `rarewords corpus build`, instead of `--text`.")
    ] = None,
    mix: Annotated[
        str,
        typer.Option(
            help="`replace`: each word becomes one token. `slash`: tokens `<word>` to be written behind the "
            "word, `kumquat / <kumquat>`."
        ),
    ] = "replace",
    below: Annotated[
        int | None, typer.Option(help="Only words that occur less often than this in the text.")
    ] = None,
    min_count: Annotated[
        int, typer.Option(help="Without --words: leave out words that occur less often.", min=1)
    ] = 4,
    top: Annotated[int, typer.Option(help="Without --words: at most so many words.", min=1)] = 1000,
    sentences: Annotated[int, typer.Option(help="Make a vector from at most so many sentences.", min=1)] = 32,
    method: Annotated[
        str | None,
        typer.Option(help="`auto`: the best there is for the model. `am`: attentive mimicking, much faster."),
    ] = None,
    mimic: Annotated[
        Path | None, typer.Option(help="A folder made by `rarewords mimic train`, of any preset.")
    ] = None,
    keep_all: Annotated[
        bool, typer.Option("--keep-all", help="Teach words that read worse with their vector, too.")
    ] = False,
    predictable: Annotated[bool, typer.Option(help="Let the model answer with the new words.")] = False,
    rule: Annotated[
        str | None,
        typer.Option(help="What counts as a word: `english` ([a-z.-]*) or `any` script.", metavar="RULE"),
    ] = None,
    field: Field = "text",
    workers: Workers = None,
    device: Device = "auto",
    show: Annotated[int, typer.Option(help="Words to show before and after.", min=0)] = 10,
    plan: Annotated[
        bool, typer.Option("--plan", help="Say what would be done and how long it would take; do nothing.")
    ] = False,
    keep_work: Annotated[
        bool, typer.Option("--keep-work", help="Keep the work folder `OUT.work` for another teaching.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Teach a model the rare words of a text, judge every word, and save an ordinary Hugging Face folder.

    A word that reads worse with its vector than in pieces is left out and named. Interrupted at any point,
    the same command goes on where it stopped.

    Example: `rarewords teach --text notes/*.txt --out taught`
    """
    from rarewords.mimic.learner_files import is_learner
    from rarewords.teaching import TeachSettings
    from rarewords.teaching import teach as teach_words
    from rarewords.teaching.plan import plan_teaching
    from rarewords.vectors import read_words

    settings = TeachSettings(
        mix=mix,
        below=below,
        min_count=min_count,
        most_words=top,
        sentences=sentences,
        keep_all=keep_all,
        predictable=predictable,
        method=method or ("am" if mimic is not None and not is_learner(mimic) else "auto"),
        rule=_rule(rule) if rule is not None else None,
    )
    arguments: dict[str, Any] = {
        "words": read_words(words) if words is not None else None,
        "model": model,
        "corpus": corpus,
        "mimic": mimic,
        "settings": settings,
        "device": device,
        "field": field,
        "workers": workers,
    }
    texts = [*(text or []), *(more or [])]
    if plan:
        _print_plan(plan_teaching(texts, out, **arguments), as_json)
        return
    taught = teach_words(texts, out, keep_work=keep_work, **arguments)
    if as_json:
        print_json({"folder": str(out), **taught.as_json()})
        return
    print_taught(taught, show)


def print_taught(taught: Taught, show: int, place: str | None = None) -> None:
    """The table of answers, the figures, and every word that was not taught.

    :param place: what to call the folder.
    """
    from rich.console import Console
    from rich.table import Table

    from rarewords.report.tables import figure
    from rarewords.teaching.cards import fell_line

    shown = sorted([*taught.words, *taught.worse], key=lambda one: -one.count)
    shown = list(dict.fromkeys(shown))[:show]
    if shown:
        table = Table(title="a … is a kind of _", title_justify="left")
        for heading in ("word", "before", "after"):
            table.add_column(heading, overflow="fold")
        table.add_column("held-out gain", justify="right")
        worse = set(taught.worse)
        for one in shown:
            gain = f"{one.judgement.gain:+.2f}" if one.judgement else "not judged"
            name = f"{one.word} (left out)" if one in worse and not taught.settings.keep_all else one.word
            table.add_row(name, ", ".join(one.before[:3]), ", ".join(one.after[:3]), gain)
        Console().print(table)
    typer.echo(f"{place or taught.folder}: {taught.model} with {_words(len(taught.words))}")
    if taught.held_out is not None:
        before, after = taught.held_out
        typer.echo(
            f"Held-out sentences of the text: log-probability of a word's neighbours {before:.3f} in pieces, "
            f"{after:.3f} with vectors"
        )
    for score in taught.scores:
        if score.relation == "all":
            typer.echo(
                f"WNLaMPro, {score.words:,} of these words: MRR {figure(score.before)} before, "
                f"{figure(score.after)} after"
            )
    if taught.fell:
        typer.echo(fell_line(taught))
    _print_left_out(taught)


def _print_left_out(taught: Taught) -> None:
    if taught.worse:
        names = ", ".join(one.word for one in taught.worse)
        verb = "taught all the same" if taught.settings.keep_all else "left out"
        typer.echo(f"Worse with their vector than in pieces, {verb} ({len(taught.worse):,}): {names}")
    if taught.unjudged:
        typer.echo(
            f"Not judged, for want of sentences ({len(taught.unjudged):,}): {', '.join(taught.unjudged)}"
        )
    for word, reason in list(taught.refused.items())[:_REASONS_SHOWN]:
        typer.echo(f"Not taught: {word}: {reason}")
    if len(taught.refused) > _REASONS_SHOWN:
        typer.echo(f"Not taught: {len(taught.refused) - _REASONS_SHOWN:,} more (--json names all)")


def _print_plan(plan: Plan, as_json: bool) -> None:
    from rarewords.progress import duration

    if as_json:
        print_json(plan.as_json())
        return
    names = ", ".join(list(plan.words)[:_REASONS_SHOWN])
    more = f" and {len(plan.words) - _REASONS_SHOWN:,} more" if len(plan.words) > _REASONS_SHOWN else ""
    typer.echo(f"Would teach {plan.model} {len(plan.words):,} words: {names}{more}")
    for word, reason in list(plan.refused.items())[:_REASONS_SHOWN]:
        typer.echo(f"Would not teach {word}: {reason}")
    for stage, seconds in plan.seconds.items():
        typer.echo(f"  {stage:<22} {duration(seconds):>12}")
    typer.echo(f"  {'about, in all':<22} {duration(plan.total_seconds):>12}")


def _words(number: int) -> str:
    return "one more word" if number == 1 else f"{number:,} more words"
