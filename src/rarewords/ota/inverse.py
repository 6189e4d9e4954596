"""What the model's own one-piece words tell about all others, fitted once per model.

The start: hidden states around a word are a function of its input vector, and for the thousands of
one-piece words both are known. A ridge regression from the states back to the vector, in one fixed context,
gives a vector for any word from one forward pass of its pieces. Several pieces move the words right of them
to other places, which changes states for a reason no single vector has; the mean states around that many
random words are taken off first.

The curvature: how strongly the distance reacts to a move in each direction, on average over one-piece words
and contexts. Only the shape of the first step depends on it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
from torch import Tensor

from rarewords.ota.contexts import draw, word_key
from rarewords.ota.objective import Objective
from rarewords.ota.settings import OtaSettings

_RIDGE = 0.01  # of the mean squared length of the features; .001 and .1 are worse on words left out
_DAMPING = 0.3  # of the mean curvature
_WORDS_AT_A_TIME = 250
_WORDS_PER_DIMENSION = 16
_PHRASES = 200
_PURPOSE = {
    "words": -1,
    "context": -2,
    "probes": -3,
    "phrases": -5,
}  # seeds' namespaces, no token has such an id


@dataclass(frozen=True)
class Prior:
    """What is shared by all words of a model; parts that the settings do not need are None.

    :param weights: the regression's. *Shape:* (layers * places * hidden, dim)
    :param mean_states: around one word. *Shape:* (layers * places * hidden,)
    :param words: ids of the words it was fitted on. *Shape:* (fitted,)
    :param mean_vector: of the whole words. *Shape:* (dim,)
    :param inverse_curvature: *Shape:* (dim, dim)
    :param forwards: sequences run forward to make it.
    :param backwards: sequences run backward.
    """

    weights: Tensor | None
    mean_states: Tensor | None
    mean_vector: Tensor
    words: Tensor
    inverse_curvature: Tensor | None
    forwards: int
    backwards: int
    _centers: dict[int, Tensor] = field(default_factory=dict, repr=False)

    @classmethod
    def fit(cls, objective: Objective, settings: OtaSettings, leave_out: Collection[int] = ()) -> Prior:
        """Fit what the settings need.

        :param leave_out: ids of one-piece words that must not be learnt from, because the result is going
            to be measured on them.
        """
        model = objective.model
        words = [token for token in sorted(model.whole_words.values()) if token not in set(leave_out)]
        ids = torch.tensor(words, device=model.device)
        mean = model.embeddings[ids].float().mean(dim=0)
        key = torch.tensor([word_key([_PURPOSE["words"]], settings.seed)], device=model.device)
        order = torch.argsort(
            draw(key, torch.arange(len(ids), device=model.device), 2**31)[:, 0], stable=True
        )
        chosen = ids[order[: settings.inverse_words or _WORDS_PER_DIMENSION * model.dim]]
        weights = states = curvature = None
        forwards = backwards = 0
        if settings.start == "inverse":
            weights, states = _regression(objective, settings, chosen, mean)
            forwards += len(chosen)
        if settings.solver in ("auto", "lbfgs") and settings.curvature_probes:
            curvature = _inverse_curvature(objective, settings, chosen)
            forwards, backwards = forwards + settings.curvature_probes, settings.curvature_probes
        return cls(weights, states, mean, chosen, curvature, forwards, backwards)

    def start(self, objective: Objective, pieces: Tensor, settings: OtaSettings) -> Tensor:
        """The inverse start of words given as pieces. *Shape:* (words, pieces) -> (words, dim)"""
        assert self.weights is not None
        size = pieces.shape[1]
        if size not in self._centers:
            self._centers[size] = self._center(objective, size, settings)
        states = _states(objective, settings, pieces)
        return self.mean_vector + (states - self._centers[size]) @ self.weights

    def _center(self, objective: Objective, size: int, settings: OtaSettings) -> Tensor:
        """The mean states around ``size`` random words. *Shape:* (layers * places * hidden,)"""
        assert self.mean_states is not None
        if size == 1:
            return self.mean_states
        key = torch.tensor([word_key([_PURPOSE["phrases"], size], settings.seed)], device=self.words.device)
        places = draw(key, torch.arange(_PHRASES * size, device=self.words.device), len(self.words))[:, 0]
        return _states(objective, settings, self.words[places].view(_PHRASES, size)).mean(dim=0)


def _regression(
    objective: Objective, settings: OtaSettings, ids: Tensor, mean: Tensor
) -> tuple[Tensor, Tensor]:
    states = torch.cat([_states(objective, settings, part[:, None]) for part in ids.split(_WORDS_AT_A_TIME)])
    center = states.mean(dim=0)
    states -= center
    vectors = objective.model.embeddings[ids].float() - mean
    # As many equations as words, far fewer than features, hence the dual form of ridge regression.
    with _full_precision():
        products = (states @ states.T).double()
    products.diagonal().add_(_RIDGE * products.diagonal().mean())
    dual = torch.cholesky_solve(vectors.double(), torch.linalg.cholesky(products))
    return states.T @ dual.float(), center


@contextmanager
def _full_precision() -> Iterator[None]:
    """No TF32 here: its rounding can make a matrix of products indefinite, and then nothing can be solved."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def _states(objective: Objective, settings: OtaSettings, pieces: Tensor) -> Tensor:
    """States around each word in the one context shared by all. *Shape:* (words, layers * places * hidden)"""
    key = word_key([_PURPOSE["context"]], settings.seed)
    keys = torch.full((len(pieces),), key, device=pieces.device)
    states = objective.targets(pieces, keys, torch.zeros(1, dtype=torch.long, device=pieces.device))
    return states.transpose(0, 1).flatten(1).float()


def _inverse_curvature(objective: Objective, settings: OtaSettings, ids: Tensor) -> Tensor:
    """The inverse of the damped mean Gauss-Newton matrix 2 E[J^T J] at one-piece words' own vectors.

    For random signs r, J^T r has mean square J^T J, and one backward pass gives it.
    """
    device, dim = ids.device, objective.model.dim
    total = torch.zeros(dim, dim, dtype=torch.float64, device=device)
    done = 0
    counter = torch.zeros(1, dtype=torch.long, device=device)
    while done < settings.curvature_probes:
        count = min(_WORDS_AT_A_TIME, settings.curvature_probes - done)
        rows = torch.arange(done, done + count, device=device)
        key = torch.tensor([word_key([_PURPOSE["probes"]], settings.seed)], device=device)
        vectors = objective.model.embeddings[ids[rows % len(ids)]].float().requires_grad_()
        states = objective.states(vectors, draw(key, rows, 2**31)[:, 0] * 2**20 + rows, counter)
        places = torch.arange(states[:, 0].numel(), device=device)
        signs = (draw(key + 1 + rows, places, 2) * 2 - 1).view(
            states.shape[0], states.shape[2], states.shape[3], count
        )
        (gradient,) = torch.autograd.grad((states * signs.permute(0, 3, 1, 2)).sum(), vectors)
        total += (gradient.T @ gradient).double()
        done += count
    mean = 2 * total / settings.curvature_probes
    mean.diagonal().add_(_DAMPING * mean.diagonal().mean())
    return torch.cholesky_inverse(torch.linalg.cholesky(mean)).float()
