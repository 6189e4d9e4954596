"""Ways to lower the distance of many words at once, each word by itself.

No number of one word enters another's: a word's path is the same in any batch.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from rarewords.ota.objective import Objective
from rarewords.ota.settings import OtaSettings

_HISTORY = 10
_FIRST_STEP = 0.1  # the shared curvature is an average; a word's own may be ten times as high
_SHORTER = 0.35
_STEPS_BETWEEN_CHECKS = 5
_FALLING_BETAS = (0.9, 0.95)

Watch = Callable[[int, Tensor], None]


@dataclass(frozen=True)
class Batch:
    """Words of equally many pieces, on the model's device.

    :param pieces: token ids. *Shape:* (words, pieces)
    :param keys: what their contexts are drawn by. *Shape:* (words,)
    :param vectors: what stands for the last piece, where that is no token. *Shape:* (words, dim)
    """

    pieces: Tensor
    keys: Tensor
    vectors: Tensor | None = None


@dataclass(frozen=True)
class Solution:
    """Vectors and what they cost.

    :param vectors: float32. *Shape:* (words, dim)
    :param distances: the distance at the last step, on the contexts solved for. *Shape:* (words,)
    :param forwards: sequences run forward, pieces included, over all words.
    :param backwards: sequences run backward.
    """

    vectors: Tensor
    distances: Tensor
    forwards: int
    backwards: int


def adam(
    objective: Objective, batch: Batch, start: Tensor, settings: OtaSettings, watch: Watch | None = None
) -> Solution:
    """Adam, as the paper has it: one step per iteration, new contexts each time when ``settings.fresh``.

    :param start: *Shape:* (words, dim)
    :param watch: called with the iteration (from 1) and the vectors.
    """
    vectors = start.detach().clone().requires_grad_()
    optimizer = torch.optim.Adam([vectors], lr=settings.learning_rate, fused=vectors.is_cuda)
    width = settings.contexts_per_step
    counters = torch.arange(width, device=start.device)
    targets = objective.targets(batch.pieces, batch.keys, counters, batch.vectors)
    # The static context has nothing to redraw, so what the pieces do in it is computed once.
    redrawn = settings.fresh and settings.contexts == "random"
    distances = torch.zeros(len(start), device=start.device)
    for step in range(settings.iterations):
        if redrawn and step:
            counters = counters + width
            targets = objective.targets(batch.pieces, batch.keys, counters, batch.vectors)
        distances = objective.distance(vectors, targets, batch.keys, counters)
        optimizer.zero_grad()
        distances.sum().backward()
        optimizer.step()
        if watch is not None:
            watch(step + 1, vectors.detach())
    sequences = len(start) * width
    backwards = settings.iterations * sequences
    return Solution(
        vectors.detach(), distances.detach(), backwards + (backwards if redrawn else sequences), backwards
    )


def lbfgs(
    objective: Objective,
    batch: Batch,
    start: Tensor,
    settings: OtaSettings,
    inverse_curvature: Tensor | None = None,
    watch: Watch | None = None,
) -> Solution:
    """Limited-memory BFGS on contexts that stay, with a shared estimate of the curvature to begin with.

    Without new contexts the distance is an ordinary function, so steps can use how its gradient changed.
    A step that makes a word's distance larger is not taken and the next is shorter. A word that has
    converged leaves the batch.

    :param start: *Shape:* (words, dim)
    :param inverse_curvature: of a typical word. *Shape:* (dim, dim)
    """
    counters = torch.arange(settings.contexts_per_step, device=start.device)
    width = settings.contexts_per_step
    result, final = start.detach().clone(), torch.zeros(len(start), device=start.device)
    rows = torch.arange(len(start), device=start.device)  # which words are still in the batch
    keys, targets = batch.keys, objective.targets(batch.pieces, batch.keys, counters, batch.vectors)
    vectors = result.clone()
    value, gradient = _value_and_gradient(objective, vectors, targets, keys, counters)
    forwards, backwards = 2 * width * len(start), width * len(start)
    memory = _Memory(inverse_curvature)
    length = torch.full((len(start), 1), _FIRST_STEP, device=start.device)
    before = value
    for step in range(settings.iterations):
        moved = vectors + length * memory.direction(gradient)
        new_value, new_gradient = _value_and_gradient(objective, moved, targets, keys, counters)
        forwards, backwards = forwards + width * len(rows), backwards + width * len(rows)
        better = (new_value < value)[:, None]
        memory.add(
            torch.where(better, moved - vectors, 0.0), torch.where(better, new_gradient - gradient, 0.0)
        )
        length = torch.where(better, 1.0, length * _SHORTER)
        vectors = torch.where(better, moved, vectors)
        gradient = torch.where(better, new_gradient, gradient)
        value = torch.where(better[:, 0], new_value, value)
        if watch is not None:
            result[rows] = vectors
            watch(step + 1, result)
        if (step + 1) % _STEPS_BETWEEN_CHECKS == 0 and settings.tolerance:
            going_on = value < (1 - settings.tolerance) * before
            before = value
            result[rows], final[rows] = vectors, value
            if not bool(going_on.all()):
                rows, keys, targets = rows[going_on], keys[going_on], _keep(targets, going_on, width)
                vectors, gradient, value = vectors[going_on], gradient[going_on], value[going_on]
                length, before = length[going_on], before[going_on]
                memory.keep(going_on)
            if not len(rows):
                break
    result[rows], final[rows] = vectors, value
    return Solution(result, final, forwards, backwards)


def falling_adam(
    objective: Objective,
    batch: Batch,
    start: Tensor,
    *,
    steps: int,
    rate: float,
    watch: Watch | None = None,
) -> Solution:
    """Adam with new contexts at every step and a rate that falls to zero along half a cosine.

    What one vector cannot do for several pieces differs from context to context, so the best vector for a few
    contexts is not the best for all, and may be very long. Falling steps average over contexts instead.

    :param start: *Shape:* (words, dim)
    :param rate: the rate of the first step.
    """
    vectors = start.detach().clone().requires_grad_()
    optimizer = torch.optim.Adam([vectors], lr=rate, betas=_FALLING_BETAS, fused=vectors.is_cuda)
    counters = torch.zeros(1, dtype=torch.long, device=start.device)
    distances = torch.zeros(len(start), device=start.device)
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = rate * (1 + math.cos(math.pi * step / steps)) / 2
        targets = objective.targets(batch.pieces, batch.keys, counters, batch.vectors)
        distances = objective.distance(vectors, targets, batch.keys, counters)
        optimizer.zero_grad()
        distances.sum().backward()
        optimizer.step()
        counters = counters + 1
        if watch is not None:
            watch(step + 1, vectors.detach())
    return Solution(vectors.detach(), distances.detach(), 2 * steps * len(start), steps * len(start))


class _Memory:
    """The last steps and gradient changes of each word, and the direction that follows from them."""

    def __init__(self, inverse_curvature: Tensor | None) -> None:
        self._inverse = inverse_curvature
        self._steps: list[Tensor] = []
        self._changes: list[Tensor] = []

    def add(self, step: Tensor, change: Tensor) -> None:
        self._steps, self._changes = (
            [*self._steps, step][-_HISTORY:],
            [*self._changes, change][-_HISTORY:],
        )

    def keep(self, rows: Tensor) -> None:
        self._steps = [step[rows] for step in self._steps]
        self._changes = [change[rows] for change in self._changes]

    def direction(self, gradient: Tensor) -> Tensor:
        """The step downhill by the two-loop recursion. *Shape:* (words, dim)"""
        left, weights = gradient, []
        for step, change in zip(reversed(self._steps), reversed(self._changes), strict=True):
            scale = _inverse_or_zero(_dot(step, change))
            weight = scale * _dot(step, left)
            left = left - weight * change
            weights.append((weight, scale))
        left = self._precondition(left)
        if self._steps:
            step, change = self._steps[-1], self._changes[-1]
            curved = _dot(step, change)
            fit = curved * _inverse_or_zero(_dot(self._precondition(change), change))
            left = left * torch.where(curved > 0, fit, 1.0)
        for step, change, (weight, scale) in zip(self._steps, self._changes, reversed(weights), strict=True):
            left = left + step * (weight - scale * _dot(change, left))
        return -left

    def _precondition(self, gradient: Tensor) -> Tensor:
        if self._inverse is None:
            return gradient * 0.01
        return gradient @ self._inverse


def _value_and_gradient(
    objective: Objective, vectors: Tensor, targets: Tensor, keys: Tensor, counters: Tensor
) -> tuple[Tensor, Tensor]:
    free = vectors.detach().requires_grad_()
    value = objective.distance(free, targets, keys, counters)
    (gradient,) = torch.autograd.grad(value.sum(), free)
    return value.detach(), gradient


def _dot(one: Tensor, other: Tensor) -> Tensor:
    return (one * other).sum(dim=1, keepdim=True)


def _inverse_or_zero(number: Tensor) -> Tensor:
    # A step with no (or negative) curvature says nothing about the valley; it is passed over.
    usable = number > 1e-12
    return torch.where(usable, 1.0 / torch.where(usable, number, 1.0), 0.0)


def _keep(targets: Tensor, rows: Tensor, contexts: int) -> Tensor:
    layers, _, places, hidden = targets.shape
    split = targets.view(layers, contexts, -1, places, hidden)
    return split[:, :, rows].reshape(layers, -1, places, hidden)
