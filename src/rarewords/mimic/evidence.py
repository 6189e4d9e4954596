"""What is known about words from their contexts, their spelling and their pieces, how it is weighed, and what
comes of it."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from rarewords.engine import Engine
from rarewords.lm import LanguageModel
from rarewords.mimic.readings import KnownWords
from rarewords.mimic.settings import LearnerSettings
from rarewords.ota.approximate import NoWordsError, approximate, condense
from rarewords.vectors import WordVectors

_LEAST_RESEMBLANCE = 0.15  # below, the most similar spelling is a coincidence


@dataclass(frozen=True)
class Evidence:
    """What is known about some words.

    :param reading: the mean reading of each word. *Shape:* (words, dim)
    :param contexts: the number of contexts read. *Shape:* (words,)
    :param spelling: *Shape:* (words, dim)
    :param resemblance: *Shape:* (words,)
    :param pieces: one-token approximations of the pieces and the rest of the evidence together, or of the
        pieces alone; the mean embedding where none is needed. *Shape:* (words, dim)
    """

    reading: Tensor
    contexts: Tensor
    spelling: Tensor
    resemblance: Tensor
    pieces: Tensor


@dataclass(frozen=True)
class Inferred:
    """The vector of one word and what it was made from.

    :param vector: *Shape:* (dim,)
    :param context_share: the share of the contexts in the vector; the rest is spelling.
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


def weigh(
    evidence: Evidence, known: KnownWords, settings: LearnerSettings, transform: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Vectors, and the share of the readings in each.

    The share is NaN if a word has no contexts and resembles no known word. *Shapes:* (words, dim), (words,)
    """
    read_any = evidence.contexts > 0
    trust = torch.sigmoid((evidence.resemblance - settings.resemblance) / settings.resemblance_width)
    weights = torch.stack(
        [
            read_any.float(),
            torch.where(read_any, settings.spelling * trust, 1.0),
            torch.where(read_any, settings.pieces, settings.pieces_alone),
        ],
        dim=1,
    )
    centred = evidence.reading.float() - known.mean
    moved = known.directions(known.mean + centred)
    if transform is not None and settings.matrix:
        fitted = known.directions(known.mean + centred @ transform.to(centred))
        moved = settings.matrix * fitted + (1 - settings.matrix) * moved
        moved = known.directions(known.mean + moved)
    spelling, pieces = known.directions(evidence.spelling), known.directions(evidence.pieces)
    summed = weights[:, 0:1] * moved + weights[:, 1:2] * spelling + weights[:, 2:3] * pieces
    nothing = ~read_any & (evidence.resemblance < _LEAST_RESEMBLANCE)
    # What is condensed consists of readings and spelling as well, so it does not change their shares.
    share = torch.where(nothing, float("nan"), weights[:, 0] / weights[:, :2].sum(dim=1))
    return known.at(summed, settings.scale), share


def with_pieces(
    lm: LanguageModel,
    words: Sequence[str],
    evidence: Evidence,
    known: KnownWords,
    settings: LearnerSettings,
    transform: Tensor | None,
    engine: Engine | None = None,
) -> Evidence:
    """The evidence with that of the pieces, as far as the settings ask for it.

    A word with contexts has a vector already, from reading and spelling; what ``word / <vector>`` does in the
    model is condensed into one. Of a word without contexts the pieces alone are approximated; one that has
    characters the model does not know goes without.
    """
    pieces, read_any = evidence.pieces.clone(), evidence.contexts > 0
    if settings.pieces and bool(read_any.any()):
        vectors, _ = weigh(evidence, known, replace(settings, pieces=0.0), transform)
        own = [word for word, yes in zip(words, read_any.tolist(), strict=True) if yes]
        condensed = condense(lm, own, vectors[read_any].cpu().numpy(), engine=engine)
        pieces[read_any] = torch.from_numpy(condensed).to(pieces)
    alone = [row for row, yes in enumerate(read_any.tolist()) if not yes and settings.pieces_alone]
    if alone:
        with suppress(NoWordsError):
            found = approximate(lm, [words[row] for row in alone], keep_single=True, engine=engine).vectors
            for row in alone:
                if words[row] in found:
                    pieces[row] = torch.tensor(found[words[row]]).to(pieces)
    return replace(evidence, pieces=pieces)


_PENALTIES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
_HELD_OUT = 10  # one training word in ten chooses the penalty


@dataclass(frozen=True)
class Fitted:
    """How a matrix was fitted: on how many words, with at most how many contexts per word, how well."""

    words: int
    held_out_cosine: float
    penalty: float
    contexts: int
    min_count: int
    seed: int


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
