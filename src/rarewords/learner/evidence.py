"""What a learner takes and gives, and the matrix that expected embeddings are moved by."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from rarewords.corpus.corpus import Corpus
from rarewords.embeddings import WordEmbeddings
from rarewords.errors import InputError
from rarewords.lm import LanguageModel

_PENALTIES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
_HELD_OUT = 10  # one training word in ten chooses the penalty


class Evidence(NamedTuple):
    """What there is to learn a word from: sentences that contain it, and definitions of it.

    :param readings: of sentences that were read before; see :class:`LearnedEmbedding`.
    """

    word: str
    sentences: Sequence[str] = ()
    definitions: Sequence[str] = ()
    readings: Mapping[str, np.ndarray] = MappingProxyType({})


@dataclass(frozen=True)
class LearnedEmbedding:
    """The embedding of one word and what it was made from.

    :param embedding: *Shape:* (dim,)
    :param context_share: the share of sentences and definitions in the embedding; the rest is spelling.
    :param weights: how much each sentence counts; with those of the definitions they add up to one.
    :param readings: what a model read in each sentence, if one did. *Shape:* (sentences, reader model's dim)
    """

    word: str
    embedding: np.ndarray
    context_share: float
    weights: tuple[float, ...]
    readings: np.ndarray | None = None


@dataclass(frozen=True)
class LearnedEmbeddings:
    """The embeddings of many words.

    :param context_share: the share of the contexts in each embedding. *Shape:* (words,)
    :param contexts: the number of contexts used for each word. *Shape:* (words,)
    :param skipped: words without an embedding, and why.
    """

    embeddings: WordEmbeddings
    context_share: np.ndarray
    contexts: np.ndarray
    skipped: dict[str, str]


class Learner(Protocol):
    """Sentences and definitions in, embeddings out.

    :ivar lm: the masked LM that reads.
    :ivar key: a digest of everything the embeddings depend on besides the language model.
    """

    @property
    def lm(self) -> LanguageModel: ...

    @property
    def key(self) -> str: ...

    def learn_each(self, tasks: Sequence[Evidence]) -> list[LearnedEmbedding | None]:
        """An embedding for each word; None for a word that there is nothing to learn from."""


def require_same_case(lm: LanguageModel, corpus: Corpus) -> None:
    """Refuse a corpus that was built for a model of the other case."""
    if corpus.settings.lower_case != lm.lower_case:
        raise InputError("the corpus and the model differ in lower-casing; build it for the model", code="lower-case")


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

    fitted = zip(_PENALTIES, solve(x[~held], y[~held], _PENALTIES), strict=True)
    cosines = {penalty: float(torch.cosine_similarity(x[held] @ matrix, y[held]).mean()) for penalty, matrix in fitted}
    best = max(cosines, key=cosines.__getitem__)
    (matrix,) = solve(x, y, [best])
    return matrix.float(), cosines[best], best
