"""``rarewords scan``: which words of a text does the model lack?"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from rarewords.cli import options


def scan(
    texts: options.Texts = None,
    text: options.TextOption = None,
    model: options.Model = "default",
    rule: options.Rule = "english",
    min_count: Annotated[
        int, typer.Option(min=1, metavar="N", help="List words that occur at least N times.")
    ] = 1,
    top: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="List N words (20 on screen, all in files).")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write a words file for `teach`.")] = None,
    field: options.Field = "text",
    workers: options.Workers = None,
    as_json: options.AsJson = False,
) -> None:
    """Find the words of a text that the model splits into pieces, those that lose most first.

    Example: `rarewords scan reports/*.txt --out words.txt`
    """
    # Imported here, as in every command: numpy and what builds on it would slow down --help.
    from rarewords.files import whole_file
    from rarewords.teaching.scan import scan as scan_text

    given, checked = options.all_texts(texts, text), options.word_rule(rule)
    found = scan_text(given, model, rule=checked, min_count=min_count, field=field, workers=workers)
    chosen = found.missing[:top]
    if out is not None:
        # A word that loses nothing gains nothing from teaching.
        lines = [f"{word.word}\t{word.count}\n" for word in chosen if word.gain > 0]
        with whole_file(out) as temporary:
            temporary.write_text("".join(lines), "utf-8")
    if as_json:
        missing = [{**asdict(word), "gain": round(word.gain, 2)} for word in chosen]
        options.print_json({**asdict(found), "missing": missing})
        return
    share = 100 * found.missing_occurrences / found.occurrences
    typer.echo(
        f"{found.missing_words:,} of {found.words:,} words are not one piece for {found.model}; "
        f"they are {share:.1f} % of the text"
    )
    if min_count > 1:
        typer.echo(f"Of these, words that occur {min_count:,} times or more: {len(found.missing):,}")
    if found.left_out:
        typer.echo(f"Words that --rule {rule} leaves out: {found.left_out:,} (--rule any counts them)")
    shown = chosen if top else chosen[:20]
    width = max([4, *(len(word.word) for word in shown)])
    if shown:
        typer.echo(f"{'word':<{width}}  {'count':>9}  {'gain':>9}  pieces")
    for word in shown:
        typer.echo(f"{word.word:<{width}}  {word.count:>9,}  {word.gain:>9,.0f}  {' '.join(word.pieces)}")
