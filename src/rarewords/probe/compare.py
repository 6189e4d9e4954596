"""Several results side by side, each against the first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rarewords.errors import InputError
from rarewords.probe.dataset import BANDS, RELATIONS
from rarewords.probe.result import METRICS, Cell, ProbeResult
from rarewords.probe.significance import Difference, compare_values


@dataclass(frozen=True)
class ComparedCell:
    """One relation and frequency in all results.

    :param cells: figures of each result.
    :param differences: for each metric, how each result after the first differs from the first.
    """

    relation: str
    band: str
    cells: tuple[Cell, ...]
    differences: dict[str, tuple[Difference, ...]]

    def best(self, metric: str) -> frozenset[int]:
        """The results with the highest mean, as it is printed with three digits."""
        means = [round(getattr(cell, metric).mean, 3) for cell in self.cells]
        return frozenset(i for i, mean in enumerate(means) if mean == max(means))


@dataclass(frozen=True)
class Comparison:
    """All cells of the paper's main table, and the sums over relations and frequencies."""

    labels: tuple[str, ...]
    cells: tuple[ComparedCell, ...]

    def as_json(self) -> dict[str, Any]:
        """Plain numbers for ``--json``."""
        return {
            "results": list(self.labels),
            "cells": [
                {
                    "relation": cell.relation,
                    "frequency": cell.band,
                    "entries": cell.cells[0].entries,
                    **{
                        metric: [
                            {
                                "mean": round(getattr(one, metric).mean, 6),
                                **(_difference(cell.differences[metric][i - 1]) if i else {}),
                            }
                            for i, one in enumerate(cell.cells)
                        ]
                        for metric in METRICS
                    },
                }
                for cell in self.cells
            ],
        }


def compare(results: Sequence[ProbeResult], *, samples: int = 2000) -> Comparison:
    """Compare results on the same entries of the same data set.

    :param samples: of the bootstrap.
    """
    check_comparable(results)
    cells = []
    # With one relation, "all" would say the same once more.
    several = len(set(results[0].relation)) > 1
    for relation in (*RELATIONS, "all") if several else (results[0].relation[0],):
        for band in (*BANDS, "all"):
            chosen = results[0].chosen(relation, band)
            if not chosen.any():
                continue
            figures = tuple(result.cell(relation, band) for result in results)
            differences = {
                metric: tuple(
                    compare_values(
                        result.values(metric)[chosen], results[0].values(metric)[chosen], samples=samples
                    )
                    for result in results[1:]
                )
                for metric in METRICS
            }
            cells.append(
                ComparedCell(relation, band, tuple(one for one in figures if one is not None), differences)
            )
    return Comparison(tuple(result.label for result in results), tuple(cells))


def check_comparable(results: Sequence[ProbeResult]) -> None:
    """Refuse results of different data sets, entries or bounds."""
    if not results:
        raise InputError("give at least one result to compare")
    first = results[0]
    for other in results[1:]:
        if other.settings.get("dataset") != first.settings.get("dataset"):
            raise InputError(
                f"{first.label!r} and {other.label!r} were evaluated on different data sets; "
                "evaluate both on the same one"
            )
        if list(other.id) != list(first.id):
            raise InputError(
                f"{first.label!r} has {len(first)} entries and {other.label!r} {len(other)}, or other ones; "
                "evaluate both with the same --set, --relation and --limit"
            )
        if other.bounds != first.bounds:
            raise InputError(f"{first.label!r} and {other.label!r} bound rare and frequent differently")


def _difference(one: Difference) -> dict[str, Any]:
    return {
        "difference": round(one.mean, 6),
        "interval": [round(one.low, 6), round(one.high, 6)],
        "wins": one.wins,
        "losses": one.losses,
        "p": float(f"{one.p_value:.3g}"),
    }
