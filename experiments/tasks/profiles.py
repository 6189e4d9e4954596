"""What the model expects in the places of a word, to compare words by.

The last hidden state at a mask in a word's place says what would fit there. The mean over a word's contexts,
each dimension in units of its spread over all contexts at hand, is the word's *profile*::

    profile(w) = mean over contexts C of w of (state(C) - mean) / spread

The cosine of two profiles is the context similarity of two words. The word itself is never seen, so known, rare
and invented words can be compared.
"""

import numpy as np
import torch
from torch import Tensor

from rarewords._internal.engine import one_thread
from rarewords.learner.expected import pool
from rarewords.learner.masked import MaskedContexts
from rarewords.lm import LanguageModel
from rarewords.queries import InputRow

_TOKENS_ON_CPU, _TOKENS_ON_GPU = 1024, 131_072  # per batch


@one_thread()
def states(lm: LanguageModel, contexts: MaskedContexts) -> Tensor:
    """The last hidden state at the mask of each context. *Shape:* (contexts, hidden)"""

    def compute(part: list[int], inputs: Tensor) -> Tensor:
        rows = torch.arange(len(inputs), device=inputs.device)
        blank = torch.from_numpy(contexts.blank[part]).to(lm.device)
        return lm.last_hidden_state(inputs)[rows, blank].float()

    found = torch.zeros(len(contexts.rows), lm.hidden, device=lm.device)
    tokens = _TOKENS_ON_CPU if lm.device.type == "cpu" else _TOKENS_ON_GPU
    for part, own in lm.in_batches([InputRow(row) for row in contexts.rows], compute, tokens):
        found[part] = own
    return found


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
