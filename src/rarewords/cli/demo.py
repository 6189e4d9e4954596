"""``rarewords demo``: what the bundled model knows, and what it does not."""

from __future__ import annotations

import typer

FREQUENT = ("bicycle", "violin", "salmon", "apple", "hammer")
RARE = ("unicycle", "lingonberry", "kumquat", "samosa", "salsify")


def demo() -> None:
    """Show the bundled model's answers for frequent and for rare words."""
    from rich.console import Console
    from rich.table import Table

    from rarewords import LanguageModel, Query

    lm = LanguageModel.from_pretrained()
    words = [*FREQUENT, *RARE]
    answers = lm.fill([Query("a <W> is a kind of _ .", word) for word in words], top_k=5)
    table = Table(title="a ... is a kind of _ .", title_justify="left")
    for heading in ("word", "pieces", "the model answers"):
        table.add_column(heading)
    for row, word in enumerate(words):
        pieces = " ".join(lm.piece_strings(lm.pieces(word)))
        table.add_row(word, pieces, ", ".join(answers.words(row)), end_section=row == len(FREQUENT) - 1)
    Console().print(table)
    typer.echo("Frequent words are one piece and are known; rare ones are cut into pieces and are not.")
