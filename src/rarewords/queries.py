"""Questions to a language model and its answers: :class:`Query`, :class:`InputRow`, :class:`Answers`."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor

from rarewords.tokens import Placement, Tokens


@dataclass(frozen=True)
class Query:
    """A pattern and the keyword that goes into it.

    :param pattern: text with one ``_`` and at most one ``<W>``, such as ``"a <W> is a kind of _ ."``
    :param embedding: stands for the keyword; without it the model reads the subwords. *Shape:* (dim,)
    :param placement: ``append`` shows ``kumquat / <embedding>``, BERTRAM's slash variant, not the embedding alone.
    """

    pattern: str
    word: str = ""
    embedding: np.ndarray | Tensor | None = None
    placement: Placement = "replace"


@dataclass(frozen=True, slots=True)
class InputRow:
    """Token ids that a model reads, with an embedding in place of ``ids[slot]`` if there is one."""

    ids: Sequence[int] | np.ndarray
    slot: int = 0
    embedding: np.ndarray | Tensor | None = None


@dataclass(frozen=True)
class Answers:
    """The most probable fillers of each query's blank, best first.

    :param ids: token ids. *Shape:* (queries, k)
    :param log_probs: their natural log-probabilities. *Shape:* (queries, k)
    """

    ids: np.ndarray
    log_probs: np.ndarray
    tokens: Tokens

    def words(self, query: int, k: int | None = None) -> list[str]:
        """The first ``k`` answers to one query as text."""
        return self.tokens.text_of(self.ids[query, :k].tolist())

    def as_json(self, query: int) -> list[dict[str, Any]]:
        """The answers to one query with their probabilities, to four digits."""
        pairs = zip(self.words(query), self.log_probs[query].tolist(), strict=True)
        return [{"word": word, "probability": round(math.exp(log_prob), 4)} for word, log_prob in pairs]
