"""``rarewords scan``: which words of this text does the model not have?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rarewords.cli.corpus import Field, MoreTexts, Texts, Words, Workers, _rule
from rarewords.cli.options import AsJson, Model, print_json


def scan(
    text: Texts,
    more: MoreTexts = None,
    model: Model = "default",
    field: Field = "text",
    words: Words = "english",
    min_count: Annotated[int, typer.Option(help="Leave out rarer words.", min=1)] = 1,
    top: Annotated[
        int | None, typer.Option(help="How many words; otherwise 20 on screen, all in files.", min=1)
    ] = None,
    workers: Workers = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write a words file for `teach`.")] = None,
    as_json: AsJson = False,
) -> None:
    """Find the words of a text that the model splits into pieces, those that lose most by it first.

    Example: `rarewords scan --text reports/*.txt --out words.txt`
    """
    from rarewords.scan import scan_text, write_words

    texts = [*text, *(more or [])]
    found = scan_text(texts, model, field=field, words=_rule(words), min_count=min_count, workers=workers)
    chosen = found.missing[:top]
    if out is not None:
        # Teaching a word whose parts are all known gains nothing.
        write_words(out, [word for word in chosen if word.gain > 0])
    if as_json:
        print_json(
            {
                "model": found.model,
                "words": found.words,
                "occurrences": found.occurrences,
                "missing_words": len(found.missing),
                "missing_occurrences": found.missing_occurrences,
                "missing": [
                    {
                        "word": word.word,
                        "count": word.count,
                        "pieces": list(word.pieces),
                        "lost": round(word.lost, 4),
                        "gain": round(word.gain, 2),
                    }
                    for word in chosen
                ],
            }
        )
        return
    share = 100 * found.missing_occurrences / max(found.occurrences, 1)
    typer.echo(
        f"{len(found.missing):,} of {found.words:,} words are not one piece for {found.model}; "
        f"they are {share:.1f} % of the text"
    )
    shown = chosen if top else chosen[:20]
    if shown:
        width = max(4, *(len(word.word) for word in shown))
        typer.echo(f"{'word':<{width}}  {'count':>9}  {'gain':>9}  pieces")
        for word in shown:
            pieces = " ".join(word.pieces)
            typer.echo(f"{word.word:<{width}}  {word.count:>9,}  {word.gain:>9,.0f}  {pieces}")
