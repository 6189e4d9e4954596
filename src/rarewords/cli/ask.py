"""``rarewords ask``: what does the model put into a blank?"""

from __future__ import annotations

import math
from typing import Annotated

import typer

from rarewords.cli.options import AsJson, Device, Dtype, Model, print_json


def ask(
    patterns: Annotated[
        list[str], typer.Argument(help='Sentences with one "_" each.', metavar="SENTENCE...")
    ],
    model: Model = "default",
    top: Annotated[int, typer.Option(help="How many answers.", min=1)] = 5,
    device: Device = "auto",
    dtype: Dtype = "float32",
    as_json: AsJson = False,
) -> None:
    """Fill the blank in a sentence and show the most probable answers.

    Example: `rarewords ask "a kumquat is a kind of _ ."`
    """
    from rarewords import LanguageModel, Query

    lm = LanguageModel.from_pretrained(model, device=device, dtype=dtype)
    answers = lm.fill([Query(pattern) for pattern in patterns], top_k=top)
    rows = [
        {
            "sentence": pattern,
            "answers": [
                {"word": word, "probability": round(math.exp(log_prob), 4)}
                for word, log_prob in zip(answers.words(row), answers.log_probs[row].tolist(), strict=True)
            ],
        }
        for row, pattern in enumerate(patterns)
    ]
    if as_json:
        print_json(rows)
        return
    for row in rows:
        found = ", ".join(f"{answer['word']} {answer['probability']:.2f}" for answer in row["answers"])  # type: ignore[index]
        typer.echo(f"{row['sentence']}  ->  {found}")
