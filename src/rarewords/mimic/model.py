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
all pairs is S · u: k dot products for k contexts instead of k². The factor 1 / sqrt(d) cancels out.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
import torch
from torch import Tensor, nn

from rarewords.corpus.columns import offsets
from rarewords.errors import InputError
from rarewords.learner.expected import sums
from rarewords.learner.spelling import ngrams
from rarewords.mimic.batches import Reader
from rarewords.mimic.settings import MimicSettings

UNKNOWN = 0


class NgramTable:
    """Numbers for known n-grams; all others share number 0."""

    def __init__(self, known: Sequence[str]) -> None:
        self.known = list(known)
        self._numbers = {gram: number for number, gram in enumerate(self.known, 1)}
        if len(self._numbers) != len(self.known):
            raise InputError("the table of n-grams lists an n-gram twice; the mimic model is damaged", code="damaged")

    @classmethod
    def from_words(cls, words: Iterable[str], settings: MimicSettings) -> Self:
        """Keep n-grams that enough words contain; if there is a limit, the most common of them."""
        counts = Counter(gram for word in words for gram in set(ngrams(word)))
        kept = [(-count, gram) for gram, count in counts.items() if count >= settings.ngram_threshold]
        return cls([gram for _, gram in sorted(kept)[: settings.ngram_limit or None]])

    def __len__(self) -> int:
        """The number of embeddings, including the unknown one."""
        return len(self.known) + 1

    def numbers(self, word: str) -> np.ndarray:
        """The numbers of a word's n-grams: at least one, if only the unknown. *Shape:* (n-grams,)"""
        return np.array([self._numbers.get(gram, UNKNOWN) for gram in ngrams(word)] or [UNKNOWN], dtype=np.int64)


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
    def of(
        cls, grams: Sequence[np.ndarray], has_form: np.ndarray, reader: Reader, contexts: Tensor, counts: np.ndarray
    ) -> Self:
        """From the n-grams of each word and the numbers of its contexts, which are read here."""
        starts = offsets(np.array([len(one) for one in grams]))[:-1]
        arrays = (np.concatenate(grams), starts, has_form, counts)
        numbers, starts_there, visible, sizes = (torch.from_numpy(one).to(reader.device) for one in arrays)
        return cls(numbers, starts_there, visible, reader.read(contexts), sizes)


class MimicOutput(NamedTuple):
    """Embeddings and what they were made from.

    :param embeddings: *Shape:* (words, dim)
    :param context_share: alpha; 1 for a word without form, 0 for a word without contexts. *Shape:* (words,)
    :param weights: rho of each context. *Shape:* (contexts,)
    """

    embeddings: Tensor
    context_share: Tensor
    weights: Tensor


class FormContextModel(nn.Module):
    """Turns n-grams and contexts into embeddings; ``ngrams`` is the length of the :class:`NgramTable`."""

    def __init__(self, settings: MimicSettings, *, dim: int, ngrams: int) -> None:
        super().__init__()
        self.settings = settings
        if settings.form:
            self.ngram_embeddings = nn.EmbeddingBag(ngrams, dim, mode="mean")
            nn.init.xavier_uniform_(self.ngram_embeddings.weight)
        if settings.context:
            self.transform = nn.Parameter(nn.init.xavier_uniform_(torch.empty(dim, dim)))  # A
            self.compare = nn.Parameter(nn.init.xavier_uniform_(torch.empty(dim, dim)))  # M
        if settings.form and settings.context:
            self.gate = nn.Linear(2 * dim, 1)  # w, b
            nn.init.xavier_uniform_(self.gate.weight)
            nn.init.zeros_(self.gate.bias)

    def forward(self, batch: WordBatch) -> MimicOutput:
        """*Shape* of the embeddings: (words, dim)"""
        if not self.settings.context:
            form = self._form(batch)
            return MimicOutput(form, form.new_zeros(len(form)), batch.readings.new_zeros(len(batch.readings)))
        context, weights = self._context(batch)
        share = (batch.counts > 0).to(context.dtype)
        transformed = context @ self.transform.T
        if not self.settings.form:
            return MimicOutput(share[:, None] * transformed, share, weights)
        form = self._form(batch)
        alpha = torch.sigmoid(self.gate(torch.cat([form, context], dim=-1))).squeeze(-1)
        share = torch.where(batch.has_form & (batch.counts > 0), alpha, share)
        return MimicOutput(share[:, None] * transformed + (1 - share)[:, None] * form, share, weights)

    def _form(self, batch: WordBatch) -> Tensor:
        """*Shape:* (words, dim), zero for a word whose form is hidden"""
        weight, starts = self.ngram_embeddings.weight, batch.gram_starts
        sparse = not weight.is_cuda  # only rows of the batch have a gradient; a GPU fills all rows as fast
        form = nn.functional.embedding_bag(batch.grams, weight, starts, mode="mean", sparse=sparse)
        return form * batch.has_form[:, None]

    def _context(self, batch: WordBatch) -> tuple[Tensor, Tensor]:
        """The context embedding of each word and the weight of each context: (words, dim), (contexts,)"""
        readings, counts = batch.readings, batch.counts
        words = torch.arange(len(counts), device=counts.device)
        owner = torch.repeat_interleave(words, counts, output_size=len(readings))
        summed = sums(readings, counts, readings.new_ones(len(readings)))  # S
        compared = summed @ (self.compare.T @ self.compare)  # u
        total = (summed * compared).sum(-1).clamp_min(torch.finfo(readings.dtype).tiny)
        # A lookup instead of an index: its gradient adds in a fixed order, also on a GPU.
        scores = (readings * nn.functional.embedding(owner, compared)).sum(-1)
        weights = scores / nn.functional.embedding(owner, total[:, None]).squeeze(-1)
        return sums(readings, counts, weights), weights
