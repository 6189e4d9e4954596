"""How similar words are, judged by the sentences that use them.

Input embeddings are not made to be compared with each other. What the model expects in a word's place is: put
the mask there, and the last hidden state at the mask says what would fit. The mean over a word's contexts,
each dimension in units of its spread over all contexts at hand, is the word's *profile*::

    profile(w) = mean over contexts C of w of (state(C) - mean) / spread
    context_similarity(a, b) = cosine of profile(a) and profile(b)

The word itself is never seen, so known, rare and invented words can be compared.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from rarewords._internal.engine import one_thread
from rarewords.errors import InputError
from rarewords.learner.expected import at_masks, pool
from rarewords.learner.masked import MaskedContexts, contexts_of_sentences
from rarewords.lm import LanguageModel


def context_similarity(lm: LanguageModel, words: Sequence[tuple[str, Sequence[str]]]) -> np.ndarray:
    """The context similarity of every two words, from -1 to 1. *Shape:* (words, words)

    >>> context_similarity(lm, [("oldanka", boats), ("vessel", ships), ("pear", fruits)])  # doctest: +SKIP

    :param words: each word with sentences that contain it; the more words, the better the spread is known.
    """
    for word, sentences in words:
        if not sentences:
            raise InputError(f"{word!r} has no sentence; give sentences that contain it", code="word-not-found")
    pairs = [(word, sentence) for word, sentences in words for sentence in sentences]
    masked = contexts_of_sentences(lm.tokens, pairs)
    found = profiles(states(lm, masked), np.array([len(sentences) for _, sentences in words]))
    unit = torch.nn.functional.normalize(found, dim=1)
    return (unit @ unit.T).cpu().numpy()


@one_thread()
def states(lm: LanguageModel, contexts: MaskedContexts) -> Tensor:
    """The last hidden state at the mask of each context. *Shape:* (contexts, hidden)"""

    def compute(_: list[int], inputs: Tensor, blank: Tensor) -> Tensor:
        rows = torch.arange(len(inputs), device=inputs.device)
        return lm.last_hidden_state(inputs)[rows, blank].float()

    return at_masks(lm, contexts, compute, lm.hidden)


@one_thread()
def profiles(states: Tensor, counts: np.ndarray, reference: Tensor | None = None) -> Tensor:
    """Profiles of words; zero for a word without contexts. *Shape:* (words, hidden)

    :param states: those of a word together. *Shape:* (contexts, hidden)
    :param counts: the number of contexts of each word. *Shape:* (words,)
    :param reference: the states that mean and spread are taken from; by default the same.
        *Shape:* (any, hidden)
    """
    known = states if reference is None else reference
    units = (states - known.mean(0)) / known.std(0, correction=0).clamp_min(1e-6)
    return pool(units, counts, torch.zeros_like(known[0]))
