"""What a learner or a mimic model returns: vectors, and what each was made from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rarewords.vectors import WordVectors


@dataclass(frozen=True)
class Inferred:
    """The vector of one word and what it was made from.

    :param vector: *Shape:* (dim,)
    :param context_share: the share of the contexts in the vector; the rest is spelling and pieces.
    :param weights: how much each context counts; they add up to one.
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
