"""What several measurements share."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import numpy as np

_BOOTSTRAP = 10_000


def interval(changes: np.ndarray) -> str:
    """The mean change and its 95 % bootstrap interval."""
    rng = np.random.default_rng(0)
    means = changes[rng.integers(0, len(changes), (_BOOTSTRAP, len(changes)))].mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return f"{changes.mean():+.4f} [{low:+.4f}, {high:+.4f}]"


def candidates(known: Mapping[str, int], kinds: Mapping[str, Sequence[str]]) -> list[str]:
    """2,000 words of a vocabulary and all kinds that it has as one piece."""
    drawn = random.Random(0).sample(sorted(word for word in known if len(word) > 2), 2000)
    return sorted({*drawn, *(one for own in kinds.values() for one in own)} & set(known))
