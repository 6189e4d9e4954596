"""The form-context model with attention over contexts.

For a word with n-grams G and contexts C1..Ck::

    form      = mean of the embeddings of G
    v(C)      = mean of the known embeddings of the words of C
    s(C, C')  = (M v(C)) · (M v(C')) / sqrt(d)
    rho(C)    = sum over C' of s(C, C'), divided by the sum over all pairs
    context   = sum over C of rho(C) v(C)
    alpha     = sigmoid(w · [form; context] + b)
    embedding = alpha A context + (1 - alpha) form

With S the sum of all v(C'), the sum over C' of (M v(C)) · (M v(C')) is v(C) · u, u = MᵀM S, and the sum over
all pairs is S · u. So attention over k contexts takes k dot products instead of k², and one product with MᵀM
per word instead of k with M. The factor 1 / sqrt(d) cancels out.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from torch import Tensor, nn

from rarewords.learner.expected import sums
from rarewords.mimic.batches import Reader
from rarewords.mimic.ngrams import Bags
from rarewords.mimic.settings import MimicSettings


@dataclass(frozen=True)
class WordBatch:
    """Words with their n-grams and contexts, without padding.

    :param grams: n-gram numbers of all words, end to end. *Shape:* (n-grams,)
    :param gram_starts: where the n-grams of each word start. *Shape:* (words,)
    :param has_form: whether the form is visible. *Shape:* (words,)
    :param readings: v(C) of all contexts, those of a word together. *Shape:* (contexts, dim)
    :param counts: the number of contexts of each word. *Shape:* (words,)
    """

    grams: Tensor
    gram_starts: Tensor
    has_form: Tensor
    readings: Tensor
    counts: Tensor

    @classmethod
    def of(cls, grams: Bags, has_form: np.ndarray, reader: Reader, contexts: Tensor, counts: np.ndarray) -> Self:
        """Read the given contexts, those of a word together, and put everything on the reader's device."""
        arrays = (grams.numbers, grams.starts[:-1], has_form, counts)
        numbers, starts, visible, sizes = (torch.from_numpy(one).to(reader.device) for one in arrays)
        return cls(numbers, starts, visible, reader.read(contexts), sizes)

    def split(self, size: int, gram_starts: np.ndarray, starts: np.ndarray) -> Iterator["WordBatch"]:
        """Batches of ``size`` words; where n-grams and contexts start is given, as numbers at hand.

        :param gram_starts: *Shape:* (words + 1,); ``starts``: of the contexts. *Shape:* (words + 1,)
        """
        for first in range(0, len(self.counts), size):
            last = min(first + size, len(self.counts))
            grams, readings = (slice(*one[[first, last]].tolist()) for one in (gram_starts, starts))
            rows = slice(first, last)
            begin = self.gram_starts[rows] - grams.start
            yield WordBatch(self.grams[grams], begin, self.has_form[rows], self.readings[readings], self.counts[rows])


@dataclass(frozen=True)
class MimicOutput:
    """Embeddings and what they were made from.

    :param embeddings: *Shape:* (words, dim)
    :param context_share: alpha; 1 for a word without form, 0 for a word without contexts. *Shape:* (words,)
    :param gated: whether the word has both, so that the gate decided. *Shape:* (words,)
    :param weights: rho of each context. *Shape:* (contexts,)
    """

    embeddings: Tensor
    context_share: Tensor
    gated: Tensor
    weights: Tensor


class FormContextModel(nn.Module):
    """Turns n-grams and contexts into embeddings.

    :param ngrams: the number of n-gram embeddings, including the unknown one.
    """

    def __init__(self, settings: MimicSettings, *, dim: int, ngrams: int) -> None:
        super().__init__()
        self.settings, self.dim = settings, dim
        if settings.form:
            self.ngram_embeddings = nn.EmbeddingBag(ngrams, dim, mode="mean")
            nn.init.xavier_uniform_(self.ngram_embeddings.weight)
        if settings.context:
            self.transform = nn.Parameter(nn.init.xavier_uniform_(torch.empty(dim, dim)))  # A
        if settings.context and settings.attention:
            self.compare = nn.Parameter(nn.init.xavier_uniform_(torch.empty(dim, dim)))  # M
        if settings.form and settings.context:
            self.gate = nn.Linear(2 * dim, 1)  # w, b
            nn.init.xavier_uniform_(self.gate.weight)
            nn.init.zeros_(self.gate.bias)

    def forward(self, batch: WordBatch) -> MimicOutput:
        """*Shape* of the embeddings: (words, dim)"""
        has_form = batch.has_form & self.settings.form
        has_context = (batch.counts > 0) & self.settings.context
        gated = has_form & has_context
        form, (context, weights) = self._form(batch), self._context(batch)
        share = has_context.to(form.dtype)
        if self.settings.form and self.settings.context:
            alpha = torch.sigmoid(self.gate(torch.cat([form, context], dim=-1))).squeeze(-1)
            share = torch.where(gated, alpha, share)
        read = context @ self.transform.T if self.settings.context else context
        return MimicOutput(share[:, None] * read + (1 - share)[:, None] * form, share, gated, weights)

    def _form(self, batch: WordBatch) -> Tensor:
        """*Shape:* (words, dim), zero for a word whose form is hidden"""
        if not self.settings.form:
            return batch.readings.new_zeros(len(batch.counts), self.dim)
        weight, starts = self.ngram_embeddings.weight, batch.gram_starts
        sparse = not weight.is_cuda  # only rows of the batch have a gradient; a GPU fills all rows as fast
        form = nn.functional.embedding_bag(batch.grams, weight, starts, mode="mean", sparse=sparse)
        return form * batch.has_form[:, None]

    def _context(self, batch: WordBatch) -> tuple[Tensor, Tensor]:
        """The context embedding of each word and the weight of each context: (words, dim), (contexts,)"""
        readings, counts = batch.readings, batch.counts
        if not self.settings.context:
            return readings.new_zeros(len(counts), self.dim), readings.new_zeros(len(readings))
        words = torch.arange(len(counts), device=counts.device)
        owner = torch.repeat_interleave(words, counts, output_size=len(readings))
        if self.settings.attention:
            summed = sums(readings, counts, readings.new_ones(len(readings)))  # S
            compared = summed @ (self.compare.T @ self.compare)  # u
            total = (summed * compared).sum(-1).clamp_min(torch.finfo(readings.dtype).tiny)
            # A lookup instead of an index: its gradient adds in a fixed order, also on a GPU.
            scores = (readings * nn.functional.embedding(owner, compared)).sum(-1)
            weights = scores / nn.functional.embedding(owner, total[:, None]).squeeze(-1)
        else:
            weights = 1 / counts.to(readings.dtype)[owner]
        return sums(readings, counts, weights), weights
