"""``rarewords corpus``: build a corpus of counts and contexts, and look into it."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

import rarewords  # its names load Arrow and more when they are used
from rarewords.cli import options
from rarewords.corpus.settings import CorpusSettings
from rarewords.models import load_tokenizer
from rarewords.tokens import Tokens

app = typer.Typer(no_args_is_help=True, help="Count the words of a text and sample sentences for each.")
_MODEL = typer.Option("--model", "-m", help="Lower-case text as this model does; by default always.")
_WORD = typer.Argument(help="A word; without it, check the corpus and print a summary.")


@app.command("build")
def build_command(
    out: options.OutFolder,
    texts: options.Texts = None,
    model: Annotated[str | None, _MODEL] = None,
    contexts: Annotated[int | None, options.number(help="Keep at most N contexts per word (1000).")] = None,
    settings: options.SettingsFile = None,
    set_: options.Set = None,
    field: options.Field = "text",
    workers: options.Workers = None,
) -> None:
    """Count the words of a text and sample their contexts.

    Example:

        rarewords corpus build wiki/*.txt --out wiki.corpus
    """
    lower_case = None if model is None else Tokens(load_tokenizer(model)).lower_case
    chosen = options.read_settings(CorpusSettings, settings, set_, contexts=contexts, lower_case=lower_case)
    wanted = CorpusSettings(**chosen)
    corpus = rarewords.Corpus.build(options.paths(texts), out, wanted, field=field, workers=workers)
    typer.echo(_summary(corpus))


@app.command("show")
def show_command(
    corpus: Annotated[Path, typer.Argument(help="A corpus.")],
    word: Annotated[str | None, _WORD] = None,
    contexts: Annotated[int, options.number(help="Print at most N contexts.")] = 10,
    as_json: options.Json = False,
) -> None:
    """Print how often a word occurs, and some of its contexts.

    Example:

        rarewords corpus show wiki.corpus kumquat
    """
    opened = rarewords.Corpus.open(corpus)
    if word is None:
        opened.check()
        about = {"settings": asdict(opened.settings), "totals": asdict(opened.totals)}
        options.show(as_json, about, _summary(opened))
        return
    found, count = opened.contexts(word, contexts), opened.count(word)
    lines = [f"  {text[:start]}[{text[start:end]}]{text[end:]}" for text, start, end in found]
    shown = {"word": word, "count": count, "contexts": [one._asdict() for one in found]}
    options.show(as_json, shown, f"{word}: {count:,} times", *lines)


def _summary(corpus: Any) -> str:
    totals, header = corpus.totals, corpus.header
    size = sum(file.stat().st_size for file in corpus.path.iterdir())
    return (
        f"{corpus.path}: {totals.words:,} words ({len(corpus):,} distinct) in {totals.sentences:,} sentences, "
        f"{header.contexts:,} contexts from {header.sentences:,} sentences, {size / 1e6:,.1f} MB"
        + (f"\n{totals.replaced:,} characters were not UTF-8 and were replaced" if totals.replaced else "")
    )
