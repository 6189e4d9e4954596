"""What the tasks share: options, bootstrap intervals, and one JSON line per figure."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

_RESAMPLES = 2000


def options(description: str, data: str, *, trained: bool = False) -> argparse.ArgumentParser:
    """A parser with the options that all tasks have.

    :param data: what the positional argument is.
    :param trained: something is trained, so that seeds matter.
    """
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("data", type=Path, help=data)
    parser.add_argument("--model", default="default", help="default, or a masked LM's folder")
    parser.add_argument("--name", default="gte-mlm", help="what to call the model")
    if trained:
        parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--quick", action="store_true", help="a small part, to see that it runs")
    parser.add_argument("--out", type=Path, default=Path("docs/results/tasks/tasks.jsonl"))
    return parser


def interval(values: Sequence[float] | np.ndarray, seed: int = 0) -> tuple[float, float]:
    """The 95 % bootstrap interval of a mean."""
    found = np.asarray(values, float)
    drawn = np.random.default_rng(seed).integers(len(found), size=(_RESAMPLES, len(found)))
    low, high = np.quantile(found[drawn].mean(axis=1), [0.025, 0.975])
    return float(low), float(high)


def change(
    before: np.ndarray, after: np.ndarray, statistic: Callable[[np.ndarray], np.ndarray]
) -> tuple[float, float, float]:
    """The difference of a statistic of sums over items, with its 95 % bootstrap interval over items.

    :param before: what each item adds to the sums. *Shape:* (items, sums)
    :param after: the same items, which are drawn together. *Shape:* (items, sums)
    :param statistic: *Shape:* (any, sums) -> (any,)
    """
    items = len(before)
    drawn = np.random.default_rng(0).multinomial(items, np.full(items, 1 / items), size=_RESAMPLES)
    low, high = np.quantile(statistic(drawn @ after) - statistic(drawn @ before), [0.025, 0.975])
    whole = statistic(after.sum(0)[None]) - statistic(before.sum(0)[None])
    return float(whole[0]), float(low), float(high)


def note(out: Path, **figures: object) -> None:
    """Append one line of figures to a file, and print it."""
    rounded = {
        name: round(value, 4 if abs(value) > 1e-3 else 8) if isinstance(value, float) else value
        for name, value in figures.items()
    }
    line = json.dumps(rounded)
    print(line, flush=True)
    out.parent.mkdir(parents=True, exist_ok=True)
    with out.open("a", encoding="utf-8") as file:
        file.write(line + "\n")
