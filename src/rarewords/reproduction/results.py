"""Results of probing made of other results: parts of them, and mixtures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rarewords.probe.dataset import BANDS, RELATIONS, Dataset
from rarewords.probe.result import METRICS, ProbeResult


def restrict(result: ProbeResult, chosen: np.ndarray, **settings: Any) -> ProbeResult:
    """Some entries of a result. *Shape of chosen:* (entries,)"""
    rows = np.flatnonzero(chosen).tolist()
    return ProbeResult(
        {**result.settings, **settings},
        [result.id[row] for row in rows],
        [result.word[row] for row in rows],
        [result.relation[row] for row in rows],
        result.rank[rows],
        result.hits3[rows],
        result.hits10[rows],
        result.count[rows],
        result.bounds,
    )


def of_set(result: ProbeResult, dataset: Dataset, subset: str) -> ProbeResult:
    """The entries of a result that belong to dev or to test."""
    wanted = {entry.id for entry in dataset if entry.subset == subset}
    return restrict(result, np.array([one in wanted for one in result.id]), set=subset)


def replaced(base: ProbeResult, part: ProbeResult) -> ProbeResult:
    """``base`` with the entries that ``part`` has taken from there, under the name of ``part``."""
    rows = {one: row for row, one in enumerate(part.id)}
    places = np.array([rows.get(one, -1) for one in base.id])
    columns = {
        name: np.where(places >= 0, getattr(part, name)[places], getattr(base, name))
        for name in ("rank", "hits3", "hits10")
    }
    kept = {"dataset": base.settings["dataset"], "set": base.settings["set"], "limit": None}
    return ProbeResult(
        {**part.settings, **kept},
        base.id,
        base.word,
        base.relation,
        **columns,
        count=base.count,
        bounds=base.bounds,
    )


def mixture(pieces: ProbeResult, vectors: ProbeResult, below: float, label: str) -> ProbeResult:
    """Vectors for keywords that occur less often than ``below``, the model's own pieces for the others."""
    rare = vectors.count < below
    columns = {
        name: np.where(rare, getattr(vectors, name), getattr(pieces, name))
        for name in ("rank", "hits3", "hits10")
    }
    settings = {**vectors.settings, "label": label, "below": None if np.isinf(below) else int(below)}
    return ProbeResult(
        settings,
        pieces.id,
        pieces.word,
        pieces.relation,
        **columns,
        count=pieces.count,
        bounds=pieces.bounds,
    )


def figures(result: ProbeResult) -> dict[str, Any]:
    """Every cell's means, errors and size: ``{"hypernym rare": {"mrr": .3, "mrr_error": .01, …}}``."""
    return {
        f"{cell.relation} {cell.band}": {
            "entries": cell.entries,
            **{metric: round(getattr(cell, metric).mean, 6) for metric in METRICS},
            **{f"{metric}_error": _number(getattr(cell, metric).error) for metric in METRICS},
        }
        for cell in result.cells
    }


def flat_figures(result: ProbeResult) -> dict[str, float]:
    """MRR overall, by frequency, and by relation and frequency, for a line of a log."""
    cells = {"MRR": result.mrr}
    for relation in ("all", *RELATIONS):
        for band in BANDS:
            cell = result.cell(relation, band)
            if cell is not None:
                cells[f"{relation} {band}"] = round(cell.mrr.mean, 4)
    return cells


def metric_of(cells: Mapping[str, Any], relation: str, band: str, metric: str = "mrr") -> float | None:
    """A figure of :func:`figures`, None where there are no such entries."""
    cell = cells.get(f"{relation} {band}")
    return None if cell is None else float(cell[metric])


def containing_a_target(dataset: Dataset) -> frozenset[str]:
    """IDs of entries whose keyword contains one of its targets, as *blackberry* contains *berry*.

    Their answer can be read off the pieces.
    """
    return frozenset(
        entry.id
        for entry in dataset
        if entry.relation != "corruption" and any(one.text in entry.word.text for one in entry.targets)
    )


def thresholds() -> list[float]:
    """Where a mixture may change from vectors to pieces: at powers of two, at 10 and 100, or nowhere."""
    return sorted({10.0, 100.0, *(2.0**power for power in range(15)), float("inf")})


def _number(value: float) -> float | None:
    return None if np.isnan(value) else round(value, 6)
