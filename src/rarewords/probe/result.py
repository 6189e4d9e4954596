"""What an evaluation found: a rank for every entry, and the figures made of the ranks.

Everything that is reported (tables, tests, heat maps) comes from a result's file alone.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from rarewords.errors import InputError
from rarewords.files import whole_file
from rarewords.probe.dataset import BANDS, RELATIONS, FrequencyBounds, gzip_bytes

RANK_LIMIT = 100
METRICS = ("mrr", "p3", "p10")
_FORMAT = "rarewords.wnlampro/1"
_COLUMNS = ("rank", "hits3", "hits10", "count")


@dataclass(frozen=True)
class Measure:
    """A mean over entries and its standard error (nan where there are fewer than two)."""

    mean: float
    error: float


@dataclass(frozen=True)
class Cell:
    """The figures of one relation and frequency; ``all`` stands for every one of them."""

    relation: str
    band: str
    entries: int
    mrr: Measure
    p3: Measure
    p10: Measure


@dataclass(frozen=True, eq=False)
class ProbeResult:
    """Ranks and hits of every entry.

    :param settings: what was evaluated and how: model, fingerprint, method, data set and its digest …
    :param rank: best place of a target over all patterns, from 1; 0 where none was among the answers.
        *Shape:* (entries,)
    :param hits3: targets among the first three answers to the best pattern. *Shape:* (entries,)
    :param hits10: likewise among the first ten. *Shape:* (entries,)
    :param count: occurrences of the keyword in the corpus. *Shape:* (entries,)
    """

    settings: Mapping[str, Any]
    id: Sequence[str]
    word: Sequence[str]
    relation: Sequence[str]
    rank: np.ndarray
    hits3: np.ndarray
    hits10: np.ndarray
    count: np.ndarray
    bounds: FrequencyBounds = field(default_factory=FrequencyBounds)

    def __post_init__(self) -> None:
        sizes = {len(getattr(self, name)) for name in ("id", "word", "relation", *_COLUMNS)}
        if len(sizes) != 1 or sizes == {0}:
            raise InputError(f"the columns of a result must have one length above 0, not {sorted(sizes)}")
        unknown = set(self.relation) - set(RELATIONS)
        if unknown:
            raise InputError(f"a result has the unknown relation {sorted(unknown)[0]!r}")

    def __len__(self) -> int:
        return len(self.id)

    @property
    def label(self) -> str:
        """What the result is called in tables and figures."""
        return str(self.settings.get("label", "result"))

    @property
    def depth(self) -> int:
        """How many answers were looked at; figures use the first 100 of them."""
        return int(self.settings.get("depth", RANK_LIMIT))

    @cached_property
    def reciprocal(self) -> np.ndarray:
        """1/rank within the first 100 answers, otherwise 0. *Shape:* (entries,)"""
        inside = (self.rank > 0) & (self.rank <= RANK_LIMIT)
        return np.where(inside, 1.0 / np.maximum(self.rank, 1), 0.0)

    def values(self, metric: str) -> np.ndarray:
        """One number an entry; the metric is their mean. *Shape:* (entries,)"""
        if metric not in METRICS:
            raise InputError(f"unknown metric {metric!r}; use {', '.join(METRICS)}")
        return {"mrr": self.reciprocal, "p3": self.hits3 / 3, "p10": self.hits10 / 10}[metric]

    @cached_property
    def bands(self) -> np.ndarray:
        """``rare``, ``medium`` or ``frequent`` for each entry. *Shape:* (entries,)"""
        return np.array([self.bounds.band(count) for count in self.count.tolist()])

    def chosen(self, relation: str = "all", band: str = "all") -> np.ndarray:
        """Which entries belong to a relation and a frequency. *Shape:* (entries,)"""
        relations = np.array(self.relation)
        chosen = np.ones(len(self), dtype=bool)
        if relation != "all":
            chosen &= relations == relation
        if band != "all":
            chosen &= self.bands == band
        return chosen

    def cell(self, relation: str = "all", band: str = "all") -> Cell | None:
        """The figures of a relation and frequency, None where there are no such entries."""
        chosen = self.chosen(relation, band)
        if not chosen.any():
            return None
        measures = {metric: _measure(self.values(metric)[chosen]) for metric in METRICS}
        return Cell(relation, band, int(chosen.sum()), **measures)

    @cached_property
    def cells(self) -> list[Cell]:
        """Every relation and frequency there is, then each relation, each frequency, and all."""
        asked = [(relation, band) for relation in (*RELATIONS, "all") for band in (*BANDS, "all")]
        return [cell for cell in (self.cell(*one) for one in asked) if cell is not None]

    @property
    def mrr(self) -> float:
        """Mean reciprocal rank over all entries."""
        return float(self.reciprocal.mean())

    def save(self, path: str | Path) -> None:
        """Write JSON, compressed where the name ends in ``.gz``; the same bytes for the same result."""
        raw = (json.dumps(self.as_json(), indent=1, ensure_ascii=False) + "\n").encode()
        with whole_file(path) as temporary:
            temporary.write_bytes(gzip_bytes(raw) if str(path).endswith(".gz") else raw)

    def as_json(self) -> dict[str, Any]:
        """The file's content; a column of the entries is one string, which keeps it small."""
        entries = {name: " ".join(map(str, getattr(self, name))) for name in ("id", "word", "relation")}
        entries |= {name: " ".join(map(str, getattr(self, name).tolist())) for name in _COLUMNS}
        return {
            "format": _FORMAT,
            "settings": dict(self.settings),
            "bounds": {"medium": self.bounds.medium, "frequent": self.bounds.frequent},
            "cells": self.summary(),
            "entries": entries,
        }

    def summary(self) -> list[dict[str, Any]]:
        """The cells as plain numbers, for ``--json`` and for people who open the file."""
        return [
            {"relation": cell.relation, "frequency": cell.band, "entries": cell.entries}
            | {
                name: round(value, 6)
                for metric in METRICS
                for name, value in (
                    (metric, getattr(cell, metric).mean),
                    (f"{metric}_error", getattr(cell, metric).error),
                )
                if not np.isnan(value)
            }
            for cell in self.cells
        ]

    @classmethod
    def load(cls, path: str | Path) -> ProbeResult:
        """Read a result's file."""
        stored = _read(Path(path))
        if not isinstance(stored, dict) or stored.get("format") != _FORMAT:
            raise InputError(f"{path} is not a result of rarewords wnlampro eval")
        try:
            entries = stored["entries"]
            texts = {name: entries[name].split(" ") for name in ("id", "word", "relation")}
            numbers = {name: np.array(entries[name].split(" "), dtype=np.int64) for name in _COLUMNS}
            bounds = FrequencyBounds(**stored["bounds"])
            columns: dict[str, Any] = {**texts, **numbers}
            return cls(settings=stored["settings"], **columns, bounds=bounds)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(f"{path} is damaged ({error}); evaluate again") from None


def _measure(values: np.ndarray) -> Measure:
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return Measure(float(values.mean()), float(error))


def _read(path: Path) -> Any:
    try:
        raw = path.read_bytes()
        return json.loads(gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw)
    except FileNotFoundError:
        raise InputError(f"{path} does not exist") from None
    except IsADirectoryError:
        raise InputError(f"{path} is a folder; give a result's file") from None
    except (ValueError, EOFError, gzip.BadGzipFile) as error:
        raise InputError(f"{path} is not a JSON file: {error}") from None
