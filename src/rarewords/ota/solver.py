"""The search for the vectors: Adam on the distance, each word by itself.

No number of one word enters another's, so the batch does not change a word's vector.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from rarewords.ota.objective import Batch, Objective

_BETAS = (0.9, 0.999)
_FALLING_BETAS = (0.9, 0.95)

Watch = Callable[[int, Tensor], None]


def solve(
    objective: Objective,
    batch: Batch,
    start: Tensor,
    *,
    steps: int,
    rate: float,
    falling: bool,
    watch: Watch | None = None,
) -> Tensor:
    """Minimise d(v | l, r) by Adam, one context per word and step.

    What one vector cannot do for several pieces differs from context to context: the best vector for a few
    contexts is not the best for all, and may be very long. New contexts and a falling rate average instead.

    :param start: *Shape:* (words, dim)
    :param rate: the rate of the first step.
    :param falling: the rate falls to zero along half a cosine; otherwise it stays.
    :param watch: called after each step with its number, from 1, and the vectors.
    :return: float32. *Shape:* (words, dim)
    """
    vectors = start.detach().clone().requires_grad_()
    adam = torch.optim.Adam(
        [vectors], lr=rate, betas=_FALLING_BETAS if falling else _BETAS, fused=vectors.is_cuda
    )
    redrawn = len(objective.frame.drawn) > 0  # the static frame has one context
    targets = objective.targets(batch, context=0)
    for step in range(steps):
        if redrawn and step:
            targets = objective.targets(batch, context=step)
        if falling:
            adam.param_groups[0]["lr"] = rate * (1 + math.cos(math.pi * step / steps)) / 2
        adam.zero_grad()
        objective.distance(vectors, targets, batch.keys, context=step).sum().backward()
        adam.step()
        if watch is not None:
            watch(step + 1, vectors.detach())
    return vectors.detach()
