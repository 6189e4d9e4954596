"""``rarewords words``, ``forget`` and ``affected``: what a folder was taught, less of it, what it touches."""

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


def affected(
    model: Annotated[str, typer.Option("--model", "-m", help="A folder made by `rarewords teach`.")],
    texts: options.Texts = None,
    field: options.Field = "text",
    id_field: Annotated[
        str | None,
        typer.Option("--id", metavar="FIELD", help="The field with a document's id in jsonl, csv, parquet."),
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """List the documents that hold a taught word and must be embedded again; every line of text is one.

    Example: `rarewords affected --model taught documents.jsonl --id id`
    """
    from rarewords.forget import affected_documents

    found = affected_documents(model, options.all_texts(texts, None), field=field, id_field=id_field)
    if as_json:
        options.print_json([vars(one) for one in found])
        return
    for one in found:
        place = f"{one.file}:{one.number}" if one.id is None else one.id
        typer.echo(f"{place}\t{', '.join(one.words)}")
