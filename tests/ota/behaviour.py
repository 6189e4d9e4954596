"""How well one embedding stands in for a word's subwords: the model's answers, and unseen contexts."""

from collections.abc import Sequence

import numpy as np
import torch

from rarewords import LanguageModel, OtaSettings, Query, WordEmbeddings
from rarewords.ota.approximate import batches
from rarewords.ota.objective import Batch, Objective

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


def answer_overlap(
    lm: LanguageModel, words: Sequence[str], embeddings: WordEmbeddings, *, top_k: int = 10
) -> np.ndarray:
    """The share of the first answers with the subwords that the model also gives with the embedding.

    :return: the mean over the patterns, from 0 to 1. *Shape:* (words,)
    """
    asked = [(pattern, word) for word in words for pattern in PATTERNS]
    expected = lm.fill([Query(*one) for one in asked], top_k=top_k).ids
    answers = lm.fill([Query(*one, embeddings[one[1]]) for one in asked], top_k=top_k).ids
    shared = (expected[:, :, None] == answers[:, None, :]).any(axis=2).mean(axis=1)
    by_word: np.ndarray = shared.reshape(len(words), len(PATTERNS)).mean(axis=1)
    return by_word


@torch.no_grad()
def held_out_distance(
    lm: LanguageModel, words: Sequence[str], embeddings: WordEmbeddings, *, contexts: int = 8
) -> np.ndarray:
    """The paper's distance of each word's embedding in random contexts that no search has seen.

    :return: the mean over the contexts. *Shape:* (words,)
    """
    objective = Objective(lm, OtaSettings.preset("paper"))
    result = np.zeros(len(words), dtype=np.float32)
    subwords = lm.tokens.subwords_of(list(words))
    for rows in batches(lm, subwords):
        batch = Batch.of(lm, [subwords[row] for row in rows], seed=0)
        given = torch.from_numpy(np.stack([embeddings[words[row]] for row in rows])).to(lm.device)
        for context in range(_UNSEEN, _UNSEEN + contexts):
            targets = objective.targets(batch, context)
            distances = objective.distance(given, targets, batch.keys, context)
            result[rows] += distances.cpu().numpy() / contexts
    return result
