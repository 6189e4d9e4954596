"""Tables of probing results in Markdown."""

from collections.abc import Collection, Sequence
from statistics import fmean

from rarewords._internal.tables import markdown_table
from rarewords.errors import InputError
from rarewords.wnlampro.comparison import ComparedCell, Comparison
from rarewords.wnlampro.dataset import BANDS, RELATIONS, Dataset, band_of
from rarewords.wnlampro.result import METRICS, RANK_LIMIT, ProbeResult

METRIC_TITLES = {"mrr": "MRR", "p3": "P@3", "p10": "P@10"}


def result_table(result: ProbeResult) -> str:
    """MRR, P@3 and P@10 by relation and frequency, each with its standard error."""
    rows = []
    for relation, band in result.cells:
        measures = [result.measure(relation, band, metric) for metric in METRICS]
        shown = [f"{figure(one.mean)} ± {figure(one.error)}" for one in measures]
        rows.append([relation_title(relation), band, f"{result.chosen(relation, band).sum():,}", *shown])
    return markdown_table(["relation", "frequency", "entries", *METRIC_TITLES.values()], rows, left=2)


def comparison_table(comparison: Comparison) -> str:
    """The paper's main table: relations and results down, frequencies across.

    The best result of a cell is bold; ``*`` marks a significant difference from the first result.
    """
    bands = [band for band in BANDS if any(cell.band == band for cell in comparison.cells)]
    rows = []
    for relation in (*RELATIONS, "all"):
        found = [comparison.at.get((relation, band)) for band in bands]
        for number, label in enumerate(comparison.labels if any(found) else ()):
            cells = [_compared(cell, metric, number) for cell in found for metric in METRICS]
            rows.append([relation_title(relation), label, *cells])
    titles = [f"{band} {METRIC_TITLES[metric]}" for band in bands for metric in METRICS]
    return markdown_table(["relation", "result", *titles], rows, left=2)


def difference_table(comparison: Comparison) -> str:
    """How the MRR of each result differs from the first: bootstrap interval, wins, losses and p."""
    rows = []
    for cell in comparison.cells:
        for label, found in zip(comparison.labels[1:], cell.differences["mrr"], strict=True):
            interval = f"{signed(found.low)} … {signed(found.high)}"
            wins = f"{found.wins:,} / {found.losses:,}"
            p = f"{found.p_value:.3f}" if found.p_value >= 0.001 else "<0.001"
            about = [relation_title(cell.relation), cell.band, label]
            rows.append([*about, signed(found.mean), interval, wins, p])
    header = ["relation", "frequency", "result", "Δ MRR", "95 % interval", "better / worse", "p"]
    return markdown_table(header, rows, left=3)


def answers_table(results: Sequence[ProbeResult], words: Collection[str]) -> str:
    """For every entry of some words, the best question of each result and its first answers."""
    for result in results:
        if not result.answers:
            raise InputError(f"{result.label!r} has no answers; evaluate it again with them", code="wnlampro")
    rows = []
    for i, (word, relation) in enumerate(zip(results[0].word, results[0].relation, strict=True)):
        for result in results if word in words else ():
            rank = str(result.rank[i]) if result.rank[i] else f">{max(RANK_LIMIT, result.depth)}"
            rows.append([word, relation_title(relation), result.label, result.answers[i], rank])
    if not rows:
        raise InputError("none of the words was asked; choose keywords of the data set", code="nothing-to-teach")
    header = ["word", "relation", "result", "best question and first answers", "rank"]
    return markdown_table(header, rows, left=4)


def sizes_table(dataset: Dataset) -> str:
    """Entries and mean number of targets by relation and frequency."""
    targets: dict[tuple[str, str], list[int]] = {}
    for entry in dataset:
        targets.setdefault((entry.relation, band_of(entry.word.count)), []).append(len(entry.targets))
    rows = [
        [relation_title(relation), band, f"{len(found):,}", f"{fmean(found):.1f}"]
        for relation in RELATIONS
        for band in BANDS
        if (found := targets.get((relation, band)))
    ]
    return markdown_table(["relation", "frequency", "entries", "mean targets"], rows, left=2)


def relation_title(relation: str) -> str:
    """A relation as the paper writes it."""
    return "cohyponym+" if relation == "cohyponym" else relation


def figure(value: float) -> str:
    """Three digits: ``0.1119 -> '0.112'``; NaN is ``–``."""
    return "–" if value != value else f"{value:.3f}"


def signed(value: float) -> str:
    """A difference: ``0.05 -> '+0.050'``, ``-0.05 -> '−0.050'``."""
    return ("−" if value < -0.0005 else "+") + figure(abs(value))


def _compared(cell: ComparedCell | None, metric: str, number: int) -> str:
    if cell is None:
        return "–"
    means = [round(one.mean, 3) for one in cell.measures[metric]]
    text = figure(cell.measures[metric][number].mean)
    if means[number] == max(means) and len(means) > 1:
        text = f"**{text}**"
    return text + ("*" if number and cell.differences[metric][number - 1].direction else "")
