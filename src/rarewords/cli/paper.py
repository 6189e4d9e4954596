"""``rarewords wnlampro``: build the paper's data set, probe, compare.

What loads torch or SciPy is imported inside the commands: it would delay ``--help`` by seconds.
"""

from pathlib import Path

import typer

import rarewords  # its names are loaded when they are used
from rarewords.cli import options
from rarewords.errors import InputError
from rarewords.files import open_text
from rarewords.models import load_tokens, shown_name
from rarewords.ota.settings import BASELINES
from rarewords.probe.build import Builder, open_wordnet
from rarewords.probe.dataset import Dataset
from rarewords.probe.result import ProbeResult
from rarewords.stages import work_beside
from rarewords.vectors import open_vectors, read_words

_HELP = "Measure what a model understands of words, by how often they occur."
app = typer.Typer(no_args_is_help=True, help=_HELP)


@app.command()
def build(
    counts: Path,
    out: Path,
    model: str = "default",
    wordnet: Path | None = None,
    corruptions: int = 2880,
    seed: int = 0,
) -> None:
    """Build the data set from WordNet 3.0, word counts and a model's vocabulary."""
    from rarewords.report.tables import sizes_table

    counted, reader, known = _read_counts(counts), open_wordnet(wordnet), load_tokens(model).whole_words
    dataset = Builder(reader, counted, known, seed=seed, corruptions=corruptions).dataset()
    dataset.save(out)
    typer.echo(sizes_table(dataset), nl=False)


@app.command("eval")
def evaluate(
    out: Path,
    model: str = "default",
    vectors: str | None = None,
    slash: bool | None = None,
    subset: str | None = None,
    limit: int | None = None,
    data: str = "default",
    answers: bool = False,
    settings: Path | None = None,
    workers: int = 1,
    engine: str = "local",
    device: str = "auto",
    as_json: bool = False,
) -> None:
    """Probe a model: MRR, P@3 and P@10 by relation and frequency.

    If interrupted, the same command resumes. `--settings` takes `depth`, the number of answers to rank.
    """
    from rarewords.probe.evaluate import EvalSettings
    from rarewords.report.tables import result_table

    method = vectors if vectors in (None, *BASELINES) else "vectors"
    chosen = options.read_settings(
        settings, EvalSettings, method=method, subset=subset, limit=limit, slash=slash
    )
    given = open_vectors(vectors) if method == "vectors" and vectors else None
    label = f"{shown_name(model)} {Path(vectors).stem}" if vectors else None
    dataset = Dataset.load(data)
    lm = rarewords.LanguageModel.from_pretrained(model, device=device)
    with work_beside(out) as stages, options.engine_or_none(engine, workers) as runner:
        result = rarewords.evaluate(
            lm, dataset, chosen, vectors=given, label=label, stages=stages, engine=runner, answers=answers
        )
        result.save(out)
    about = {"settings": dict(result.settings), "cells": result.summary()}
    options.show(as_json, about, result_table(result).rstrip("\n"))


@app.command()
def compare(results: list[Path], words: Path | None = None, as_json: bool = False) -> None:
    """Print the paper's main table for any number of results.

    The best result of a cell is bold; `*` marks a significant difference from the first result.
    """
    from rarewords.probe.compare import compare as compare_results
    from rarewords.report.tables import answers_table, comparison_table, difference_table

    loaded = [ProbeResult.load(path) for path in results]
    comparison = compare_results(loaded)
    tables = [comparison_table(comparison)]
    if len(results) > 1:
        tables.append(f"MRR against {comparison.labels[0]}:\n\n{difference_table(comparison)}")
    if words is not None:
        tables.append(answers_table(loaded, set(read_words(words))))
    options.show(as_json, comparison.as_json(), "\n".join(tables).rstrip("\n"))


def _read_counts(path: Path) -> dict[str, int]:
    """Every word of a corpus with its count, from a store or from ``word<TAB>count`` lines."""
    if path.is_dir():
        words, numbers = rarewords.Store.open(path).counts()
        return dict(zip(words, numbers.tolist(), strict=True))
    counts: dict[str, int] = {}
    with open_text(path) as lines:
        for number, line in enumerate(lines, 1):
            word, _, count = line.rstrip("\n").partition("\t")
            if not word or not (count.isascii() and count.isdigit()):
                raise InputError(f"{path}, line {number}: expected a word, a tab and a count, not {line!r}")
            counts[word] = counts.get(word, 0) + int(count)
    return counts
