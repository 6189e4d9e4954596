"""Do answers to patterns stay the same when one vector stands for a word's pieces?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from rarewords.lm import LanguageModel, Query
from rarewords.ota.contexts import word_key
from rarewords.ota.objective import Objective
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
_UNSEEN = 1_000_000  # contexts are numbered; no solver gets this far
_WORDS_AT_A_TIME = 128


@dataclass(frozen=True)
class Overlap:
    """How many of the first ``top_k`` answers with the pieces are also given with one vector.

    :param mean: over words and patterns, from 0 to 1.
    :param error: the standard error of the mean over words.
    :param words: each word's overlap, mean over the patterns. *Shape:* (words,)
    """

    mean: float
    error: float
    words: np.ndarray


def answer_overlap(
    model: LanguageModel,
    words: Sequence[str],
    vectors: Mapping[str, WordVectors],
    *,
    patterns: Sequence[str] = PATTERNS,
    top_k: int = 10,
) -> dict[str, Overlap]:
    """The overlap of answers for several sets of vectors over the same words."""
    queries = [Query(pattern, word) for word in words for pattern in patterns]
    expected = model.fill(queries, top_k=top_k).ids
    result = {}
    for name, candidate in vectors.items():
        given = [Query(query.pattern, query.word, candidate[query.word]) for query in queries]
        answers = model.fill(given, top_k=top_k).ids
        shared = (expected[:, :, None] == answers[:, None, :]).any(axis=2).mean(axis=1)
        by_word = shared.reshape(len(words), len(patterns)).mean(axis=1)
        error = float(by_word.std(ddof=1) / np.sqrt(len(words))) if len(words) > 1 else 0.0
        result[name] = Overlap(float(by_word.mean()), error, by_word)
    return result


def held_out_distance(
    model: LanguageModel, words: Sequence[str], vectors: WordVectors, *, contexts: int = 8
) -> np.ndarray:
    """The paper's distance of each word's vector in random contexts that no solver has seen.

    :return: mean over the contexts. *Shape:* (words,)
    """
    settings = OtaSettings.preset("paper")
    objective = Objective.of(model, settings)
    counters = torch.arange(_UNSEEN, _UNSEEN + contexts, device=model.device)
    result = np.zeros(len(words), dtype=np.float32)
    by_size: dict[int, list[int]] = {}
    pieces = model.tokens.pieces_of(list(words))
    for place, word in enumerate(pieces):
        by_size.setdefault(len(word), []).append(place)
    for places in by_size.values():
        for part in (places[at : at + _WORDS_AT_A_TIME] for at in range(0, len(places), _WORDS_AT_A_TIME)):
            ids = torch.tensor([pieces[place] for place in part], device=model.device)
            keys = torch.tensor([word_key(pieces[p], settings.seed) for p in part], device=model.device)
            rows = torch.from_numpy(np.stack([vectors[words[place]] for place in part])).to(model.device)
            with torch.no_grad():
                targets = objective.targets(ids, keys, counters)
                result[part] = objective.distance(rows, targets, keys, counters).cpu().numpy()
    return result
