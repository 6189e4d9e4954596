"""WNLaMPro results as the page shows them: tables by relation and frequency, and heat maps of ranks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import rarewords
from rarewords.errors import InputError
from rarewords.probe.dataset import RELATIONS
from rarewords.probe.result import ProbeResult
from rarewords.report.figures import heat_map
from rarewords.report.tables import relation_title


def result_files(given: Sequence[Path]) -> list[Path]:
    """The files named, with folders opened; without any, those of a source tree where there is one."""
    if not given:
        own = Path(rarewords.__file__).parents[2] / "docs" / "results" / "wnlampro"
        return sorted(own.glob("*.json.gz"))
    found: list[Path] = []
    for path in given:
        if path.is_dir():
            inside = sorted([*path.glob("*.json"), *path.glob("*.json.gz")])
            if not inside:
                raise InputError(f"{path} holds no results (.json, .json.gz) of rarewords wnlampro eval")
            found += inside
        else:
            found.append(path)
    return found


def results_json(paths: Sequence[Path]) -> list[dict[str, Any]]:
    """One object a result: its label, its figures, and a heat map of each relation."""
    return [_result(ProbeResult.load(path)) for path in paths]


def _result(result: ProbeResult) -> dict[str, Any]:
    relations = [relation for relation in RELATIONS if result.chosen(relation).any()]
    return {
        "label": result.label,
        "entries": len(result),
        "mrr": round(result.mrr, 4),
        "cells": [{**cell, "title": relation_title(str(cell["relation"]))} for cell in result.summary()],
        "heat_maps": [_heat_map(result, relation) for relation in relations],
    }


def _heat_map(result: ProbeResult, relation: str) -> dict[str, Any]:
    table = heat_map(result, relation)
    return {
        "relation": relation,
        "title": relation_title(relation),
        "counts": [_end(end) for end in table.counts],
        "ranks": [_end(end) for end in table.ranks],
        "entries": list(table.entries),
        "shares": [
            [None if math.isnan(share) else round(share, 3) for share in row] for row in table.shares.tolist()
        ],
    }


def _end(value: float) -> int | None:
    return None if math.isinf(value) else int(value)
