"""What the experiments share: intervals, and results with the version, the model and the machine they are of."""

import os
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from experiments.code import code_of, modules_behind
from rarewords import LanguageModel
from rarewords._internal.files import write_json
from rarewords._internal.tables import markdown_table
from rarewords.models import shown_name
from rarewords.wnlampro.comparison import bootstrap_interval

_ROOT = Path(__file__).resolve().parents[1]
INVENTED = _ROOT / "tests" / "data" / "invented"
_RESAMPLES = 2000


class Results:
    """The rows of an experiment, written to one JSON file and printed as one table at the end.

    :param out: the file; None writes nothing.
    :param experiment: its name, such as ``transfer invented``.
    :param model: the model that was measured, or its name; None for results of several.
    :param made_from: results files that the rows are made from; their code counts, too.
    :param settings: what else the rows depend on.
    """

    def __init__(
        self,
        out: Path | None,
        experiment: str,
        model: LanguageModel | str | Path | None,
        made_from: Sequence[Path] = (),
        **settings: Any,
    ) -> None:
        self.out, self.rows, self._made_from = out, list[dict[str, Any]](), made_from
        loaded = isinstance(model, LanguageModel)
        cuda = torch.cuda.is_available()
        self.model = None if model is None else shown_name(model.name if loaded else model)
        self._about = {
            "experiment": experiment,
            "model": self.model,
            "fingerprint": model.fingerprint if loaded else None,
            "device": torch.cuda.get_device_name() if cuda else f"{_cores()} cores, {platform.machine()}",
            "torch": torch.__version__,
            "settings": {name: _plain(value) for name, value in settings.items()},
        }

    def add(self, **row: Any) -> None:
        """Add a row."""
        self.rows.append({name: _plain(value) for name, value in row.items()})

    def show(self, *columns: str, where: Mapping[str, Sequence[str]] | None = None) -> None:
        """Write the file, and print the table: all columns or some, of all rows or those with certain values."""
        if self.out is not None:
            code = code_of(modules_behind(self._made_from))
            write_json(self.out, {**self._about, **code, "rows": self.rows})
        rows = [row for row in self.rows if all(row[name] in own for name, own in (where or {}).items())]
        names = list(columns or dict.fromkeys(name for row in rows for name in row))
        cells = [[_shown(row.get(name)) for name in names] for row in rows]
        left = sum(all(isinstance(row.get(name), str) for row in rows) for name in names)
        print(markdown_table(names, cells, left=max(1, left)), flush=True)


def with_interval(values: np.ndarray) -> dict[str, Any]:
    """The mean change of some items and its 95 % bootstrap interval, as columns. *Shape:* (items,)"""
    return {"change": float(values.mean()), "interval": list(bootstrap_interval(values))}


def change_of(before: np.ndarray, after: np.ndarray, statistic: Callable[[np.ndarray], np.ndarray]) -> dict[str, Any]:
    """The change of a statistic of sums over items, with its 95 % bootstrap interval, as columns.

    :param before: what each item adds to the sums. *Shape:* (items, sums)
    :param after: the same items, which are drawn together. *Shape:* (items, sums)
    :param statistic: *Shape:* (any, sums) -> (any,)
    """
    items = len(before)
    drawn = np.random.default_rng(0).multinomial(items, np.full(items, 1 / items), size=_RESAMPLES)
    interval = np.quantile(statistic(drawn @ after) - statistic(drawn @ before), [0.025, 0.975])
    whole = statistic(after.sum(0)[None]) - statistic(before.sum(0)[None])
    return {"change": float(whole[0]), "interval": interval.tolist()}


def spearman(first: np.ndarray, second: np.ndarray) -> float:
    """Spearman's correlation; 0 if either is constant. *Shapes:* (items,), (items,)

    >>> spearman(np.array([1, 2, 2, 9]), np.array([0, 5, 5, 6]))
    1.0
    """
    a, b = (_ranks(np.asarray(one, float)) for one in (first, second))
    scale = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / scale if scale else 0.0


def _ranks(values: np.ndarray) -> np.ndarray:
    """Ranks from their mean on; equal values share the mean of their ranks. *Shape:* (items,)"""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts + 1) / 2)[place]
    return ranks - ranks.mean()


def invented_kinds() -> dict[str, list[str]]:
    """The invented words, each with its kinds."""
    lines = (INVENTED / "words.tsv").read_text("utf-8").splitlines()
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    return {word: kinds.split() for word, _, kinds in rows}


def invented_sentences() -> dict[str, list[str]]:
    """The invented words, each with its sentences."""
    lines = (INVENTED / "text.txt").read_text("utf-8").splitlines()
    return {word: [line for line in lines if word in line.lower()] for word in invented_kinds()}


def ranks_of(scores: np.ndarray, words: Sequence[str], right: Mapping[str, Sequence[str]]) -> np.ndarray:
    """The rank of the best right answer for each row of scores. *Shape:* (rows, words) -> (rows,)"""
    place = {word: column for column, word in enumerate(words)}
    best = [max(row[place[word]] for word in own) for row, own in zip(scores, right.values(), strict=True)]
    return 1 + (scores > np.array(best)[:, None]).sum(1)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _plain(value: Any) -> Any:
    """What JSON can hold: numbers to six digits, paths by their names."""
    if is_dataclass(value) and not isinstance(value, type):
        return _plain(asdict(value))
    if isinstance(value, Path):
        return value.name
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(one) for one in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    return float(f"{value:.6g}") if isinstance(value, float) else value


def _shown(value: Any) -> str:
    if isinstance(value, list) and len(value) == 2 and all(isinstance(one, float | int) for one in value):
        return f"[{value[0]:+.3f}, {value[1]:+.3f}]"
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) >= 10 else f"{value:.3f}"
    return "" if value is None else f"{value:,}" if isinstance(value, int) else str(value)
