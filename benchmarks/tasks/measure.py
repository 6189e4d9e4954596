"""What every task prints and writes: one JSON line per figure, with a bootstrap interval."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

_RESAMPLES = 2000


def interval(values: Sequence[float] | np.ndarray, seed: int = 0) -> tuple[float, float]:
    """The 95 % bootstrap interval of a mean."""
    found = np.asarray(values, float)
    drawn = np.random.default_rng(seed).integers(len(found), size=(_RESAMPLES, len(found)))
    low, high = np.quantile(found[drawn].mean(axis=1), [0.025, 0.975])
    return float(low), float(high)


def note(out: Path, **figures: object) -> None:
    """Append one line of figures to a file, and print it."""
    rounded = {
        name: round(value, 4) if isinstance(value, float) else value for name, value in figures.items()
    }
    line = json.dumps(rounded)
    print(line, flush=True)
    out.parent.mkdir(parents=True, exist_ok=True)
    with out.open("a", encoding="utf-8") as file:
        file.write(line + "\n")
