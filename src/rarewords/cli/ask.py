"""``rarewords ask``: what does the model put into a blank?"""

from functools import reduce
from typing import Annotated

import typer

from rarewords.cli import options


def ask(
    patterns: Annotated[
        list[str],
        typer.Argument(help="Sentences with one blank each: `_`, `[MASK]` or `<mask>`.", metavar="SENTENCE"),
    ],
    model: options.Model = "default",
    top: Annotated[int, typer.Option(help="Show N answers.", min=1, metavar="N")] = 5,
    device: options.Device = "auto",
    as_json: options.AsJson = False,
) -> None:
    """Fill the blank in a sentence and show the most probable answers.

    Example: `rarewords ask "a kumquat is a kind of _ ."`
    """
    import math

    from rarewords.lm import LanguageModel, Query

    lm = LanguageModel.from_pretrained(model, device=device)
    blanks = ("[MASK]", "<mask>", lm.tokens.mask_token)
    queries = [reduce(lambda text, blank: text.replace(blank, "_"), blanks, pattern) for pattern in patterns]
    answers = lm.fill([Query(query) for query in queries], top_k=top)
    found = []
    for row, pattern in enumerate(patterns):
        chances = [round(math.exp(log_prob), 4) for log_prob in answers.log_probs[row].tolist()]
        pairs = list(zip(answers.words(row), chances, strict=True))
        found.append(
            {
                "sentence": pattern,
                "answers": [{"word": word, "probability": chance} for word, chance in pairs],
            }
        )
        if not as_json:
            typer.echo(f"{pattern}  ->  {', '.join(f'{word} {chance:.2f}' for word, chance in pairs)}")
    if as_json:
        options.print_json(found)
