"""Mimicking in closed form: the matrix that brings readings of known words to their embeddings."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from rarewords.corpus.store import Store
from rarewords.errors import InputError
from rarewords.lm import LanguageModel

_PENALTIES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3)
_HELD_OUT = 10  # one training word in so many chooses the penalty


def training_words(
    lm: LanguageModel, store: Store, most: int, min_count: int, leave_out: set[str], seed: int
) -> list[str]:
    words, _ = store.counts(min_count)
    usable = [word for word in words if word in lm.whole_words and word not in leave_out and len(word) > 2]
    if len(usable) < 2 * _HELD_OUT:
        raise InputError(
            f"only {len(usable)} known words occur at least {min_count} times in {store.path}, too few to "
            "learn from; use more text, or the learner without training"
        )
    chosen = np.random.default_rng(seed).permutation(len(usable))[:most]
    return [usable[at] for at in sorted(chosen.tolist())]


def ridge(inputs: Tensor, targets: Tensor) -> tuple[Tensor, float, float]:
    """The matrix, the mean cosine of held-out words and the penalty that gave the best one.

    *Shapes:* (words, dim), (words, dim) -> (dim, dim)
    """
    x, y = inputs.double(), targets.double()
    held = torch.arange(len(x), device=x.device) % _HELD_OUT == 0
    eye = torch.eye(x.shape[1], device=x.device, dtype=x.dtype)

    def solve(chosen: Tensor, penalty: float) -> Tensor:
        square = x[chosen].T @ x[chosen]
        solution: Tensor = torch.linalg.solve(
            square + penalty * square.trace() / len(eye) * eye, x[chosen].T @ y[chosen]
        )
        return solution

    cosines = {
        penalty: float(torch.cosine_similarity(x[held] @ solve(~held, penalty), y[held]).mean())
        for penalty in _PENALTIES
    }
    best = max(cosines, key=lambda penalty: cosines[penalty])
    return solve(torch.ones_like(held), best).float(), cosines[best], best
