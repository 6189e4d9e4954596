"""The form-context model with attention over contexts.

For a word with n-grams G and contexts C1..Ck::

    form     = mean of the embeddings of G
    v(C)     = mean of the known embeddings of the words of C
    s(C, C') = (M v(C)) · (M v(C')) / sqrt(d)
    rho(C)   = sum over C' of s(C, C'), divided by the sum over all pairs
    context  = sum over C of rho(C) v(C)
    alpha    = sigmoid(w · [form; context] + b)
    vector   = alpha A context + (1 - alpha) form

The sum over C' of (M v(C)) · (M v(C')) is v(C) · u with u = MᵀM S and S the sum of all v(C'). So attention
over k contexts takes k dot products instead of k², and one product with MᵀM a word instead of k with M.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from rarewords.mimic.settings import MimicSettings


@dataclass(frozen=True)
class WordBatch:
    """Some words with their n-grams and contexts, without padding.

    :param grams: n-gram numbers of all words, end to end. *Shape:* (n-grams,)
    :param gram_starts: where each word's n-grams start. *Shape:* (words,)
    :param has_form: whether the form counts. *Shape:* (words,)
    :param readings: what each context says, v(C). *Shape:* (contexts, dim)
    :param owner: the word of each context. *Shape:* (contexts,)
    """

    grams: Tensor
    gram_starts: Tensor
    has_form: Tensor
    readings: Tensor
    owner: Tensor


@dataclass(frozen=True)
class Mimicked:
    """Vectors and where they come from.

    :param vectors: *Shape:* (words, dim)
    :param context_share: alpha, 1 where there is no form, 0 where there is no context. *Shape:* (words,)
    :param weights: rho of each context. *Shape:* (contexts,)
    """

    vectors: Tensor
    context_share: Tensor
    weights: Tensor


class FormContextModel(nn.Module):
    """Turns n-grams and contexts into vectors.

    :param ngrams: the number of n-gram embeddings, the unknown one included.
    """

    def __init__(self, settings: MimicSettings, *, dim: int, ngrams: int) -> None:
        super().__init__()
        self.settings = settings
        self.dim = dim
        if settings.form:
            self.ngram_embeddings = nn.EmbeddingBag(ngrams, dim, mode="mean", sparse=True)
            nn.init.uniform_(self.ngram_embeddings.weight, -0.5 / dim, 0.5 / dim)
        if settings.context:
            self.transform = nn.Parameter(torch.empty(dim, dim))  # A
            if settings.reading:  # a reading is already a point among embeddings
                nn.init.eye_(self.transform)
            else:
                nn.init.xavier_uniform_(self.transform)
            if settings.attention:
                self.compare = nn.Parameter(torch.empty(dim, dim))  # M
                nn.init.xavier_uniform_(self.compare)
        if settings.form and settings.context:
            self.gate = nn.Linear(2 * dim, 1)

    def forward(self, batch: WordBatch) -> Mimicked:
        """*Shape* of the vectors: (words, dim)"""
        words = len(batch.gram_starts)
        form = self._form(batch, words)
        if not self.settings.context:
            return Mimicked(form, form.new_zeros(words), form.new_zeros(len(batch.owner)))
        context, weights = self._context(batch, words)
        read = context @ self.transform.T
        counts = torch.bincount(batch.owner, minlength=words)
        if not self.settings.form:
            return Mimicked(read, (counts > 0).to(read.dtype), weights)
        share = torch.sigmoid(self.gate(torch.cat([form, context], dim=-1))).squeeze(-1)
        share = torch.where(counts > 0, share, torch.zeros_like(share))  # no context: form alone
        share = torch.where(batch.has_form, share, torch.ones_like(share))
        vectors = share[:, None] * read + (1 - share)[:, None] * form
        return Mimicked(vectors, share, weights)

    def _form(self, batch: WordBatch, words: int) -> Tensor:
        if not self.settings.form:
            return batch.readings.new_zeros(words, self.dim)
        form: Tensor = self.ngram_embeddings(batch.grams, batch.gram_starts)
        return torch.where(batch.has_form[:, None], form, torch.zeros_like(form))

    def _context(self, batch: WordBatch, words: int) -> tuple[Tensor, Tensor]:
        """The context vector of each word and the weight of each context."""
        readings, owner = batch.readings, batch.owner
        counts = torch.bincount(owner, minlength=words)
        starts = counts.cumsum(0) - counts
        if self.settings.attention:
            summed = _bags(readings, readings.new_ones(len(readings)), starts)
            scores = _Dots.apply(readings, summed @ (self.compare.T @ self.compare), owner, starts)
            totals = _Sums.apply(scores, owner, starts)
            # The total is a squared length; it is zero only where every context is empty.
            weights = scores / totals.clamp_min(torch.finfo(totals.dtype).tiny)[owner]
        else:
            weights = 1.0 / counts.to(readings.dtype)[owner]
        return _WeightedSums.apply(readings, weights, owner, starts), weights


class _WeightedSums(torch.autograd.Function):
    """The sum of a word's readings, each times its weight; readings themselves get no gradient.

    Contexts of a word lie together, so a sum is one bag, without the scattered additions of ``index_add``.
    """

    @staticmethod
    def forward(ctx: Any, readings: Tensor, weights: Tensor, owner: Tensor, starts: Tensor) -> Tensor:
        """*Shapes:* (contexts, dim), (contexts,), (contexts,), (words,) -> (words, dim)"""
        ctx.save_for_backward(readings, owner)
        return _bags(readings, weights, starts)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, Tensor, None, None]:  # type: ignore[override]
        readings, owner = ctx.saved_tensors
        return None, (readings * gradient[owner]).sum(-1), None, None


class _Dots(torch.autograd.Function):
    """The dot product of each reading with its word's vector; readings themselves get no gradient."""

    @staticmethod
    def forward(ctx: Any, readings: Tensor, vectors: Tensor, owner: Tensor, starts: Tensor) -> Tensor:
        """*Shapes:* (contexts, dim), (words, dim), (contexts,), (words,) -> (contexts,)"""
        ctx.save_for_backward(readings, starts)
        return (readings * vectors[owner]).sum(-1)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, Tensor, None, None]:  # type: ignore[override]
        readings, starts = ctx.saved_tensors
        return None, _bags(readings, gradient, starts), None, None


class _Sums(torch.autograd.Function):
    """The sum of a word's numbers, always added in the same order: on a GPU ``index_add`` adds in any."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, owner: Tensor, starts: Tensor) -> Tensor:
        """*Shapes:* (contexts,), (contexts,), (words,) -> (words,)"""
        ctx.save_for_backward(owner)
        return _bags(values[:, None], torch.ones_like(values), starts).squeeze(1)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:  # type: ignore[override]
        (owner,) = ctx.saved_tensors
        return gradient[owner], None, None


def _bags(readings: Tensor, weights: Tensor, starts: Tensor) -> Tensor:
    """Weighted sums of readings that lie together. *Shape:* (words, dim)"""
    if not len(readings):
        return readings.new_zeros(len(starts), readings.shape[1])
    every = torch.arange(len(readings), device=readings.device)
    return nn.functional.embedding_bag(every, readings, starts, mode="sum", per_sample_weights=weights)
