"""Results of some entries, and results that take some of their scores from another."""

from dataclasses import replace
from itertools import compress
from typing import Any

import numpy as np

from rarewords.wnlampro.dataset import Dataset
from rarewords.wnlampro.result import NUMBERS, TEXTS, ProbeResult


def relabelled(result: ProbeResult, **settings: Any) -> ProbeResult:
    """The same scores with some settings changed."""
    return replace(result, settings={**result.settings, **settings})


def restrict(result: ProbeResult, rows: np.ndarray, **settings: Any) -> ProbeResult:
    """The result of some entries, with changed settings. *Shape of rows:* (entries,), boolean"""
    columns: dict[str, Any] = {name: getattr(result, name)[rows] for name in NUMBERS}
    columns |= {name: list(compress(getattr(result, name), rows)) for name in (*TEXTS, "answers")}
    return replace(relabelled(result, **settings), **columns)


def of_set(result: ProbeResult, dataset: Dataset, subset: str) -> ProbeResult:
    """The result of the entries that belong to ``dev`` or ``test``."""
    wanted = {entry.id for entry in dataset if entry.subset == subset}
    return restrict(result, np.array([one in wanted for one in result.id]), set=subset)


def replaced(result: ProbeResult, part: ProbeResult) -> ProbeResult:
    """A result with the scores of ``part`` for the entries it has, under the label of ``part``."""
    row_of = {identifier: row for row, identifier in enumerate(part.id)}
    rows = np.array([row_of.get(identifier, -1) for identifier in result.id])
    scores: dict[str, Any] = {
        name: np.where(rows >= 0, getattr(part, name)[rows], getattr(result, name)) for name in NUMBERS[:3]
    }
    kept = {name: result.settings[name] for name in ("dataset", "set")} | {"limit": None}
    kept["depth"] = max(result.depth, part.depth)
    return replace(result, settings={**part.settings, **kept}, answers=(), **scores)
