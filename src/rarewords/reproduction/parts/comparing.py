"""The main table for any methods beside the model's pieces; used by parts ``main`` and ``beyond``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rarewords.probe.compare import compare
from rarewords.probe.dataset import BANDS, RELATIONS, Dataset
from rarewords.probe.result import METRICS, ProbeResult
from rarewords.report.tables import figure, relation_title, signed
from rarewords.reproduction import published
from rarewords.reproduction.document import EMPTY, Table
from rarewords.reproduction.results import mixture, of_set, thresholds

_PAPER_ROWS = ("base", "base+AM", "large", "large+AM")


def with_mixture(
    dataset: Dataset, pieces: ProbeResult, vectors: ProbeResult
) -> tuple[ProbeResult, float, list[tuple[float, float]]]:
    """Test entries of the mixture whose threshold is best on dev, the threshold, and dev MRR by threshold."""
    dev = [of_set(result, dataset, "dev") for result in (pieces, vectors)]
    tried = [(below, mixture(dev[0], dev[1], below, "").mrr) for below in thresholds()]
    below = max(tried, key=lambda one: one[1])[0]
    test = [of_set(result, dataset, "test") for result in (pieces, vectors)]
    return mixture(test[0], test[1], below, f"{vectors.label}, mixed"), below, tried


def compared(results: Sequence[ProbeResult]) -> dict[str, Any]:
    """All cells of some results, each against the first, as JSON."""
    return compare(results).as_json()


def cell_of(comparison: Mapping[str, Any], relation: str, band: str) -> Mapping[str, Any] | None:
    """A cell of :func:`compared`."""
    for cell in comparison["cells"]:
        if cell["relation"] == relation and cell["frequency"] == band:
            found: Mapping[str, Any] = cell
            return found
    return None


def main_table(comparison: Mapping[str, Any], name: str, caption: str, *, paper: bool = True) -> Table:
    """Relations and methods down, frequencies across; the paper's rows below ours."""
    header = ["relation", "model", *(_NAMES[metric] for _ in BANDS for metric in METRICS)]
    rows: list[list[str]] = []
    published_rows, groups = set(), set()
    for relation in (*RELATIONS, "all"):
        if not any(cell_of(comparison, relation, band) for band in BANDS):
            continue
        groups.add(len(rows))
        for number, label in enumerate(comparison["results"]):
            cells = [
                _ours(comparison, relation, band, metric, number) for band in BANDS for metric in METRICS
            ]
            rows.append([relation_title(relation), label, *cells])
        if paper and relation != "all":
            for model in _PAPER_ROWS:
                published_rows.add(len(rows))
                rows.append([relation_title(relation), f"paper: BERT-{model}", *_theirs(relation, model)])
    return Table(
        name,
        caption,
        header,
        rows,
        left=2,
        published=frozenset(published_rows),
        groups=frozenset(groups),
        over=[("", 2), *((band, len(METRICS)) for band in BANDS)],
    )


def direction_table(comparison: Mapping[str, Any], name: str, *, against: int = 1) -> Table:
    """How MRR changes against the pieces, ours and the paper's, and whether the direction is the same."""
    rows = []
    for relation in RELATIONS:
        for band in BANDS:
            cell = cell_of(comparison, relation, band)
            if cell is None:
                continue
            own = cell["mrr"][against]
            base, large = (_paper_change(relation, band, size) for size in ("base", "large"))
            rows.append(
                [
                    relation_title(relation),
                    band,
                    f"{cell['entries']:,}",
                    signed(own["difference"]),
                    f"{signed(own['interval'][0])} … {signed(own['interval'][1])}",
                    "< .001" if own["p"] < 0.001 else figure(own["p"]),
                    *(EMPTY if one is None else signed(one) for one in (base, large)),
                    *(direction(own["difference"], one) for one in (base, large)),
                ]
            )
    header = ["relation", "frequency", "entries", "Δ MRR", "95 % interval", "p"]
    header += ["paper, base", "paper, large", "as base", "as large"]
    label = comparison["results"][against]
    caption = f"Change of MRR from {comparison['results'][0]} to {label}, ours and the paper's."
    return Table(name, caption, header, rows, left=2)


def difference_table(comparison: Mapping[str, Any], name: str) -> Table:
    """How the second of two results differs from the first, by relation and frequency."""
    rows: list[list[str]] = []
    groups = set()
    for relation in (*RELATIONS, "all"):
        for band in (*BANDS, "all"):
            cell = cell_of(comparison, relation, band)
            if cell is None or (relation == "corruption" and band == "all"):  # they are all rare
                continue
            if band == BANDS[0]:
                groups.add(len(rows))
            one, other = cell["mrr"]
            rows.append(
                [
                    relation_title(relation),
                    band,
                    f"{cell['entries']:,}",
                    figure(one["mean"]),
                    figure(other["mean"]),
                    signed(other["difference"]),
                    f"{signed(other['interval'][0])} … {signed(other['interval'][1])}",
                    f"{other['wins']:,} / {other['losses']:,}",
                    "< .001" if other["p"] < 0.001 else figure(other["p"]),
                ]
            )
    first, second = comparison["results"]
    header = [
        "relation",
        "frequency",
        "entries",
        first,
        second,
        "Δ MRR",
        "95 % interval",
        "better / worse",
        "p",
    ]
    caption = f"MRR from {first} to {second}, entry by entry."
    return Table(name, caption, header, rows, left=2, groups=frozenset(groups))


def direction(ours: float, paper: float | None) -> str:
    """Whether two differences have the same sign; a difference that prints as zero has none."""
    if paper is None:
        return EMPTY
    if abs(ours) < 0.0005:
        return "none"
    return "same" if (ours > 0) == (paper > 0) else "other"


def save_all(results: Sequence[ProbeResult], folder: Path, prefix: str) -> None:
    """Write raw results."""
    for result in results:
        slug = "".join(letter if letter.isalnum() or letter in "+-" else "-" for letter in result.label)
        result.save(folder / f"{prefix}-{slug}.json.gz")


def threshold_text(below: float | None) -> str:
    """A threshold for a reader; None stands for an infinite one."""
    if below is None or np.isinf(below):
        return "vectors for all keywords"
    if below <= 1:
        return "vectors for keywords that do not occur"
    return f"vectors below {below:,.0f} occurrences"


_NAMES = {"mrr": "MRR", "p3": "P@3", "p10": "P@10"}


def _ours(comparison: Mapping[str, Any], relation: str, band: str, metric: str, number: int) -> str:
    cell = cell_of(comparison, relation, band)
    if cell is None:
        return EMPTY
    means = [round(one["mean"], 3) for one in cell[metric]]
    text = figure(cell[metric][number]["mean"])
    if means[number] == max(means) and len(means) > 1:
        text = f"**{text}**"
    return text + ("*" if number and cell[metric][number]["p"] < 0.05 else "")


def _theirs(relation: str, model: str) -> list[str]:
    cells = []
    for band in BANDS:
        found = published.main_cell(relation, model, band)
        cells += [EMPTY] * len(METRICS) if found is None else [figure(one) for one in found]
    return cells


def _paper_change(relation: str, band: str, size: str) -> float | None:
    with_am, without = (published.main_cell(relation, model, band) for model in (f"{size}+AM", size))
    return None if with_am is None or without is None else with_am[0] - without[0]
