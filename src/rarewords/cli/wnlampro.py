"""``rarewords wnlampro``: build the data set, probe a model, compare results, draw them.

The library is imported inside the commands: torch and NumPy would delay ``--help`` by seconds.
"""

from pathlib import Path
from typing import Annotated

import typer

from rarewords.cli import options
from rarewords.errors import InputError

app = typer.Typer(
    help="Measure what a model understands of words, by how often they occur.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)

Out = Annotated[Path, typer.Option("--out", "-o", help="The file to write.")]
Results = Annotated[list[Path], typer.Argument(help="Files written by `rarewords wnlampro eval`.")]


@app.command()
def build(
    counts: Annotated[Path, typer.Option(help="A corpus store, or a file of `word<TAB>count` lines.")],
    out: Out,
    model: options.Model = "default",
    wordnet: Annotated[Path | None, typer.Option(help="The folder of WordNet 3.0's files.")] = None,
    corruptions: Annotated[int, options.advanced(help="The number of corrupted words.")] = 2880,
    medium: Annotated[int, options.advanced(help="Words that occur less often are rare.")] = 10,
    frequent: Annotated[
        int, options.advanced(help="Words that occur at least this often are frequent.")
    ] = 100,
    seed: options.Seed = 0,
) -> None:
    """Build the data set from WordNet 3.0, word counts and a model's vocabulary."""
    from rarewords.models import load_tokens
    from rarewords.probe.build import BuildSettings, open_wordnet
    from rarewords.probe.build import build as build_dataset
    from rarewords.probe.dataset import FrequencyBounds
    from rarewords.report.tables import sizes_table

    settings = BuildSettings(seed, corruptions, bounds=FrequencyBounds(medium, frequent))
    counted, reader = _read_counts(counts), open_wordnet(wordnet)
    dataset = build_dataset(reader, counted, load_tokens(model).whole_words, settings)
    dataset.save(out)
    typer.echo(sizes_table(dataset, settings.bounds), nl=False)


@app.command("eval")
def evaluate(
    out: Out,
    model: options.Model = "default",
    vectors: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|first|last|avg",
            help="Replace keywords with vectors: a file (safetensors or word2vec text), or the first, last "
            "or mean embedding of their subwords. By default keywords stay as they are.",
        ),
    ] = None,
    slash: Annotated[
        bool | None, typer.Option("--slash", help="Show `word / <vector>` instead of the vector alone.")
    ] = None,
    subset: Annotated[str | None, typer.Option("--set", help="dev, test or all (the default).")] = None,
    limit: Annotated[
        int | None, typer.Option(help="Ask at most N entries, evenly spread.", metavar="N")
    ] = None,
    data: Annotated[str, typer.Option(help="A data set file; `default` is the one that ships.")] = "default",
    answers: Annotated[
        bool, typer.Option("--answers", help="Keep answers, for `wnlampro compare --words`.")
    ] = False,
    settings: options.SettingsFile = None,
    workers: options.OneWorker = 1,
    engine: options.EngineName = "local",
    device: options.Device = "auto",
    as_json: options.AsJson = False,
) -> None:
    """Probe a model: MRR, P@3 and P@10 by relation and frequency.

    If interrupted, the same command resumes. `--settings` takes the fields of EvalSettings: relations, depth,
    and `below`, which replaces only keywords that occur fewer than N times.
    """
    from rarewords.lm import LanguageModel
    from rarewords.models import shown_name
    from rarewords.probe.dataset import Dataset
    from rarewords.probe.evaluate import BASELINES, EvalSettings
    from rarewords.probe.evaluate import evaluate as evaluate_model
    from rarewords.report.tables import result_table
    from rarewords.stages import work_beside
    from rarewords.vectors import open_vectors

    method = vectors if vectors in (None, *BASELINES) else "vectors"
    chosen = options.read_settings(
        settings, EvalSettings, method=method, subset=subset, limit=limit, slash=slash
    )
    given = open_vectors(vectors) if method == "vectors" and vectors else None
    dataset = Dataset.load(data)
    lm = LanguageModel.from_pretrained(model, device=device)
    with work_beside(out) as stages, options.engine_or_none(engine, workers) as runner:
        result = evaluate_model(
            lm,
            dataset,
            chosen,
            vectors=given,
            label=f"{shown_name(model)} {Path(vectors).stem}" if vectors else None,
            stages=stages,
            engine=runner,
            answers=answers,
        )
        result.save(out)
    if as_json:
        options.print_json({"settings": dict(result.settings), "cells": result.summary()})
    else:
        typer.echo(result_table(result), nl=False)


@app.command()
def compare(
    results: Results,
    words: Annotated[
        Path | None,
        typer.Option("--words", "-w", help="Also show the answers for the words of a file, one per line."),
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Print the paper's main table for any number of results.

    The best result of a cell is bold; `*` marks a significant difference from the first result.
    """
    from rarewords.probe.compare import compare as compare_results
    from rarewords.probe.result import ProbeResult
    from rarewords.report.tables import answers_table, comparison_table, difference_table
    from rarewords.vectors import read_words

    loaded = [ProbeResult.load(path) for path in results]
    comparison = compare_results(loaded)
    shown = None if words is None else answers_table(loaded, set(read_words(words)))
    if as_json:
        options.print_json(comparison.as_json())
        return
    typer.echo(comparison_table(comparison), nl=False)
    if len(results) > 1:
        typer.echo(f"\nMRR against {comparison.labels[0]}:\n\n{difference_table(comparison)}", nl=False)
    if shown is not None:
        typer.echo(f"\n{shown}", nl=False)


@app.command()
def figure(
    results: Results,
    out: Annotated[Path, typer.Option("--out", "-o", help="The name of the .png and .svg files.")],
    heatmap: Annotated[
        bool, typer.Option("--heatmap", help="Draw ranks by how often the word occurs, for one result.")
    ] = False,
    metric: Annotated[str, typer.Option(help="mrr, p3 or p10.")] = "mrr",
    relation: Annotated[
        str | None, typer.Option(help="One relation; by default all, or cohyponym for a heat map.")
    ] = None,
) -> None:
    """Draw a metric by frequency, one line per result; or a heat map of ranks."""
    from rarewords.probe.result import ProbeResult
    from rarewords.report.figures import draw_heat_map, draw_methods

    loaded = [ProbeResult.load(path) for path in results]
    if heatmap and len(loaded) != 1:
        raise InputError(f"a heat map shows one result, not {len(loaded)}")
    if heatmap:
        written = draw_heat_map(loaded[0], out, relation=relation or "cohyponym")
    else:
        written = draw_methods(loaded, out, metric=metric, relation=relation or "all")
    for path in written:
        typer.echo(path)


def _read_counts(path: Path) -> dict[str, int]:
    """Every word of a corpus with its count, from a store or from ``word<TAB>count`` lines."""
    from rarewords.corpus.store import Store
    from rarewords.files import open_text

    if path.is_dir():
        words, numbers = Store.open(path).counts()
        return dict(zip(words, numbers.tolist(), strict=True))
    counts: dict[str, int] = {}
    with open_text(path) as lines:
        for number, line in enumerate(lines, 1):
            word, _, count = line.rstrip("\n").partition("\t")
            if not word or not (count.isascii() and count.isdigit()):
                raise InputError(f"{path}, line {number}: expected a word, a tab and a count, not {line!r}")
            counts[word] = counts.get(word, 0) + int(count)
    return counts
