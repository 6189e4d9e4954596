"""``rarewords corpus``: build a store of counts and contexts, and look into it."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer

import rarewords  # its names load Arrow and more when they are used
from rarewords.cli import options
from rarewords.corpus.settings import CorpusSettings
from rarewords.models import load_tokens

app = typer.Typer(no_args_is_help=True, help="Counts and contexts of the words of a text.")


@app.command("build")
def build_command(
    out: Path,
    texts: list[str] | None = None,
    field: str = "text",
    model: str | None = None,
    rule: str | None = None,
    contexts: int | None = None,
    min_count: int | None = None,
    settings: Path | None = None,
    workers: int | None = None,
    engine: str = "local",
) -> None:
    """Count the words of a text and sample their contexts.

    Example: `rarewords corpus build wiki/*.txt --out wiki.store`
    """
    lower_case = None if model is None else load_tokens(model).lower_case
    changes = {"contexts": contexts, "lower_case": lower_case, "words": rule, "min_count": min_count}
    wanted = options.read_settings(settings, CorpusSettings, **changes)
    store = rarewords.build_store(texts or [], out, wanted, field=field, workers=workers, engine=engine)
    typer.echo(_summary(store))


@app.command("show")
def show_command(store: Path, word: str | None = None, contexts: int = 10, as_json: bool = False) -> None:
    """Print how often a word occurs, and contexts of it."""
    opened = rarewords.Store.open(store)
    if word is None:
        opened.check()
        about = {"settings": opened.settings.to_dict(), "totals": asdict(opened.totals)}
        options.show(as_json, about, _summary(opened))
        return
    found, count = opened.contexts(word, contexts), opened.count(word)
    lines = [f"{word}: {count:,} times"]
    for text, start, end in found:
        lines.append(f"  {text[:start]}[{text[start:end]}]{text[end:]}")
    shown = {"word": word, "count": count, "contexts": [one._asdict() for one in found]}
    options.show(as_json, shown, *lines)


def _summary(store: Any) -> str:
    totals, header = store.totals, store.header
    size = sum(file.stat().st_size for file in store.path.iterdir())
    return (
        f"{store.path}: {totals.words:,} words ({len(store):,} distinct) in {totals.sentences:,} sentences, "
        f"{header.contexts:,} contexts from {header.sentences:,} sentences, {size / 1e6:,.1f} MB"
        + (f"\n{totals.replaced:,} characters were not UTF-8 and were replaced" if totals.replaced else "")
    )
