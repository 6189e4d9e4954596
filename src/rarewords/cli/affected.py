"""``rarewords affected``: which documents must be embedded again?"""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from rarewords.cli import options


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
    from rarewords.teaching.affected import affected_documents

    found = affected_documents(model, options.all_texts(texts, None), field=field, id_field=id_field)
    if as_json:
        options.print_json([asdict(one) for one in found])
        return
    for one in found:
        place = f"{one.file}:{one.number}" if one.id is None else one.id
        typer.echo(f"{place}\t{', '.join(one.words)}")
