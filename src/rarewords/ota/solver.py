"""The search for the vectors: Adam on the distance, each word by itself.

No number of one word enters another's, so the batch does not change a word's vector.
"""

import math
from collections.abc import Callable, Sequence
from functools import cached_property

import torch
from torch import Tensor

from rarewords.errors import InputError
from rarewords.lm import LanguageModel
from rarewords.ota.contexts import Frame, word_key
from rarewords.ota.objective import Batch, Objective, baseline
from rarewords.ota.settings import OtaSettings

_BETAS = (0.9, 0.999)
_FALLING_BETAS = (0.9, 0.95)

Watch = Callable[[int, Tensor], None]


class Approximator:
    """One-token approximation on one model: objective, start and rate as the settings ask for."""

    def __init__(
        self, lm: LanguageModel, settings: OtaSettings | None = None, frame: Frame | None = None
    ) -> None:
        self.settings = settings or OtaSettings()
        self.objective = Objective.of(lm, self.settings, frame)

    @cached_property
    def rate(self) -> float:
        """Adam's rate at the first step."""
        if not self.settings.falling:
            return self.settings.rate
        embeddings = self.objective.lm.embeddings.float()
        return self.settings.rate * float((embeddings - embeddings.mean(0)).norm(dim=1).mean())

    def batch(self, pieces: Sequence[Sequence[int]]) -> Batch:
        """Words with the same number of pieces, on the model's device."""
        device = self.objective.lm.device
        keys = [word_key(word, self.settings.seed) for word in pieces]
        return Batch(torch.tensor(pieces, device=device), torch.tensor(keys, device=device))

    def start(self, pieces: Tensor) -> Tensor:
        """Where the search begins. *Shape:* (words, pieces) -> (words, dim)"""
        lm = self.objective.lm
        if self.settings.start == "mean":
            return baseline(lm, pieces, "avg")
        return torch.zeros(len(pieces), lm.dim, device=lm.device)

    def solve(self, batch: Batch, watch: Watch | None = None, start: Tensor | None = None) -> Tensor:
        """The vectors of a batch. If memory runs out, each half of the batch is solved by itself.

        :param watch: called after each step with its number, from 1, and the vectors; needs the batch in one
            go.
        :param start: where to begin instead of where the settings say. *Shape:* (words, dim)
        :return: float32. *Shape:* (words, dim)
        """
        begin = self.start(batch.pieces) if start is None else start
        try:
            return self._descend(batch, begin, watch)
        except torch.OutOfMemoryError:
            if len(batch) == 1 or watch is not None:
                raise InputError(
                    f"{len(batch)} words of {batch.pieces.shape[1]} pieces do not fit into the memory of "
                    f"{self.objective.lm.device}; use a device with more memory"
                ) from None
        torch.cuda.empty_cache()
        half = len(batch) // 2
        halves = (slice(half), slice(half, None))
        return torch.cat([self.solve(batch.part(rows), start=begin[rows]) for rows in halves])

    def _descend(self, batch: Batch, start: Tensor, watch: Watch | None) -> Tensor:
        """Minimise d(v | l, r) by Adam, one context per word and step. *Shape:* (words, dim)

        What one vector cannot do for several pieces differs from context to context: the best vector for a
        few contexts is not the best for all, and may be very long. New contexts and a falling rate average
        instead.
        """
        steps, falling, objective = self.settings.steps, self.settings.falling, self.objective
        betas = _FALLING_BETAS if falling else _BETAS
        vectors = start.detach().clone().requires_grad_()
        adam = torch.optim.Adam([vectors], lr=self.rate, betas=betas, fused=vectors.is_cuda)
        redrawn = len(objective.frame.drawn) > 0  # the static frame has one context
        targets = objective.targets(batch, context=0)
        for step in range(steps):
            if redrawn and step:
                targets = objective.targets(batch, context=step)
            if falling:
                adam.param_groups[0]["lr"] = self.rate * (1 + math.cos(math.pi * step / steps)) / 2
            adam.zero_grad()
            objective.distance(vectors, targets, batch.keys, context=step).sum().backward()
            adam.step()
            if watch is not None:
                watch(step + 1, vectors.detach())
        return vectors.detach()
