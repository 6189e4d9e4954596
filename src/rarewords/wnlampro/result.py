"""The metrics of WNLaMPro, and the result of probing: one rank per entry.

For an entry with targets T, a pattern of its relation gives answers a_1, a_2, …, the most probable first:

    rank = min { i : a_i in T } over all patterns, infinite if none of the first 100 answers is in T
    P@i  = max over all patterns of |T ∩ {a_1, …, a_i}| / i

MRR is the mean of 1/rank over entries; P@3 and P@10 are means over entries.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any, Self

import numpy as np

from rarewords._internal.files import read_json, write_lines
from rarewords._internal.schema import parse
from rarewords.errors import InputError
from rarewords.wnlampro.dataset import BANDS, FREQUENT, MEDIUM, RELATIONS

RANK_LIMIT = 100
METRICS = ("mrr", "p3", "p10")
_FORMAT = "rarewords.wnlampro/1"
TEXTS = ("id", "word", "relation")
NUMBERS = ("rank", "hits3", "hits10", "count")


@dataclass(frozen=True)
class Measure:
    """A mean over entries and its standard error; the error of one entry is NaN, as are both without any."""

    mean: float
    error: float

    @classmethod
    def of(cls, values: np.ndarray) -> Self:
        """Of one number per entry. *Shape:* (entries,)"""
        error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
        return cls(float(values.mean()) if len(values) else np.nan, float(error))


def score(targets: np.ndarray) -> tuple[int, int, int]:
    """The rank of one entry (0 for infinite) and its targets among the first 3 and the first 10 answers.

    :param targets: which answers to each pattern are targets, the most probable first.
        *Shape:* (patterns, depth)
    """
    places = np.flatnonzero(targets.any(axis=0))
    hits3, hits10 = (int(targets[:, :i].sum(axis=1).max()) for i in (3, 10))
    return int(places[0]) + 1 if len(places) else 0, hits3, hits10


@dataclass(frozen=True, eq=False)
class ProbeResult:
    """Ranks and hits of every entry.

    :param settings: what was evaluated and how: model, fingerprint, method, data set and its digest …
    :param rank: the best rank of a target over all patterns, 0 if no answer is a target. *Shape:* (entries,)
    :param hits3: targets among the first three answers to the best pattern; ``hits10``: among the first ten.
    :param count: occurrences of the keyword in the corpus. *Shape:* (entries,)
    :param answers: for each entry its best question and the first answers to it; empty if not kept.
    """

    settings: Mapping[str, Any]
    id: Sequence[str]
    word: Sequence[str]
    relation: Sequence[str]
    rank: np.ndarray
    hits3: np.ndarray
    hits10: np.ndarray
    count: np.ndarray
    answers: Sequence[str] = ()

    def __post_init__(self) -> None:
        sizes = {len(getattr(self, name)) for name in (*TEXTS, *NUMBERS)} | {len(self.answers or self.id)}
        if len(sizes) != 1 or sizes == {0}:
            raise InputError(f"a result has columns of lengths {sorted(sizes)}, not one", code="wnlampro")
        for unknown in sorted(set(self.relation) - set(RELATIONS)):
            raise InputError(f"a result has the unknown relation {unknown!r}", code="wnlampro")
        for name, most in (("rank", self.depth), ("hits3", 3), ("hits10", 10), ("count", np.inf)):
            column = getattr(self, name)
            if column.min() < 0 or column.max() > most:
                raise InputError(f"a result has values of {name} outside 0 … {most}", code="wnlampro")

    def __len__(self) -> int:
        return len(self.id)

    @property
    def label(self) -> str:
        """The name of the result in tables and figures."""
        return str(self.settings.get("label", "result"))

    @property
    def depth(self) -> int:
        """The number of answers that were ranked; the metrics use the first 100."""
        return int(self.settings.get("depth", RANK_LIMIT))

    @cached_property
    def reciprocal(self) -> np.ndarray:
        """1/rank within the first 100 answers, otherwise 0. *Shape:* (entries,)"""
        inside = (self.rank > 0) & (self.rank <= RANK_LIMIT)
        return np.where(inside, 1.0 / np.maximum(self.rank, 1), 0.0)

    def values(self, metric: str) -> np.ndarray:
        """One number per entry; the metric is their mean. *Shape:* (entries,)"""
        if metric not in METRICS:
            raise InputError(f"unknown metric {metric!r}; use {', '.join(METRICS)}", code="settings")
        return {"mrr": self.reciprocal, "p3": self.hits3 / 3, "p10": self.hits10 / 10}[metric]

    @property
    def mrr(self) -> float:
        """Mean reciprocal rank over all entries."""
        return self.measure().mean

    def chosen(self, relation: str = "all", band: str = "all") -> np.ndarray:
        """Which entries belong to a relation and a frequency band. *Shape:* (entries,)"""
        chosen = np.array([relation in ("all", one) for one in self.relation])
        bands = np.digitize(self.count, (MEDIUM, FREQUENT))
        return chosen if band == "all" else chosen & (bands == BANDS.index(band))

    def measure(self, relation: str = "all", band: str = "all", metric: str = "mrr") -> Measure:
        """The mean of a metric over a relation and a frequency band."""
        return Measure.of(self.values(metric)[self.chosen(relation, band)])

    @cached_property
    def cells(self) -> list[tuple[str, str]]:
        """Every relation and band that has entries; ``all`` comes last in both."""
        pairs = product((*RELATIONS, "all"), (*BANDS, "all"))
        return [pair for pair in pairs if self.chosen(*pair).any()]

    def save(self, path: str | Path) -> None:
        """Write JSON, compressed if the name ends in ``.gz``; the same bytes for the same result."""
        stored = {"format": _FORMAT, "settings": dict(self.settings), "cells": self.summary()}
        # A column is one string, which keeps the file small.
        stored["entries"] = {name: " ".join(map(str, getattr(self, name))) for name in (*TEXTS, *NUMBERS)}
        if self.answers:
            stored["answers"] = list(self.answers)
        write_lines(path, [json.dumps(stored, indent=1, ensure_ascii=False), "\n"])

    def summary(self) -> list[dict[str, Any]]:
        """The metrics of every cell as plain numbers, for ``--json`` and for people who open the file."""
        rows = []
        for relation, band in self.cells:
            entries = int(self.chosen(relation, band).sum())
            rows.append({"relation": relation, "frequency": band, "entries": entries})
            for metric in METRICS:
                measure = self.measure(relation, band, metric)
                rows[-1][metric] = round(measure.mean, 6)
                if entries > 1:
                    rows[-1][f"{metric}_error"] = round(measure.error, 6)
        return rows

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read the file of a result."""
        stored = read_json(path)
        if not isinstance(stored, dict) or stored.get("format") != _FORMAT:
            raise InputError(f"{path} is not a result of rarewords wnlampro eval", code="wnlampro")
        found = parse(_Stored, stored, path, "evaluate again")
        columns: dict[str, Any] = {name: found.entries.get(name, "").split(" ") for name in (*TEXTS, *NUMBERS)}
        depth = found.settings.get("depth", RANK_LIMIT)
        try:
            if not isinstance(depth, int):
                raise InputError(f"its depth is {depth!r}", code="damaged")
            columns |= {name: np.array(columns[name], dtype=np.int64) for name in NUMBERS}
            return cls(found.settings, **columns, answers=found.answers)
        except (InputError, ValueError, OverflowError) as problem:  # text for a number, a rank that cannot be, ...
            raise InputError(f"{path} is damaged: {problem}; evaluate again", code="damaged") from None


@dataclass(frozen=True)
class _Stored:
    settings: dict[str, Any]
    entries: dict[str, str]
    answers: list[str] = field(default_factory=list)
