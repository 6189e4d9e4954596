"""``rarewords inject``: word vectors into a model folder."""

from pathlib import Path
from typing import Annotated

import typer

from rarewords.cli import options


def inject(
    vectors: Annotated[
        Path, typer.Option(help="Word vectors: .safetensors, or word2vec text (.txt, .vec, .gz).")
    ],
    out: options.NewModel,
    model: options.Model = "default",
    predictable: Annotated[
        bool, typer.Option("--predictable", help="Let the model answer with the new words.")
    ] = False,
    existing: Annotated[
        str, typer.Option(help="For words the vocabulary already holds: refuse, replace or skip.")
    ] = "refuse",
    slash: Annotated[
        bool,
        typer.Option("--slash", help="Keep the word's pieces and put its token behind them."),
    ] = False,
    as_json: options.AsJson = False,
) -> None:
    """Put word vectors into a model and save it as an ordinary Hugging Face folder.

    The folder loads with plain transformers. Text without the new words gives the same outputs as before.
    """
    from rarewords.injection import inject_folder
    from rarewords.vectors import open_vectors

    done = inject_folder(
        model, open_vectors(vectors), out, predictable=predictable, existing=existing, slash=slash
    )
    if as_json:
        options.print_json(
            {"folder": str(out), "ids": done.ids, "replaced": done.replaced, "skipped": done.skipped}
        )
        return
    typer.echo(f"{out}: {len(done.ids):,} words, {len(done.replaced)} replaced; {len(done.skipped)} skipped")
