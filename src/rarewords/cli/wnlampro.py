"""``rarewords wnlampro``: build the data set, probe a model, compare results, draw them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rarewords.cli.options import AsJson, Device, Dtype, Model, print_json
from rarewords.errors import InputError

if TYPE_CHECKING:
    from rarewords.probe.result import ProbeResult

app = typer.Typer(
    help="What does a model understand of words, by how often it has met them?",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)

Out = Annotated[Path, typer.Option("--out", "-o", help="The file to write.")]
Data = Annotated[str, typer.Option("--data", help="A data set's file; `default` is the one that ships.")]
Results = Annotated[list[Path], typer.Argument(help="Files written by `wnlampro eval`.")]
Relation = Annotated[
    list[str] | None,
    typer.Option("--relation", help="Only this one: antonym, hypernym, cohyponym, corruption. May repeat."),
]
OneRelation = Annotated[str, typer.Option("--relation", help="One relation, or all.")]


@app.command()
def build(
    counts: Annotated[Path, typer.Option(help="A corpus store, or a file of `word<TAB>count` lines.")],
    out: Out,
    model: Model = "default",
    wordnet: Annotated[Path | None, typer.Option(help="Folder of WordNet 3.0's files.")] = None,
    seed: Annotated[int, typer.Option(help="For the split and the corruptions.")] = 0,
    corruptions: Annotated[int, typer.Option(help="How many corrupted words.")] = 2880,
    medium: Annotated[int, typer.Option(help="Words that occur less often are rare.")] = 10,
    frequent: Annotated[int, typer.Option(help="Words that occur at least so often are frequent.")] = 100,
    card: Annotated[Path | None, typer.Option(help="Also write the data set's card there.")] = None,
    source: Annotated[str, typer.Option(help="The text that was counted, for the card.")] = "a corpus",
) -> None:
    """Build the data set from WordNet 3.0, word counts and a model's vocabulary."""
    from rarewords.files import whole_file
    from rarewords.lm import LanguageModel
    from rarewords.probe.build import BuildSettings
    from rarewords.probe.build import build as build_dataset
    from rarewords.probe.counts import read_counts
    from rarewords.probe.dataset import FrequencyBounds
    from rarewords.probe.wordnet import open_wordnet
    from rarewords.report.dataset_card import dataset_card, sizes_table

    settings = BuildSettings(seed, corruptions, bounds=FrequencyBounds(medium, frequent))
    reader, counted = open_wordnet(wordnet), read_counts(counts)
    vocabulary = LanguageModel.from_pretrained(model, device="cpu").whole_words
    dataset = build_dataset(reader, counted, vocabulary, settings)
    dataset.save(out)
    if card is not None:
        with whole_file(card) as temporary:
            temporary.write_text(dataset_card(dataset, settings, counted, len(vocabulary), source), "utf-8")
    typer.echo(sizes_table(dataset, settings.bounds), nl=False)


@app.command("eval")
def evaluate(
    out: Out,
    model: Model = "default",
    vectors: Annotated[Path | None, typer.Option(help="Word vectors to put in place of keywords.")] = None,
    method: Annotated[str | None, typer.Option(help="pieces, first, last or avg.")] = None,
    subset: Annotated[str, typer.Option("--set", help="dev, test or all.")] = "all",
    relation: Relation = None,
    limit: Annotated[int | None, typer.Option(help="At most so many entries, evenly spread.")] = None,
    below: Annotated[int | None, typer.Option(help="Vectors only for words that occur less often.")] = None,
    only: Annotated[str | None, typer.Option(help="`rare`: vectors for rare words only.")] = None,
    slash: Annotated[bool, typer.Option(help="Show `word / <vector>` instead of the vector alone.")] = False,
    depth: Annotated[int, typer.Option(help="Answers looked at; ranks count up to 100.")] = 100,
    answers: Annotated[bool, typer.Option("--answers", help="Keep every answer beside the result.")] = False,
    label: Annotated[str | None, typer.Option(help="What tables call the result.")] = None,
    data: Data = "default",
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Compute everything anew.")] = False,
    workers: Annotated[int, typer.Option(help="Processes that share the work; 1 is this one.", min=1)] = 1,
    engine: Annotated[str, typer.Option(help="What runs the workers: local or ray.")] = "local",
    address: Annotated[str | None, typer.Option(help="Of a running Ray cluster.")] = None,
    device: Device = "auto",
    dtype: Dtype = "float32",
    as_json: AsJson = False,
) -> None:
    """Probe a model: ranks, MRR, P@3 and P@10 by relation and frequency."""
    from contextlib import nullcontext

    from rarewords.corpus.engine import engine_for
    from rarewords.lm import LanguageModel
    from rarewords.probe.answers import answers_path
    from rarewords.probe.cache import PredictionCache
    from rarewords.probe.dataset import RELATIONS, Dataset, FrequencyBounds
    from rarewords.probe.evaluate import EvalSettings
    from rarewords.probe.evaluate import evaluate as evaluate_model
    from rarewords.report.tables import result_table
    from rarewords.vectors import WordVectors

    if vectors is not None and method not in (None, "vectors"):
        raise InputError(f"--vectors and --method {method} exclude each other")
    if only is not None:
        if only != "rare" or below is not None:
            raise InputError("--only takes 'rare'; for another bound use --below COUNT alone")
        below = FrequencyBounds().medium
    settings = EvalSettings(
        method="vectors" if vectors is not None else method or "pieces",
        subset=subset,
        relations=tuple(relation) if relation else RELATIONS,
        limit=limit,
        below=below,
        slash=slash,
        depth=depth,
    )
    dataset = Dataset.load(data)
    given = WordVectors.load(vectors) if vectors is not None else None
    lm = LanguageModel.from_pretrained(model, device=device, dtype=dtype)
    with (
        nullcontext()
        if workers == 1 and engine == "local"
        else engine_for(engine, workers, address) as runner
    ):
        result = evaluate_model(
            lm,
            dataset,
            settings,
            vectors=given,
            label=label or (f"{Path(model).name} {vectors.stem}" if vectors is not None else None),
            cache=None if no_cache else PredictionCache(),
            engine=runner,
            answers=answers_path(out) if answers else None,
        )
    result.save(out)
    if as_json:
        print_json({"settings": dict(result.settings), "cells": result.summary()})
    else:
        typer.echo(result_table(result), nl=False)


@app.command()
def compare(
    results: Results,
    samples: Annotated[int, typer.Option(help="Of the bootstrap.", min=1)] = 2000,
    intervals: Annotated[
        bool, typer.Option(help="Also the differences to the first, with intervals.")
    ] = True,
    as_json: AsJson = False,
) -> None:
    """The paper's main table for any number of results; `*` differs significantly from the first."""
    from rarewords.probe.compare import compare as compare_results
    from rarewords.report.tables import comparison_table, difference_table

    comparison = compare_results(_load(results), samples=samples)
    if as_json:
        print_json(comparison.as_json())
        return
    typer.echo(comparison_table(comparison), nl=False)
    if intervals and len(results) > 1:
        typer.echo(f"\nMRR against {comparison.labels[0]}:\n\n{difference_table(comparison)}", nl=False)


@app.command()
def heatmap(
    result: Annotated[Path, typer.Argument(help="A file written by `wnlampro eval`.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Name of the .png and .svg files.")],
    relation: OneRelation = "cohyponym",
) -> None:
    """Draw ranks by how often the word occurs; each column sums to one."""
    from rarewords.report.figures import draw_heat_map

    for path in draw_heat_map(_load([result])[0], out, relation=relation):
        typer.echo(path)


@app.command()
def figure(
    results: Results,
    out: Annotated[Path, typer.Option("--out", "-o", help="Name of the .png and .svg files.")],
    metric: Annotated[str, typer.Option(help="mrr, p3 or p10.")] = "mrr",
    relation: OneRelation = "all",
) -> None:
    """Draw a metric by frequency, a line for each result."""
    from rarewords.report.figures import draw_methods

    for path in draw_methods(_load(results), out, metric=metric, relation=relation):
        typer.echo(path)


@app.command()
def examples(
    first: Annotated[Path, typer.Argument(help="A result evaluated with --answers.")],
    second: Annotated[Path, typer.Argument(help="Another one.")],
    words: Annotated[str, typer.Option(help="Keywords, separated by commas.")],
    out: Out,
    shown: Annotated[int, typer.Option(help="Answers to show.", min=1)] = 10,
) -> None:
    """A page of examples: the answers of two results side by side."""
    from rarewords.probe.answers import read_answers
    from rarewords.probe.compare import check_comparable
    from rarewords.report.page import examples_page, write_page

    chosen = [word.strip() for word in words.split(",") if word.strip()]
    if not chosen:
        raise InputError("--words names no word")
    loaded = _load([first, second])
    check_comparable(loaded)
    page = examples_page(
        read_answers(first, set(chosen)),
        read_answers(second, set(chosen)),
        (loaded[0].label, loaded[1].label),
        words=chosen,
        shown=shown,
    )
    write_page(out, page)
    typer.echo(out)


@app.command()
def show(
    words: Annotated[
        list[str] | None, typer.Argument(help="Keywords to look up; none for the sizes.")
    ] = None,
    data: Data = "default",
) -> None:
    """Show the data set's sizes, or the entries of some words."""
    from rarewords.probe.dataset import Dataset
    from rarewords.report.dataset_card import sizes_table

    dataset = Dataset.load(data)
    if not words:
        typer.echo(sizes_table(dataset), nl=False)
        return
    found = [entry for entry in dataset if entry.word.text in words]
    if not found:
        raise InputError(f"{dataset.name} has no entry for {', '.join(words)}")
    for entry in found:
        typer.echo(entry)


def _load(paths: list[Path]) -> list[ProbeResult]:
    from rarewords.probe.result import ProbeResult

    return [ProbeResult.load(path) for path in paths]
