"""``rarewords demo``: what the bundled model does not know, and what it knows after teaching."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rarewords.cli.options import AsJson, print_json

FREQUENT = ("bicycle", "violin", "salmon", "apple", "hammer")


def demo(
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Keep the taught model in this folder.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Teach the bundled model rare words from sentences of Wikipedia, in less than a minute.

    The sentences ship with the package. The words were drawn by a rule, not by how well they turn out, so
    some of them fail.
    """
    from importlib.resources import as_file, files
    from tempfile import TemporaryDirectory

    from rich.console import Console
    from rich.table import Table

    from rarewords.cli.teach import print_taught
    from rarewords.lm import LanguageModel, Query
    from rarewords.teaching.teach import teach
    from rarewords.vectors import read_words

    with as_file(files("rarewords") / "assets" / "demo") as data, TemporaryDirectory() as temporary:
        lm = LanguageModel.from_pretrained()
        if not as_json:
            answers = lm.fill([Query("a <W> is a kind of _ .", word) for word in FREQUENT], top_k=3)
            title = "Frequent words are one piece, and the bundled model knows them"
            table = Table("word", "a … is a kind of _", title=title, title_justify="left")
            for row, word in enumerate(FREQUENT):
                table.add_row(word, ", ".join(answers.words(row)))
            Console().print(table)
            pieces = " ".join(lm.piece_strings(lm.pieces("kumquat")))
            typer.echo(
                f"Rare words are split into pieces (kumquat: {pieces}). Teaching some from Wikipedia …"
            )
        words = read_words(data / "words.txt")
        folder = out or Path(temporary) / "taught"
        taught = teach([data / "text.txt"], folder, words=words, model=lm, workers=1)
    if as_json:
        print_json(taught.as_json())
        return
    print_taught(taught, shown=len(words), place=str(out) if out else "The demo's model")
    typer.echo("To teach words of your own text: rarewords teach FILES --out FOLDER")
