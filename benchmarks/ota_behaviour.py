"""Measures of how well one vector stands in for a word's pieces: the model's answers, and unseen contexts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from rarewords.lm import LanguageModel, Query
from rarewords.ota.approximate import batches
from rarewords.ota.objective import Batch, Objective
from rarewords.ota.settings import OtaSettings
from rarewords.vectors import WordVectors

PATTERNS = (
    "<W> is a _ .",
    "a <W> is a _ .",
    '" <W> " refers to a _ .',
    "<W> is a kind of _ .",
    "a <W> is a kind of _ .",
    "<W> and _ .",
    '" <W> " and " _ " .',
)
_UNSEEN = 1_000_000  # contexts are numbered by step; no search gets this far


@dataclass(frozen=True)
class Overlap:
    """The share of the first answers with the pieces that the model also gives with one vector.

    :param by_word: mean over the patterns, from 0 to 1. *Shape:* (words,)
    """

    by_word: np.ndarray

    @property
    def mean(self) -> float:
        """The mean over words."""
        return float(self.by_word.mean())

    @property
    def error(self) -> float:
        """The standard error of the mean."""
        return standard_error(self.by_word)


def standard_error(values: np.ndarray) -> float:
    """The standard error of the mean; 0 for one value."""
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


def answer_overlap(
    lm: LanguageModel, words: Sequence[str], vectors: Mapping[str, WordVectors], *, top_k: int = 10
) -> dict[str, Overlap]:
    """The overlap of the first ``top_k`` answers for several sets of vectors of the same words."""
    queries = [Query(pattern, word) for word in words for pattern in PATTERNS]
    expected = lm.fill(queries, top_k=top_k).ids
    result = {}
    for name, candidate in vectors.items():
        given = [Query(query.pattern, query.word, candidate[query.word]) for query in queries]
        answers = lm.fill(given, top_k=top_k).ids
        shared = (expected[:, :, None] == answers[:, None, :]).any(axis=2).mean(axis=1)
        result[name] = Overlap(shared.reshape(len(words), len(PATTERNS)).mean(axis=1))
    return result


@torch.no_grad()
def held_out_distance(
    lm: LanguageModel, words: Sequence[str], vectors: WordVectors, *, contexts: int = 8
) -> np.ndarray:
    """The paper's distance of each word's vector in random contexts that no search has seen.

    :return: mean over the contexts. *Shape:* (words,)
    """
    objective = Objective(lm, OtaSettings.preset("paper"))
    result = np.zeros(len(words), dtype=np.float32)
    pieces = lm.tokens.pieces_of(list(words))
    for rows in batches(lm, pieces):
        batch = Batch.of(lm, [pieces[row] for row in rows], seed=0)
        given = torch.from_numpy(np.stack([vectors[words[row]] for row in rows])).to(lm.device)
        for context in range(_UNSEEN, _UNSEEN + contexts):
            targets = objective.targets(batch, context)
            distances = objective.distance(given, targets, batch.keys, context)
            result[rows] += distances.cpu().numpy() / contexts
    return result
