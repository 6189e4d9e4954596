"""The development measure: how near the vectors of one-piece words come to the model's own.

A one-piece word has an embedding of its own, so its approximation has a right answer. The start must not
know it: starts made of the word's pieces are refused, and what the fast preset learns from other one-piece
words is learnt without the words measured.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rarewords.errors import InputError
from rarewords.lm import LanguageModel
from rarewords.ota.contexts import draw, word_key
from rarewords.ota.run import Approximator
from rarewords.ota.settings import OtaSettings
from rarewords.progress import progress

_ALPHA = 0.05


@dataclass(frozen=True)
class Curve:
    """Mean cosine distance to the model's own embeddings, by iteration.

    :param marks: iterations at which it was measured; 0 is the start.
    :param distances: the mean over the words at each mark.
    :param seconds: time until each mark, everything the method needs included.
    :param forwards: sequences run forward per word, the shared work divided among the words.
    :param backwards: sequences run backward per word.
    :param word_distances: each word's distance at each mark. *Shape:* (marks, words)
    """

    label: str
    settings: dict[str, Any]
    marks: list[int]
    distances: list[float]
    seconds: list[float]
    forwards: float
    backwards: float
    word_distances: np.ndarray = field(repr=False)

    @property
    def best(self) -> int:
        """The place, among the marks, of the lowest mean."""
        return int(np.argmin(self.distances))

    def at(self, iteration: int) -> float:
        """The mean distance at a mark."""
        return self.distances[self.marks.index(iteration)]

    def to_dict(self) -> dict[str, Any]:
        """As JSON holds it; the words' own distances at the best and the last mark only."""
        values = {name: value for name, value in asdict(self).items() if name != "word_distances"}
        values["best_words"] = self.word_distances[self.best].round(5).tolist()
        values["last_words"] = self.word_distances[-1].round(5).tolist()
        return values


@dataclass(frozen=True)
class Comparison:
    """A two-sided binomial test on which of two curves is nearer, word by word, each at its best."""

    first: str
    second: str
    first_wins: int
    second_wins: int
    p_value: float

    @property
    def significant(self) -> bool:
        """Whether the difference is significant at the 5 % level."""
        return self.p_value < _ALPHA


def one_piece_words(model: LanguageModel, count: int, seed: int) -> list[str]:
    """A seeded choice of the model's one-piece words."""
    words = sorted(model.whole_words)
    if not 1 <= count <= len(words):
        raise InputError(f"{model.name} has {len(words):,} one-piece words, so {count:,} cannot be chosen")
    key = torch.tensor([word_key([-4], seed)])
    order = torch.argsort(draw(key, torch.arange(len(words)), 2**31)[:, 0], stable=True)
    return [words[place] for place in order[:count].tolist()]


def marks_up_to(iterations: int) -> list[int]:
    """1, 10, then every hundred, and the last. ``250 -> [1, 10, 100, 200, 250]``"""
    marks = {1, 10, iterations, *range(100, iterations + 1, 100)}
    return sorted(mark for mark in marks if mark <= iterations)


def measure(
    model: LanguageModel,
    words: Sequence[str],
    settings: OtaSettings,
    *,
    label: str,
    marks: Sequence[int] | None = None,
    words_per_batch: int = 1000,
) -> Curve:
    """Approximate one-piece words as if they had several pieces, and record the distance on the way."""
    if settings.start in ("mean", "length"):
        raise InputError(f"the start {settings.start!r} of a one-piece word is its answer; use another start")
    listed = list(marks) if marks is not None else marks_up_to(settings.iterations)
    ids = [model.whole_words[word] for word in words]
    began = _clock(model)
    approximator = Approximator(model, settings, leave_out=ids)
    prior = approximator.prior
    shared = _clock(model) - began
    parts = [ids[at : at + words_per_batch] for at in range(0, len(ids), words_per_batch)]
    records, seconds = [], np.zeros(len(listed) + 1)
    forwards, backwards = float(prior.forwards), float(prior.backwards)
    with progress(label, total=settings.iterations * len(parts), unit="iterations") as bar:
        for part in parts:
            record = _Record(model, part, listed, bar.advance)
            batch = approximator.batch([[token] for token in part])
            record.start(approximator.start(batch.pieces))
            solution = approximator.solve(batch, record)
            forwards, backwards = forwards + solution.forwards, backwards + solution.backwards
            rows, times = record.finish(solution.vectors)
            records.append(rows)
            seconds += times
    rows = np.concatenate(records, axis=1)
    return Curve(
        label,
        settings.to_dict(),
        [0, *listed],
        rows.mean(axis=1).tolist(),
        (seconds + shared).tolist(),
        forwards / len(ids),
        backwards / len(ids),
        rows,
    )


def compare(first: Curve, second: Curve) -> Comparison:
    """Which of two curves over the same words is nearer at its best, and whether by more than chance."""
    from scipy.stats import binomtest

    one, other = first.word_distances[first.best], second.word_distances[second.best]
    wins, losses = int((one < other).sum()), int((other < one).sum())
    p_value = float(binomtest(wins, wins + losses, 0.5).pvalue) if wins + losses else 1.0
    return Comparison(first.label, second.label, wins, losses, p_value)


class _Record:
    """Distances at the marks, kept on the device so that no step waits for them."""

    def __init__(self, model: LanguageModel, ids: Sequence[int], marks: Sequence[int], advance: Any) -> None:
        self._model, self._marks, self._advance = model, marks, advance
        self._own = model.embeddings[torch.tensor(ids, device=model.device)].float()
        self._rows: list[Tensor] = []
        self._times: list[float] = []
        self._wanted = set(marks)
        self._began = _clock(model)

    def start(self, vectors: Tensor) -> None:
        self._keep(vectors)

    def __call__(self, iteration: int, vectors: Tensor) -> None:
        self._advance()
        if iteration in self._wanted:
            self._keep(vectors)

    def finish(self, vectors: Tensor) -> tuple[np.ndarray, np.ndarray]:
        # A solver that stops early leaves marks out: the vectors do not change any more.
        while len(self._rows) < len(self._marks) + 1:
            self._keep(vectors)
        return torch.stack(self._rows).cpu().numpy(), np.array(self._times)

    def _keep(self, vectors: Tensor) -> None:
        self._rows.append(1 - torch.nn.functional.cosine_similarity(vectors, self._own))
        self._times.append(_clock(self._model) - self._began)


def _clock(model: LanguageModel) -> float:
    if model.device.type == "cuda":
        torch.cuda.synchronize(model.device)
    return time.perf_counter()
