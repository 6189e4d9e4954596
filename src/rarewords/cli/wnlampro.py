"""``rarewords wnlampro``: build the paper's data set, probe, compare.

What loads torch or SciPy is imported inside the commands: it would delay ``--help`` by seconds.
"""

from pathlib import Path
from typing import Annotated, Literal

import typer

import rarewords  # its names are loaded when they are used
from rarewords._internal.cache import workspace
from rarewords.cli import options
from rarewords.embeddings import read_words
from rarewords.models import load_tokenizer, shown_name
from rarewords.ota.settings import BASELINES
from rarewords.tokens import Tokens

app = typer.Typer(no_args_is_help=True, help="Measure what a model understands of words, by how often they occur.")
_EMBEDDINGS = "Replace keywords with the embeddings of a file, or the first, last or mean embedding of their subwords."


@app.command()
def build(
    counts: options.CorpusPath,
    out: options.OutFile,
    model: options.Model = "default",
    wordnet: Annotated[Path | None, typer.Option(help="The folder of WordNet 3.0's files.")] = None,
) -> None:
    """Build the data set from WordNet 3.0, the counts of a corpus and a model's vocabulary.

    Example:

        rarewords wnlampro build --counts wiki.corpus --out wnlampro.tsv.gz
    """
    from rarewords.wnlampro.tables import sizes_table

    known = Tokens(load_tokenizer(model)).whole_words
    words, numbers = rarewords.Corpus.open(counts).counts()
    dataset = rarewords.wnlampro.build(dict(zip(words, numbers.tolist(), strict=True)), known, wordnet=wordnet)
    dataset.save(out)
    typer.echo(sizes_table(dataset), nl=False)


@app.command("eval")
def evaluate(
    out: options.OutFile,
    model: options.Model = "default",
    embeddings: Annotated[str | None, typer.Option(metavar="FILE|first|last|avg", help=_EMBEDDINGS)] = None,
    placement: options.Placement = None,
    subset: Annotated[Literal["dev", "test", "all"] | None, typer.Option(help="The default is `all`.")] = None,
    limit: Annotated[int | None, options.number(help="Ask at most N entries, evenly spread.")] = None,
    data: Annotated[str, typer.Option(help="A data set file; `default` is the one that ships.")] = "default",
    answers: Annotated[bool, typer.Option("--answers", help="Keep answers, for `wnlampro compare --words`.")] = False,
    settings: options.SettingsFile = None,
    set_: options.Set = None,
    device: options.Device = "auto",
    as_json: options.Json = False,
) -> None:
    """Probe a model: MRR, P@3 and P@10 by relation and frequency.

    After an interruption the same command resumes.

    Example:

        rarewords wnlampro eval --subset dev --out dev.json
    """
    from rarewords.wnlampro.tables import result_table

    kind, given, label = rarewords.wnlampro.EvalSettings, None, None
    method = embeddings if embeddings in (None, *BASELINES) else "embeddings"
    changes = {"method": method, "subset": subset, "limit": limit, "placement": placement}
    chosen = kind(**options.read_settings(kind, settings, set_, **changes))
    if embeddings is not None:
        given = rarewords.WordEmbeddings.load(embeddings) if method == "embeddings" else None
        label = f"{shown_name(model)} {Path(embeddings).stem}"
    dataset = rarewords.wnlampro.load(data)
    lm = rarewords.LanguageModel.from_pretrained(model, device=device)
    with workspace(out) as cache:
        result = rarewords.wnlampro.evaluate(
            lm, dataset, chosen, embeddings=given, label=label, cache=cache, answers=answers
        )
        result.save(out)
    about = {"settings": dict(result.settings), "cells": result.summary()}
    options.show(as_json, about, result_table(result).rstrip("\n"))


@app.command()
def compare(
    results: Annotated[list[Path], typer.Argument(help="Files written by `rarewords wnlampro eval`.")],
    words: Annotated[Path | None, typer.Option("--words", "-w", help="Show the answers for these words, too.")] = None,
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
