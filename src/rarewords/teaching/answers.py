"""What a model answers about words, as text and as directions in its own space.

A word is asked about with a few plain questions. The answers to each, weighted by probability, point from the
mean embedding somewhere; where they point can be compared with a vector, or with the answers of another
reading of the word.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from rarewords.lm import LanguageModel, Query
from rarewords.mimic.readings import KnownWords

# ``{a}`` is the article of the word. The answers to the first are shown.
_QUESTIONS = ("{a} <W> is a kind of _.", "<W> and _.", "the <W> is _.")
_ANSWERS = 20
_SHOWN = 5


@dataclass(frozen=True)
class Answered:
    """The answers about some words.

    :param shown: the first answers to ``a <W> is a kind of _.``
    :param directions: where the answers to each question point, unit vectors.
        *Shape:* (words, questions, dim)
    :param sureness: the mean log-probability of the first answers. *Shape:* (words,)
    """

    shown: tuple[tuple[str, ...], ...]
    directions: Tensor
    sureness: Tensor

    def agreement(self, directions: Tensor) -> Tensor:
        """The mean cosine with other directions. *Shapes:* (words, questions or 1, dim) -> (words,)"""
        return (self.directions * directions).sum(-1).mean(-1)


def ask_about(
    lm: LanguageModel,
    known: KnownWords,
    words: Sequence[str],
    vectors: np.ndarray | None = None,
    *,
    slash: bool = False,
) -> Answered:
    """Ask a model about words, by their pieces or with the vectors given. *Shape of vectors:* (words, dim)"""
    queries = [
        Query(
            question.replace("{a}", "an" if word[:1].lower() in tuple("aeiou") else "a"),
            word,
            None if vectors is None else vectors[number],
            slash and vectors is not None,
        )
        for number, word in enumerate(words)
        for question in _QUESTIONS
    ]
    answers = lm.fill(queries, top_k=_ANSWERS)
    log_probs = torch.from_numpy(answers.log_probs).to(known.mean)
    embeddings = lm.embeddings[torch.from_numpy(answers.ids).to(lm.device)].float()
    expected = (torch.softmax(log_probs, dim=-1)[..., None] * embeddings).sum(-2)
    shape = (len(words), len(_QUESTIONS))
    return Answered(
        tuple(tuple(answers.words(row * len(_QUESTIONS), _SHOWN)) for row in range(len(words))),
        known.directions(expected).reshape(*shape, -1),
        log_probs[:, 0].reshape(*shape).mean(-1),
    )
