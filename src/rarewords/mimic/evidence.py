"""What comes of the evidence about words, and the matrix that readings are moved by."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from rarewords.vectors import WordVectors

_PENALTIES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
_HELD_OUT = 10  # one training word in ten chooses the penalty


class Evidence(NamedTuple):
    """What there is to learn a word from: sentences that contain it, and definitions of it."""

    word: str
    sentences: Sequence[str] = ()
    definitions: Sequence[str] = ()


@dataclass(frozen=True)
class Inferred:
    """The vector of one word and what it was made from.

    :param vector: *Shape:* (dim,)
    :param context_share: the share of sentences and definitions in the vector; the rest is spelling.
    :param weights: how much each sentence counts; with those of the definitions they add up to one.
    """

    word: str
    vector: np.ndarray
    context_share: float
    weights: tuple[float, ...]


@dataclass(frozen=True)
class InferredWords:
    """The vectors of many words.

    :param context_share: the share of the contexts in each vector. *Shape:* (words,)
    :param contexts: the number of contexts used for each word. *Shape:* (words,)
    :param refused: words without a vector, and why.
    """

    vectors: WordVectors
    context_share: np.ndarray
    contexts: np.ndarray
    refused: dict[str, str]


def ridge(inputs: Tensor, targets: Tensor) -> tuple[Tensor, float, float]:
    """The matrix A with the least ``|inputs A - targets|² + penalty |A - c I|²``, held-out cosine, penalty.

    c is the best factor for A = c I, which leaves directions as they are: the fewer words there are to fit
    on, the larger the penalty that does best, and the less A changes. Between spaces of two sizes c is 0.

    *Shapes:* (words, from), (words, to) -> (from, to)
    """
    x, y = inputs.double(), targets.double()
    held = torch.arange(len(x), device=x.device) % _HELD_OUT == 0
    eye = torch.eye(x.shape[1], device=x.device, dtype=x.dtype)

    def solve(x: Tensor, y: Tensor, penalties: Sequence[float]) -> Iterator[Tensor]:
        square, product = x.T @ x, x.T @ y
        start = torch.zeros_like(product)
        if len(product) == product.shape[1]:
            start = product.trace() / square.trace() * eye
        for penalty in penalties:
            added = penalty * square.trace() / len(eye) * eye
            yield start + torch.linalg.solve(square + added, product - square @ start)

    cosines = {}
    for penalty, matrix in zip(_PENALTIES, solve(x[~held], y[~held], _PENALTIES), strict=True):
        cosines[penalty] = float(torch.cosine_similarity(x[held] @ matrix, y[held]).mean())
    best = max(cosines, key=lambda penalty: cosines[penalty])
    (matrix,) = solve(x, y, [best])
    return matrix.float(), cosines[best], best
