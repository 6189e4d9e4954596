"""Contexts read by the language model itself.

Put the mask where a word stood and ask the model what it expects there. The answer, a distribution over the
words it knows, is turned back into a vector: the mean of their embeddings, each as heavy as it is probable::

    reading(C) = sum over known words t of p(t | C) e(t)

With ``shown`` the word itself stays in its sentence and the mask comes behind a slash, ``a kumquat / [MASK]
tree``: the model then expects a word that fits the place and what it knows of the pieces.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from rarewords.errors import InputError
from rarewords.lm import LanguageModel
from rarewords.mimic.masked import MaskedContexts
from rarewords.progress import progress
from rarewords.vectors import WordVectors

_TOKENS_ON_CPU = 4096
_READINGS_AT_ONCE = 65_536
_TOKENS_ON_GPU = 131_072


@dataclass(frozen=True)
class KnownWords:
    """The words a model knows, as a space to place new ones in.

    :param ids: their token ids. *Shape:* (words,)
    :param embeddings: float32. *Shape:* (words, dim)
    :param mean: their mean. *Shape:* (dim,)
    :param spread: how far from the mean they are on average.
    """

    ids: Tensor
    embeddings: Tensor
    mean: Tensor
    spread: float

    @classmethod
    def of(cls, lm: LanguageModel) -> KnownWords:
        """The whole words of a model's vocabulary."""
        if not lm.whole_words:
            raise InputError(
                f"{lm.name} has no whole words in its vocabulary, so nothing can be read with it"
            )
        ids = torch.tensor(sorted(lm.whole_words.values()), device=lm.device)
        embeddings = lm.embeddings[ids].float()
        mean = embeddings.mean(0)
        return cls(ids, embeddings, mean, float((embeddings - mean).norm(dim=1).mean()))

    def directions(self, vectors: Tensor) -> Tensor:
        """From the mean towards each vector, of length one; zero for the mean itself. *Shape:* (n, dim)"""
        centred = vectors.to(self.mean.device, torch.float32) - self.mean
        unit: Tensor = centred / centred.norm(dim=1, keepdim=True).clamp_min(1e-9)
        return unit

    def at(self, directions: Tensor, scale: float) -> Tensor:
        """Vectors in these directions, ``scale`` times a known word's way from the mean. *Shape:* (n, dim)"""
        lengths = directions.norm(dim=1, keepdim=True).clamp_min(1e-9)
        vectors: Tensor = self.mean + directions / lengths * (scale * self.spread)
        return vectors


def lengthened(lm: LanguageModel, vectors: WordVectors, scale: float) -> WordVectors:
    """Vectors brought to ``scale`` times a known word's way from the mean embedding; 0 leaves them."""
    if not scale:
        return vectors
    known = KnownWords.of(lm)
    moved = known.at(known.directions(torch.from_numpy(np.array(vectors.matrix))), scale)
    return WordVectors(vectors.words, moved.cpu().numpy(), {**vectors.settings, "scale": scale})


@torch.no_grad()
def read(
    lm: LanguageModel,
    known: KnownWords,
    contexts: MaskedContexts,
    *,
    shown: Sequence[Sequence[int]] | None = None,
    forbidden: Sequence[int] | None = None,
) -> Tensor:
    """The reading of every context, on the model's device; half precision on a GPU. *Shape:* (contexts, dim)

    :param shown: for each word the tokens put before the mask.
    :param forbidden: for each word the token that must not be expected. A word the model knows would find
        itself; forbidden, it is read as a word that is not in the vocabulary.
    """
    kept = torch.float16 if lm.device.type == "cuda" else torch.float32
    readings = torch.zeros(len(contexts), lm.dim, device=lm.device, dtype=kept)
    owner = contexts.owner
    column = None
    if forbidden is not None:
        column = torch.searchsorted(known.ids, torch.tensor(forbidden, device=lm.device))
    with progress("Reading", total=len(contexts), unit="contexts") as bar:
        for part, ids, blank in _batches(lm, contexts, shown):
            logits = _blank_logits(lm, ids, blank)[:, known.ids].float()
            if column is not None:
                own = column[torch.from_numpy(owner[part]).to(lm.device)]
                logits.scatter_(1, own[:, None], float("-inf"))
            expected = torch.softmax(logits, dim=-1) @ known.embeddings
            readings[torch.from_numpy(part).to(lm.device)] = expected.to(kept)
            bar.advance(len(part))
    return readings


def _blank_logits(lm: LanguageModel, ids: Tensor, blank: Tensor) -> Tensor:
    # Rounding to bfloat16 moves a reading by less than one context differs from the next.
    with torch.autocast(lm.device.type, dtype=torch.bfloat16, enabled=lm.device.type == "cuda"):
        return lm.logits_at(lm.embed(ids), blank)


def _batches(
    lm: LanguageModel, contexts: MaskedContexts, shown: Sequence[Sequence[int]] | None
) -> Iterator[tuple[np.ndarray, Tensor, Tensor]]:
    """Contexts of one length together: which, their tokens and the place of the mask."""
    owner = contexts.owner
    slash = lm.pieces("/") if shown is not None else []
    put = [np.array([*tokens, *slash], dtype=np.int64) for tokens in shown] if shown is not None else []
    more = (
        np.array([len(tokens) for tokens in put], dtype=np.int64)[owner] if put else np.zeros(len(owner), int)
    )
    lengths = contexts.lengths + more
    order = np.lexsort((more, lengths))
    budget = _TOKENS_ON_CPU if lm.device.type == "cpu" else _TOKENS_ON_GPU
    # A batch has one length and, with shown words, one number of tokens put in: plain array code builds it.
    bounds = np.flatnonzero((np.diff(lengths[order]) != 0) | (np.diff(more[order]) != 0)) + 1
    for group in np.split(order, bounds):
        if not len(group):
            continue
        length = int(lengths[group[0]])
        if length > lm.max_length:
            raise InputError(f"a context of {length} tokens is too long for {lm.name}")
        for first in range(0, len(group), max(1, budget // length)):
            part = group[first : first + max(1, budget // length)]
            rows, blank = contexts.rows(part), contexts.blank[part]
            if put:
                rows = _with_words(rows, blank, np.stack([put[word] for word in owner[part].tolist()]))
                blank = blank + int(more[part[0]])
            ids = torch.from_numpy(np.ascontiguousarray(rows, dtype=np.int64)).to(lm.device)
            yield part, ids, torch.from_numpy(blank).to(lm.device)


def _with_words(rows: np.ndarray, blank: np.ndarray, words: np.ndarray) -> np.ndarray:
    """Rows with tokens put in before the mask.

    *Shapes:* (rows, length), (rows,), (rows, more) -> (rows, length + more)
    """
    count, length = rows.shape
    more = words.shape[1]
    place = np.arange(length + more)[None, :]
    inside = (place >= blank[:, None]) & (place < blank[:, None] + more)
    result = np.zeros((count, length + more), dtype=np.int64)
    result[~inside] = rows.ravel()
    result[inside] = words.ravel()
    return result


def pool(
    readings: Tensor,
    known: KnownWords,
    contexts: MaskedContexts,
    limit: int | None = None,
    *,
    judge: Tensor | None = None,
    attention: float = 0.0,
) -> Tensor:
    """The mean reading of each word; the mean of all words where it has no context. *Shape:* (words, dim)

    :param limit: use only the first so many contexts of each word.
    :param judge: vectors that say which contexts count. *Shape:* (words, dim)
    :param attention: how much: contexts weigh ``exp(attention * cosine)`` of their reading and the judge.
    """
    owner = torch.from_numpy(contexts.owner).to(readings.device)
    counts = torch.from_numpy(contexts.counts).to(readings.device)
    if limit is not None:
        first = torch.from_numpy(contexts.word_starts[:-1]).to(readings.device)
        used = torch.arange(len(owner), device=readings.device) - first[owner] < limit
        owner, readings, counts = owner[used], readings[used], counts.clamp(max=limit)
    weights = torch.ones(len(readings), device=readings.device)
    if judge is not None and attention:
        weights = (attention * _agreement(readings, known, judge, owner)).exp()
    sums = _summed(readings, weights, counts)
    total = _summed(weights[:, None], torch.ones_like(weights), counts)
    return torch.where((counts > 0)[:, None], sums / total.clamp_min(1e-9), known.mean)


def weighted_mean(readings: Tensor, known: KnownWords, judge: Tensor | None, attention: float) -> Tensor:
    """:func:`pool` for the readings of one word. *Shapes:* (contexts, dim), (dim,) -> (dim,)"""
    if not len(readings):
        return known.mean
    if judge is None or not attention:
        return readings.float().mean(0)
    owner = torch.zeros(len(readings), dtype=torch.long, device=readings.device)
    weights = torch.softmax(attention * _agreement(readings, known, judge[None], owner), dim=0)
    return weights @ readings.float()


def _agreement(readings: Tensor, known: KnownWords, judge: Tensor, owner: Tensor) -> Tensor:
    """The cosine of each reading and its word's judge, both seen from the mean. *Shape:* (contexts,)"""
    judged = known.directions(judge)
    found = [
        (known.directions(part) * judged[of]).sum(-1)
        for part, of in zip(readings.split(_READINGS_AT_ONCE), owner.split(_READINGS_AT_ONCE), strict=True)
    ]
    return torch.cat(found) if found else readings.new_zeros(0, dtype=torch.float32)


def _summed(rows: Tensor, weights: Tensor, counts: Tensor) -> Tensor:
    """Weighted sums of rows that lie together, always added in the same order, which ``index_add`` is not.

    *Shapes:* (rows, dim), (rows,), (words,) -> (words, dim)
    """
    if not len(rows):
        return torch.zeros(len(counts), rows.shape[1], device=rows.device)
    starts, every = counts.cumsum(0) - counts, torch.arange(len(rows), device=rows.device)
    return torch.nn.functional.embedding_bag(
        every, rows.float(), starts, mode="sum", per_sample_weights=weights
    )


def shares(readings: Tensor, known: KnownWords, vector: Tensor) -> Tensor:
    """How much each reading of one word moved it towards its vector; they add up to one. *Shape:* (contexts,)

    This is attention as in attentive mimicking with the vector as the judge: a context counts by its dot
    product with what all of them say together.
    """
    agreement = ((readings.float() - known.mean) @ (vector - known.mean)).clamp_min(0)
    total = agreement.sum()
    even = torch.full_like(agreement, 1 / max(1, len(agreement)))
    return agreement / total if float(total) > 0 else even
