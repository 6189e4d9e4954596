"""Commands on one model folder: ``ask``, ``inject``, ``words``, ``forget`` and ``affected``."""

from functools import reduce
from pathlib import Path

import typer

import rarewords  # its names load torch when they are used, which takes seconds
from rarewords.cli import options
from rarewords.vectors import open_vectors


def ask(
    patterns: list[str], model: str = "default", top: int = 5, device: str = "auto", as_json: bool = False
) -> None:
    """Fill the blank in a sentence and show the most probable answers.

    Example: `rarewords ask "a kumquat is a kind of _ ."`
    """
    lm = rarewords.LanguageModel.from_pretrained(model, device=device)
    blanks = ("[MASK]", "<mask>", lm.tokens.mask_token)
    queries = [reduce(lambda text, blank: text.replace(blank, "_"), blanks, pattern) for pattern in patterns]
    answers = lm.fill([rarewords.Query(query) for query in queries], top_k=top)
    found, lines = [], []
    for row, pattern in enumerate(patterns):
        shown = answers.as_json(row)
        found.append({"sentence": pattern, "answers": shown})
        listed = (f"{one['word']} {one['probability']:.2f}" for one in shown)
        lines.append(f"{pattern}  ->  {', '.join(listed)}")
    options.show(as_json, found, *lines)


def inject(
    vectors: Path,
    out: Path,
    model: str = "default",
    predictable: bool = False,
    slash: bool = False,
    as_json: bool = False,
) -> None:
    """Put word vectors into a model and save it as an ordinary Hugging Face folder.

    The folder loads with plain transformers. Text without the new words gives the same outputs as before.
    Words that the model has as one token already are skipped.
    """
    done = rarewords.inject_folder(model, open_vectors(vectors), out, predictable=predictable, slash=slash)
    line = f"{out}: {len(done.ids):,} words"
    if done.skipped:
        line += (
            f"; skipped {len(done.skipped):,} that the model has already: {options.first_few(done.skipped)}"
        )
    options.show(as_json, {"folder": str(out), **vars(done)}, line)


def words(folder: Path, as_json: bool = False) -> None:
    """List the words that a folder was taught: how often the text had them, and how each was judged.

    Example: `rarewords words taught`
    """
    from rarewords.forget import taught_words

    found = taught_words(folder)
    lines = (f"{one.word}\t{one.count:,} times\t{one.verdict}\tlearner: {one.learner}" for one in found)
    options.show(as_json, [vars(one) for one in found], *lines)


def forget(folder: Path, words: list[str], out: Path) -> None:
    """Save a taught folder without some of its words; the others stay as they are.

    Example: `rarewords forget taught kumquat --out fewer`
    """
    from rarewords.forget import forget as forget_words

    left = forget_words(folder, words, out)
    typer.echo(f"{out}: {len(left):,} taught words left")


def affected(
    model: str,
    texts: list[str] | None = None,
    field: str = "text",
    id_field: str | None = None,
    as_json: bool = False,
) -> None:
    """List the documents that hold a taught word and must be embedded again; every line of text is one.

    Example: `rarewords affected --model taught documents.jsonl --id id`
    """
    from rarewords.forget import affected as affected_texts
    from rarewords.forget import documents

    found = affected_texts(model, documents(texts or [], field, id_field))
    if as_json:
        options.show(True, [{**one._asdict(), "words": words} for one, words in found])
        return
    for one, words in found:  # as they are found: there may be millions of documents
        typer.echo(f"{one.id or f'{one.file}:{one.number}'}\t{', '.join(words)}")
