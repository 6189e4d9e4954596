"""``rarewords corpus``: build a store of counts and contexts, look into it, merge, add."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from rarewords.cli.options import AsJson, print_json
from rarewords.errors import InputError

app = typer.Typer(no_args_is_help=True, help="Counts and contexts of the words of a text.")

_TEXT_OPTION = typer.Option(
    "--text",
    "-t",
    help="Text: a file (txt, jsonl, csv, tsv, parquet; plain or gz, bz2, xz, zst), a folder, a pattern, "
    "`-` for standard input or `hf:name` for a data set of the hub. Give it as often as you like.",
)
Texts = Annotated[list[str], _TEXT_OPTION]
OptionalTexts = Annotated[list[str] | None, _TEXT_OPTION]
MoreTexts = Annotated[
    list[str] | None, typer.Argument(help="More texts, as a shell pattern gives them.", metavar="[TEXT]...")
]
Field = Annotated[str, typer.Option(help="The field that holds the text in jsonl, csv, tsv and parquet.")]
Words = Annotated[
    str, typer.Option(help="Words that get an entry: `english` ([a-z.-]*) or `any` script.", metavar="RULE")
]
Workers = Annotated[int | None, typer.Option(help="Processes; all cores if not given.", min=1)]
EngineName = Annotated[str, typer.Option("--engine", help="`local` processes or a `ray` cluster.")]
Address = Annotated[str | None, typer.Option(help="Address of a running Ray cluster.")]


@app.command("build")
def build_command(
    text: Texts,
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder of the new store.")],
    more: MoreTexts = None,
    field: Field = "text",
    model: Annotated[str | None, typer.Option("--model", "-m", help="Lower-case as this model does.")] = None,
    cased: Annotated[
        bool | None, typer.Option("--cased/--uncased", help="Keep capitals, or lower-case (the default).")
    ] = None,
    words: Words = "english",
    contexts: Annotated[int, typer.Option(help="Contexts kept of each word.")] = 1000,
    window: Annotated[int, typer.Option(help="Words to each side in a context.")] = 25,
    min_count: Annotated[int, typer.Option(help="Rarer words get no contexts.")] = 1,
    seed: Annotated[int, typer.Option(help="Another seed draws another sample.")] = 0,
    workers: Workers = None,
    engine: EngineName = "local",
    address: Address = None,
    add: Annotated[bool, typer.Option("--add", help="Add to the store if it is there.")] = False,
) -> None:
    """Count the words of a text and sample their contexts.

    Example: `rarewords corpus build --text wiki/*.txt --out wiki.store`
    """
    from rarewords.corpus.build import add_text, build
    from rarewords.corpus.settings import CorpusSettings
    from rarewords.corpus.store import Store

    settings = CorpusSettings(
        contexts=contexts,
        window=window,
        lower_case=_lower_case(model, cased),
        words=_rule(words),
        min_count=min_count,
        seed=seed,
    )
    texts = [*text, *(more or [])]
    if add and (out / "store.json").exists():
        Store.open(out).settings.require_equal(settings, str(out), "this command")
        store = add_text(out, texts, field=field, workers=workers, engine=engine, address=address)
    else:
        store = build(texts, out, settings, field=field, workers=workers, engine=engine, address=address)
    _summary(store)


@app.command("add")
def add_command(
    store: Annotated[Path, typer.Argument(help="The store to add to.")],
    text: Texts,
    more: MoreTexts = None,
    field: Field = "text",
    workers: Workers = None,
    engine: EngineName = "local",
    address: Address = None,
) -> None:
    """Add text to a store; only the new text is read. The result is that of building from all of it."""
    from rarewords.corpus.build import add_text

    texts = [*text, *(more or [])]
    _summary(add_text(store, texts, field=field, workers=workers, engine=engine, address=address))


@app.command("merge")
def merge_command(
    stores: Annotated[list[Path], typer.Argument(help="Two stores or more, of different text.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder of the new store.")],
    workers: Workers = None,
    engine: EngineName = "local",
    address: Address = None,
) -> None:
    """Merge stores into one, the same as a store built from all their text."""
    from rarewords.corpus.build import merge_stores

    _summary(merge_stores(stores, out, workers=workers, engine=engine, address=address))


@app.command("show")
def show_command(
    store: Annotated[Path, typer.Argument(help="A store.")],
    word: Annotated[str | None, typer.Argument(help="A word; without it, what the store holds.")] = None,
    limit: Annotated[int, typer.Option(help="Contexts to print.", min=0)] = 10,
    check: Annotated[bool, typer.Option("--check", help="Compare all files with their checksums.")] = False,
    as_json: AsJson = False,
) -> None:
    """Print how often a word occurs, and contexts of it."""
    from dataclasses import asdict

    from rarewords.corpus.store import Store

    opened = Store.open(store)
    if check:
        opened.verify()
    if word is None:
        if as_json:
            print_json({"settings": opened.settings.to_dict(), "totals": vars(opened.totals)})
        else:
            _summary(opened)
        return
    contexts = opened.contexts(word, limit)
    count = opened.count(word)
    if as_json:
        print_json({"word": word, "count": count, "contexts": [asdict(context) for context in contexts]})
        return
    typer.echo(f"{word}: {count:,} times")
    for context in contexts:
        left, right = context.sentence[: context.start], context.sentence[context.end :]
        typer.echo(f"  {left}[{context.sentence[context.start : context.end]}]{right}")


def _lower_case(model: str | None, cased: bool | None) -> bool:
    if model is not None and cased is not None:
        raise InputError("--model decides about capitals; leave out --cased and --uncased, or --model")
    if model is None:
        return not cased
    from rarewords.scan import load_tokens

    return load_tokens(model).lower_case


def _rule(words: str) -> Literal["english", "any"]:
    if words == "english":
        return "english"
    if words == "any":
        return "any"
    raise InputError(f"--words must be english or any, not {words}")


def _summary(store: object) -> None:
    from rarewords.corpus.store import Store

    assert isinstance(store, Store)
    totals = store.totals
    size = sum(file.stat().st_size for file in store.path.iterdir())
    typer.echo(
        f"{store.path}: {totals.words:,} words ({len(store):,} distinct) in {totals.sentences:,} sentences, "
        f"{store.context_rows.rows:,} contexts from {store.sentence_count:,} sentences, {size / 1e6:,.1f} MB"
    )
    if totals.replaced:
        typer.echo(f"{totals.replaced:,} characters were not UTF-8 and were replaced")
