"""``rarewords wnlampro``: build the paper's data set, probe, compare.

What loads torch or SciPy is imported inside the commands: it would delay ``--help`` by seconds.
"""

from pathlib import Path
from typing import Annotated

import typer

import rarewords  # its names are loaded when they are used
from rarewords._internal.cache import workspace
from rarewords._internal.files import open_text
from rarewords.cli import options
from rarewords.embeddings import read_words
from rarewords.errors import InputError
from rarewords.models import load_tokenizer, shown_name
from rarewords.ota.settings import BASELINES
from rarewords.tokens import Placement, Tokens

_HELP = "Measure what a model understands of words, by how often they occur."
app = typer.Typer(no_args_is_help=True, help=_HELP)


@app.command()
def build(
    counts: Annotated[Path, typer.Option(help="A corpus, or a file of `word<TAB>count` lines.")],
    out: options.OutFile,
    model: options.Model = "default",
    wordnet: Annotated[Path | None, typer.Option(help="The folder of WordNet 3.0's files.")] = None,
    corruptions: Annotated[int, options.advanced(min=0, help="The number of misspelled words.")] = 2880,
    seed: Annotated[int, options.advanced(min=0, help="Seed of all random choices.")] = 0,
) -> None:
    """Build the data set from WordNet 3.0, word counts and a model's vocabulary.

    Example:

        rarewords wnlampro build --counts wiki.corpus --out wnlampro.tsv.gz
    """
    from rarewords.wnlampro.tables import sizes_table

    known = Tokens(load_tokenizer(model)).whole_words
    dataset = rarewords.wnlampro.build(_read_counts(counts), known, wordnet=wordnet, seed=seed, corruptions=corruptions)
    dataset.save(out)
    typer.echo(sizes_table(dataset), nl=False)


@app.command("eval")
def evaluate(
    out: options.OutFile,
    model: options.Model = "default",
    embeddings: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|first|last|avg",
            help="Replace keywords with embeddings: a file, or the first, last or mean embedding of their "
            "subwords. By default keywords stay as they are.",
        ),
    ] = None,
    placement: Annotated[Placement | None, typer.Option(help="Show the embedding alone, or after the keyword.")] = None,
    subset: Annotated[
        str | None, typer.Option("--subset", metavar="SET", help="`dev`, `test` or `all`.", show_default="all")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, metavar="N", help="Ask at most N entries, evenly spread.")] = None,
    data: Annotated[str, typer.Option(help="A data set file; `default` is the one that ships.")] = "default",
    answers: Annotated[bool, typer.Option("--answers", help="Keep answers, for `wnlampro compare --words`.")] = False,
    settings: options.SettingsFile = None,
    set_: options.Set = None,
    workers: options.Workers = None,
    engine: options.EngineName = "local",
    device: options.Device = "auto",
    as_json: options.Json = False,
) -> None:
    """Probe a model: MRR, P@3 and P@10 by relation and frequency.

    After an interruption the same command resumes.

    Example:

        rarewords wnlampro eval --subset dev --out dev.json
    """
    from rarewords.wnlampro.tables import result_table

    method = embeddings if embeddings in (None, *BASELINES) else "embeddings"
    chosen = options.read_settings(
        settings, set_, rarewords.wnlampro.EvalSettings, method=method, subset=subset, limit=limit, placement=placement
    )
    given = rarewords.WordEmbeddings.load(embeddings) if method == "embeddings" and embeddings else None
    label = f"{shown_name(model)} {Path(embeddings).stem}" if embeddings else None
    dataset = rarewords.wnlampro.load(data)
    lm = rarewords.LanguageModel.from_pretrained(model, device=device)
    with workspace(out) as cache, options.engine_or_none(engine, workers) as runner:
        result = rarewords.wnlampro.evaluate(
            lm, dataset, chosen, embeddings=given, label=label, cache=cache, engine=runner, answers=answers
        )
        result.save(out)
    about = {"settings": dict(result.settings), "cells": result.summary()}
    options.show(as_json, about, result_table(result).rstrip("\n"))


@app.command()
def compare(
    results: Annotated[list[Path], typer.Argument(help="Files written by `rarewords wnlampro eval`.")],
    words: Annotated[
        Path | None, typer.Option("--words", "-w", help="Also show the answers for the words of a file.")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Print the paper's main table for any number of results.

    The best result of a cell is bold; `*` marks a significant difference from the first result.

    Example:

        rarewords wnlampro compare before.json after.json
    """
    from rarewords.wnlampro.tables import answers_table, comparison_table, difference_table

    loaded = [rarewords.wnlampro.ProbeResult.load(path) for path in results]
    comparison = rarewords.wnlampro.compare(loaded)
    tables = [comparison_table(comparison)]
    if len(results) > 1:
        tables.append(f"MRR against {comparison.labels[0]}:\n\n{difference_table(comparison)}")
    if words is not None:
        tables.append(answers_table(loaded, set(read_words(words))))
    options.show(as_json, comparison.as_json(), "\n".join(tables).rstrip("\n"))


def _read_counts(path: Path) -> dict[str, int]:
    """Every word of a corpus with its count, from a corpus or from ``word<TAB>count`` lines."""
    if path.is_dir():
        words, numbers = rarewords.Corpus.open(path).counts()
        return dict(zip(words, numbers.tolist(), strict=True))
    counts: dict[str, int] = {}
    with open_text(path) as lines:
        for number, line in enumerate(lines, 1):
            word, _, count = line.rstrip("\n").partition("\t")
            if not word or not (count.isascii() and count.isdigit()):
                problem = f"{path}, line {number}: expected a word, a tab and a count, not {line!r}"
                raise InputError(problem, code="usage")
            counts[word] = counts.get(word, 0) + int(count)
    return counts
