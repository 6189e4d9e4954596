"""Contexts read by the language model itself.

Put the mask where a word stood and ask the model what it expects there. The answer is a distribution over the
words it knows; the reading is the expected embedding::

    reading(C) = sum over known words t of p(t | C) e(t)

With ``shown`` the word stays in its sentence and the mask follows behind a slash, ``a kumquat / [MASK]
tree``: the model then expects a word that fits both the place and what it knows about the pieces.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Self

import numpy as np
import torch
from torch import Tensor

from rarewords.corpus.store import Store
from rarewords.engine import Engine, LocalEngine, one_thread
from rarewords.errors import InputError
from rarewords.lm import InputRow, LanguageModel
from rarewords.mimic.masked import MaskedContexts, contexts_of_words
from rarewords.progress import progress
from rarewords.stages import Stages, key_of

# Per batch; on a CPU less than two seconds of work, so that progress moves.
_TOKENS_ON_CPU, _TOKENS_ON_GPU = 1024, 131_072
# Every chunk takes a pass over the store and batches of its own; small chunks leave a GPU waiting.
_WORDS_AT_ONCE, _WORDS_AT_ONCE_ON_GPU = 1024, 16_384


@dataclass(frozen=True)
class KnownWords:
    """The words a model knows, as a space to place new ones in.

    :param ids: their token ids. *Shape:* (words,)
    :param embeddings: float32. *Shape:* (words, dim)
    :param mean: their mean. *Shape:* (dim,)
    :param spread: their mean distance from it.
    """

    ids: Tensor
    embeddings: Tensor
    mean: Tensor
    spread: float

    @classmethod
    @one_thread()
    def of(cls, lm: LanguageModel) -> Self:
        """The whole words of a model's vocabulary."""
        if not lm.whole_words:
            raise InputError(f"{lm.name} has no whole words in its vocabulary, so it cannot read contexts")
        ids = torch.tensor(sorted(lm.whole_words.values()), device=lm.device)
        embeddings = lm.embeddings[ids].float()
        mean = embeddings.mean(0)
        return cls(ids, embeddings, mean, float((embeddings - mean).norm(dim=1).mean()))

    def directions(self, vectors: Tensor) -> Tensor:
        """Unit vectors from the mean towards each vector; zero for the mean itself. *Shape:* (n, dim)"""
        centred = vectors.to(self.mean.device, torch.float32) - self.mean
        unit: Tensor = centred / centred.norm(dim=1, keepdim=True).clamp_min(1e-9)
        return unit

    def nearest(self, vectors: Tensor, count: int) -> tuple[Tensor, Tensor]:
        """The token ids of the known words nearest to each vector, seen from the mean, and their cosines.

        *Shapes:* (n, dim) -> (n, count), (n, count)
        """
        cosines = self.directions(vectors) @ self.directions(self.embeddings).T
        best = cosines.topk(min(count, len(self.ids)), dim=1)
        return self.ids[best.indices], best.values

    def at(self, directions: Tensor, scale: float = 1.0) -> Tensor:
        """Vectors in these directions, at ``scale`` times the spread from the mean. *Shape:* (n, dim)"""
        lengths = directions.norm(dim=1, keepdim=True).clamp_min(1e-9)
        vectors: Tensor = self.mean + directions / lengths * (scale * self.spread)
        return vectors


def read(lm: LanguageModel, known: KnownWords, contexts: MaskedContexts, reading: str = "masked") -> Tensor:
    """The reading of every context, on the model's device; half precision on a GPU. *Shape:* (contexts, dim)

    :param reading: ``masked``, ``shown``, the mean of ``both``, or ``forbidden``: masked, and the word itself
        must not be expected. A word the model knows would find itself; forbidden, it is read like a rare one.
    """
    if reading == "both":
        return (read(lm, known, contexts, "masked") + read(lm, known, contexts, "shown")) / 2
    if reading == "shown":
        contexts = _with_words(lm, contexts)
    kept = torch.float16 if lm.device.type == "cuda" else torch.float32
    column = None
    if reading == "forbidden":
        own = np.array([lm.whole_words[word] for word in contexts.words])[contexts.owner]
        column = torch.searchsorted(known.ids, torch.from_numpy(own).to(lm.device))

    def compute(part: list[int], inputs: Tensor, blank: Tensor) -> Tensor:
        # Rounding to bfloat16 moves a reading by less than one context differs from the next.
        with torch.autocast(lm.device.type, dtype=torch.bfloat16, enabled=lm.device.type == "cuda"):
            logits = lm.logits_at(inputs, blank)
        logits = logits[:, known.ids].float()
        if column is not None:
            logits.scatter_(1, column[part][:, None], float("-inf"))
        return (torch.softmax(logits, dim=-1) @ known.embeddings).to(kept)

    return at_masks(lm, contexts, compute, lm.dim, kept)


def at_masks(
    lm: LanguageModel,
    contexts: MaskedContexts,
    compute: Callable[[list[int], Tensor, Tensor], Tensor],
    size: int,
    dtype: torch.dtype = torch.float32,
) -> Tensor:
    """What ``compute`` makes of each context, on the model's device. *Shape:* (contexts, size)

    :param compute: gets the numbers of some contexts, their input vectors and the place of the mask in each.
        *Shapes:* (batch,), (batch, length, dim), (batch,) -> (batch, size)
    """
    result = torch.zeros(len(contexts.rows), size, device=lm.device, dtype=dtype)

    def computed(part: list[int], inputs: Tensor) -> Tensor:
        return compute(part, inputs, torch.from_numpy(contexts.blank[part]).to(lm.device))

    budget = _TOKENS_ON_CPU if lm.device.type == "cpu" else _TOKENS_ON_GPU
    with progress("Reading", total=len(contexts.rows), unit="contexts") as bar:
        for part, found in lm.in_batches([InputRow(row) for row in contexts.rows], computed, budget):
            result[part] = found
            bar.advance(len(part))
    return result


def _with_words(lm: LanguageModel, contexts: MaskedContexts) -> MaskedContexts:
    """The contexts with their words and a slash before the mask; without them where they do not fit."""
    shown = [np.array([*own, *lm.pieces("/")], np.int32) for own in lm.tokens.pieces_of(contexts.words)]
    rows, blank = list(contexts.rows), contexts.blank.copy()
    for at, (row, word) in enumerate(zip(contexts.rows, contexts.owner.tolist(), strict=True)):
        if len(row) + len(shown[word]) <= lm.max_length:
            rows[at] = np.concatenate([row[: blank[at]], shown[word], row[blank[at] :]])
            blank[at] += len(shown[word])
    return replace(contexts, rows=rows, blank=blank)


def pool(readings: Tensor, counts: np.ndarray, none: Tensor) -> Tensor:
    """The mean reading of each word.

    :param readings: those of a word together. *Shape:* (contexts, dim)
    :param counts: the number of contexts of each word. *Shape:* (words,)
    :param none: what a word without contexts gets. *Shape:* (dim,)
    :return: *Shape:* (words, dim)
    """
    numbers = torch.from_numpy(counts).to(readings.device)
    means = sums(readings.float(), numbers) / numbers.clamp_min(1)[:, None]
    return torch.where((numbers > 0)[:, None], means, none)


def sums(readings: Tensor, counts: Tensor, weights: Tensor | None = None) -> Tensor:
    """Sums of the readings of each word, weighted if asked for. *Shape:* (words, dim)

    Unlike index_add on a GPU, this always adds in the same order.
    """
    if not len(readings):
        return readings.new_zeros(len(counts), readings.shape[1])
    every = torch.arange(len(readings), device=readings.device)
    starts = counts.cumsum(0) - counts
    bag = torch.nn.functional.embedding_bag
    return bag(every, readings, starts, mode="sum", per_sample_weights=weights)


def read_store(
    lm: LanguageModel,
    words: Sequence[str],
    store: Store,
    how: tuple[str, int, int],
    stages: Stages | None = None,
    engine: Engine | None = None,
) -> tuple[Tensor, np.ndarray]:
    """The mean reading of words in a store, and their numbers of contexts. *Shapes:* (words, dim), (words,)

    :param how: the kind of reading, how many contexts of a word at most, and to how many tokens each is cut.
    """
    size = _WORDS_AT_ONCE if engine or lm.device.type == "cpu" else _WORDS_AT_ONCE_ON_GPU
    chunks = [list(words[at : at + size]) for at in range(0, max(1, len(words)), size)]
    task, (_, contexts, _) = partial(_read_chunk, lm, store, how, stages), how
    parts: dict[int, tuple[np.ndarray, np.ndarray]] = {}
    with progress("Reading", len(words), "words", passes=len(words) * contexts) as bar:
        for number, part in (engine or LocalEngine(1)).map(task, chunks):
            parts[number] = part
            bar.advance(len(chunks[number]), passes=len(chunks[number]) * contexts)
    readings, counts = zip(*(parts[number] for number in sorted(parts)), strict=True)
    return torch.from_numpy(np.concatenate(readings)).to(lm.device), np.concatenate(counts)


def _read_chunk(
    lm: LanguageModel, store: Store, how: tuple[str, int, int], stages: Stages | None, words: list[str]
) -> tuple[np.ndarray, np.ndarray]:
    reading, contexts, length = how

    def make() -> dict[str, np.ndarray]:
        known = KnownWords.of(lm)
        masked = contexts_of_words(lm.tokens, store, words, contexts=contexts, length=length)
        pooled = pool(read(lm, known, masked, reading), masked.counts, known.mean)
        return {"reading": pooled.cpu().numpy(), "counts": masked.counts}

    key = key_of(lm.fingerprint, store.key, *how, words)
    found = make() if stages is None else stages.arrays("readings", key, make)
    return found["reading"], found["counts"]


def shares(readings: Tensor, known: KnownWords, vector: Tensor) -> Tensor:
    """How much each reading of one word moves it towards its vector; they add up to one. *Shape:* (contexts,)

    This is the attention of attentive mimicking with the vector as the judge: a context counts by the dot
    product of its reading and what all of them say together.
    """
    agreement = ((readings.float() - known.mean) @ (vector - known.mean)).clamp_min(0)
    total = agreement.sum()
    even = torch.full_like(agreement, 1 / max(1, len(agreement)))
    return agreement / total if float(total) > 0 else even
