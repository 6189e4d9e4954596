"""Commands on one model folder: ``ask``, ``inject``, ``words``, ``forget`` and ``affected``."""

from pathlib import Path
from typing import Annotated

import typer

import rarewords  # its names load torch when they are used, which takes seconds
from rarewords._internal.cache import require_free
from rarewords.cli import options
from rarewords.tokens import Placement

_SENTENCE = "Sentences, for a masked LM with one blank each: `_`, `[MASK]` or `<mask>`."
_EMBEDDINGS = "Word embeddings, as `ota` or `mimic infer` write them."
_ALLOW_PREDICTION = "Let the model answer with the new words."
_ID = "The field with a document's id in jsonl, csv, tsv and parquet; a line of plain text is FILE:LINE instead."


def ask(
    patterns: Annotated[list[str], typer.Argument(metavar="SENTENCE", help=_SENTENCE)],
    model: options.Model = "default",
    top: Annotated[int, options.number(help="Show N answers.")] = 5,
    device: options.Device = "auto",
    as_json: options.Json = False,
) -> None:
    """Ask a masked LM to fill a blank, an encoder for the nearest words, or a causal LM to continue.

    A causal LM continues the sentence, up to its blank if it has one. An encoder shows the nearest words.

    Example:

        rarewords ask "a kumquat is a kind of _."
    """
    from rarewords.teaching.ask import ask as asked  # loads torch

    answers = asked(rarewords.LanguageModel.from_pretrained(model, device=device), patterns, top)
    found, lines = [], []
    for pattern, own in zip(patterns, answers, strict=True):
        found.append({"sentence": pattern, "answers": own})
        cells = [[f"{one:.2f}" if isinstance(one, float) else one for one in each.values()] for each in own]
        lines.append(f"{pattern}  ->  {', '.join(map(' '.join, cells))}")
    options.show(as_json, found, *lines)


def inject(
    embeddings: Annotated[Path, typer.Option(help=_EMBEDDINGS)],
    out: options.OutFolder,
    model: options.Model = "default",
    placement: Annotated[Placement, typer.Option(help=options.PLACEMENT)] = "replace",
    allow_prediction: Annotated[bool, typer.Option("--allow-prediction", help=_ALLOW_PREDICTION)] = False,
) -> None:
    """Add word embeddings to a model and save it as an ordinary Hugging Face folder.

    The folder loads with plain Transformers. Text without the new words gives the same outputs as before.
    Words that the model has as one token already are skipped.

    Example:

        rarewords inject --embeddings words.safetensors --out taught
    """
    require_free(out)
    from rarewords.injection.inject import inject_folder  # loads torch

    done = inject_folder(
        model, rarewords.WordEmbeddings.load(embeddings), out, allow_prediction=allow_prediction, placement=placement
    )
    line = f"{out}: {len(done.ids):,} words"
    if done.skipped:
        line += f"; skipped {len(done.skipped):,} that the model has already: {options.first_few(done.skipped)}"
    options.echo(line)


def words(folder: options.Taught, as_json: options.Json = False) -> None:
    """List the added words of a folder, how often the text had them, and how each was checked.

    Example:

        rarewords words taught
    """
    from rarewords.injection.forget import taught_words

    found, header = taught_words(folder), ("word", "also", "count", "verdict", "learner")
    rows = [(one.word, ", ".join(one.forms), f"{one.count:,}", one.verdict, one.learner) for one in found]
    lines = options.table(header, rows, numbers=("count",)) if rows else [f"{folder} has no added words"]
    options.show(as_json, [vars(one) for one in found], *lines)


def forget(
    folder: options.Taught,
    words: Annotated[list[str], typer.Argument(metavar="WORD", help="The words to forget.")],
    out: options.OutFolder,
) -> None:
    """Save a folder without some of its added words; the others stay as they are.

    Example:

        rarewords forget taught kumquat --out fewer
    """
    left = rarewords.forget(folder, words, out)
    typer.echo(f"{out}: {len(left):,} added words left")


def affected(
    model: Annotated[str, typer.Option("--model", "-m", help="A folder made by `rarewords teach`.")],
    texts: options.Texts = None,
    field: options.Field = "text",
    id_field: Annotated[str | None, typer.Option("--id", metavar="FIELD", help=_ID)] = None,
    as_json: options.Json = False,
) -> None:
    """List the documents that mention an added word, so that you can embed them again. Each line is a document.

    Example:

        rarewords affected documents.jsonl --model taught --id id
    """
    from rarewords.injection.forget import documents

    found = rarewords.affected(model, documents(options.paths(texts), field, id_field))
    if as_json:
        options.show(True, [{**one._asdict(), "words": words} for one, words in found])
        return
    for one, words in found:  # as they are found: there may be millions of documents
        cells = one.id or f"{one.file}:{one.number}", ", ".join(words)
        typer.echo("\t".join(map(options.printable, cells)))
