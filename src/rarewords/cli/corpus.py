"""``rarewords corpus``: build a store of counts and contexts, look into it, add to it, merge stores."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rarewords.cli import options
from rarewords.errors import InputError

if TYPE_CHECKING:
    from rarewords.corpus.store import Store

# Imports inside the commands save half a second at the start of every other command.
app = typer.Typer(no_args_is_help=True, help="Counts and contexts of the words of a text.")

_Store = Annotated[Path, typer.Argument(help="A store.")]
_Out = Annotated[Path, typer.Option("--out", "-o", help="The folder of the new store.")]


@app.command("build")
def build_command(
    out: _Out,
    texts: options.Texts = None,
    text: options.TextOption = None,
    field: options.Field = "text",
    model: Annotated[str | None, typer.Option("--model", "-m", help="Lower-case as this model does.")] = None,
    cased: Annotated[
        bool | None, typer.Option("--cased/--uncased", help="Keep capitals, or lower-case (the default).")
    ] = None,
    rule: Annotated[
        str | None, options.advanced(metavar="RULE", help="Words to sample: `english` ([a-z.-]*) or `any`.")
    ] = None,
    contexts: Annotated[
        int | None, typer.Option(metavar="N", help="Keep at most N contexts per word (1000).")
    ] = None,
    min_count: Annotated[
        int | None,
        options.advanced(metavar="N", help="Keep no contexts of words that occur fewer than N times."),
    ] = None,
    settings: options.SettingsFile = None,
    workers: options.Workers = None,
    engine: options.EngineName = "local",
) -> None:
    """Count the words of a text and sample their contexts.

    Example: `rarewords corpus build wiki/*.txt --out wiki.store`
    """
    from rarewords.corpus.build import build
    from rarewords.corpus.settings import CorpusSettings

    wanted = options.read_settings(
        settings,
        CorpusSettings,
        contexts=contexts,
        lower_case=_lower_case(model, cased),
        words=rule,
        min_count=min_count,
    )
    given = options.all_texts(texts, text)
    _print_summary(build(given, out, wanted, field=field, workers=workers, engine=engine))


@app.command("add")
def add_command(
    store: _Store,
    texts: options.Texts = None,
    text: options.TextOption = None,
    field: options.Field = "text",
    workers: options.Workers = None,
    engine: options.EngineName = "local",
) -> None:
    """Add text to a store. Only new text is read; the result is that of building from all of it.

    Example: `rarewords corpus add wiki.store new.jsonl.gz`
    """
    from rarewords.corpus.build import add_text

    given = options.all_texts(texts, text)
    _print_summary(add_text(store, given, field=field, workers=workers, engine=engine))


@app.command("merge")
def merge_command(
    stores: Annotated[list[Path], typer.Argument(help="Two or more stores of different text.")],
    out: _Out,
    workers: options.Workers = None,
    engine: options.EngineName = "local",
) -> None:
    """Merge stores into one, the same as a store built from all their text."""
    from rarewords.corpus.build import merge_stores

    _print_summary(merge_stores(stores, out, workers=workers, engine=engine))


@app.command("show")
def show_command(
    store: _Store,
    word: Annotated[
        str | None, typer.Argument(help="A word. Without it, check the store and print what it holds.")
    ] = None,
    contexts: Annotated[int, typer.Option(metavar="N", min=0, help="Print at most N contexts.")] = 10,
    as_json: options.AsJson = False,
) -> None:
    """Print how often a word occurs, and contexts of it."""
    from dataclasses import asdict

    from rarewords.corpus.store import Store

    opened = Store.open(store)
    if word is None:
        opened.check()
        if as_json:
            options.print_json({"settings": opened.settings.to_dict(), "totals": asdict(opened.totals)})
        else:
            _print_summary(opened)
        return
    found = opened.contexts(word, contexts)
    count = opened.count(word)
    if as_json:
        options.print_json({"word": word, "count": count, "contexts": [asdict(context) for context in found]})
        return
    typer.echo(f"{word}: {count:,} times")
    for context in found:
        left, right = context.sentence[: context.start], context.sentence[context.end :]
        typer.echo(f"  {left}[{context.sentence[context.start : context.end]}]{right}")


def _lower_case(model: str | None, cased: bool | None) -> bool | None:
    if model is not None and cased is not None:
        raise InputError("--model decides about capitals; leave out --cased and --uncased, or --model")
    if model is None:
        return None if cased is None else not cased
    from rarewords.models import load_tokens

    return load_tokens(model).lower_case


def _print_summary(store: Store) -> None:
    totals, header = store.totals, store.header
    size = sum(file.stat().st_size for file in store.path.iterdir())
    typer.echo(
        f"{store.path}: {totals.words:,} words ({len(store):,} distinct) in {totals.sentences:,} sentences, "
        f"{header.contexts:,} contexts from {header.sentences:,} sentences, {size / 1e6:,.1f} MB"
    )
    if totals.replaced:
        typer.echo(f"{totals.replaced:,} characters were not UTF-8 and were replaced")
