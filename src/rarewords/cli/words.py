"""``rarewords words`` and ``rarewords forget``: what a folder was taught, and less of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rarewords.cli import options

Folder = Annotated[Path, typer.Argument(help="A folder made by `rarewords teach` or `inject`.")]


def words(folder: Folder, as_json: options.AsJson = False) -> None:
    """List the words that a folder was taught: how often the text had them, and how each was judged.

    Example: `rarewords words taught`
    """
    from rarewords.forget import taught_words

    found = taught_words(folder)
    if as_json:
        options.print_json([vars(one) for one in found])
        return
    for one in found:
        typer.echo(f"{one.word}\t{one.count:,} times\t{one.verdict}\tlearner: {one.learner}")


def forget(
    folder: Folder,
    words: Annotated[list[str], typer.Argument(help="The words to forget.", metavar="WORD")],
    out: options.NewModel,
) -> None:
    """Save a taught folder without some of its words; the others stay as they are.

    Example: `rarewords forget taught kumquat --out fewer`
    """
    from rarewords.forget import forget as forget_words

    left = forget_words(folder, words, out)
    typer.echo(f"{out}: {len(left):,} taught words left")
