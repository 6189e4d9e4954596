"""Contexts read by the language model itself.

Put the mask where a word stood and ask the model what it expects there. The reading is the expected embedding::

    reading(C) = sum over known words t of p(t | C) e(t)

With ``shown`` the word stays in its sentence and the mask follows behind a slash, ``a kumquat / [MASK]
tree``: the model then expects a word that fits both the place and what it knows about the subwords.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from rarewords._internal.cache import Cache, key_of
from rarewords._internal.progress import progress
from rarewords.corpus.corpus import Corpus
from rarewords.learner.known_words import KnownWords
from rarewords.learner.masked import MaskedContexts, contexts_of_words
from rarewords.lm import LanguageModel
from rarewords.queries import InputRow

# Per batch; on a CPU less than two seconds of work, so that progress moves.
_TOKENS_ON_CPU, _TOKENS_ON_GPU = 1024, 131_072
# Every chunk takes a pass over the corpus and batches of its own; small chunks leave a GPU waiting.
_WORDS_AT_ONCE, _WORDS_AT_ONCE_ON_GPU = 1024, 16_384


def read(lm: LanguageModel, known: KnownWords, contexts: MaskedContexts, reading: str = "masked") -> Tensor:
    """The reading of every context, on the model's device; half precision on a GPU. *Shape:* (contexts, dim)

    :param reading: ``masked``, ``shown``, the mean of ``both``, or ``forbidden``: masked, and the word itself
        must not be expected. A word the model knows would find itself; forbidden, it is read like a rare one.
    """
    if reading == "both":
        return (read(lm, known, contexts, "masked") + read(lm, known, contexts, "shown")) / 2
    if reading == "shown":
        contexts = _with_words(lm, contexts)
    own = None
    if reading == "forbidden":
        ids = np.array([lm.whole_words[word] for word in contexts.words])[contexts.owner]
        own = torch.searchsorted(known.ids, torch.from_numpy(ids).to(lm.device))

    def expected(part: list[int], inputs: Tensor) -> Tensor:
        logits = lm.logits_at(inputs, torch.from_numpy(contexts.blank[part]).to(lm.device), quick=True)
        logits = logits[:, known.ids].float()
        if own is not None:
            logits.scatter_(1, own[part][:, None], float("-inf"))
        return torch.softmax(logits, dim=-1) @ known.embeddings

    on_cpu, on_gpu = lm.device.type == "cpu", lm.device.type == "cuda"
    kept = torch.float16 if on_gpu else torch.float32
    readings = torch.zeros(len(contexts.rows), lm.dim, device=lm.device, dtype=kept)
    rows, tokens = [InputRow(row) for row in contexts.rows], _TOKENS_ON_CPU if on_cpu else _TOKENS_ON_GPU
    with progress("Reading", total=len(rows), unit="contexts") as bar:
        for part, found in lm.in_batches(rows, expected, tokens):
            readings[part] = found.to(kept)
            bar.advance(len(part))
    return readings


def _with_words(lm: LanguageModel, contexts: MaskedContexts) -> MaskedContexts:
    """The contexts with their words and a slash before the mask; without them where they do not fit."""
    slash = lm.subwords("/")
    shown = [np.array([*own, *slash], np.int32) for own in lm.tokens.subwords_of(contexts.words)]
    rows, blank = list(contexts.rows), contexts.blank.copy()
    for at, (row, word) in enumerate(zip(contexts.rows, contexts.owner.tolist(), strict=True)):
        if len(row) + len(shown[word]) <= lm.max_length:
            rows[at] = np.insert(row, blank[at], shown[word])
            blank[at] += len(shown[word])
    return replace(contexts, rows=rows, blank=blank)


def pool(readings: Tensor, counts: np.ndarray, none: Tensor) -> Tensor:
    """The mean reading of each word. *Shape:* (words, dim)

    :param readings: those of a word together. *Shape:* (contexts, dim)
    :param counts: the number of contexts of each word. *Shape:* (words,)
    :param none: what a word without contexts gets. *Shape:* (dim,)
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


def read_corpus(
    lm: LanguageModel, words: Sequence[str], corpus: Corpus, how: tuple[str, int, int], cache: Cache | None = None
) -> tuple[Tensor, np.ndarray]:
    """The mean reading of words in a corpus, and their numbers of contexts. *Shapes:* (words, dim), (words,)

    :param how: the kind of reading, how many contexts of a word at most, and to how many tokens each is cut.
    """
    size = _WORDS_AT_ONCE if lm.device.type == "cpu" else _WORDS_AT_ONCE_ON_GPU
    parts = []
    with progress("Reading", len(words), "words") as bar:
        for start in range(0, max(1, len(words)), size):
            chunk = list(words[start : start + size])
            parts.append(_read_chunk(lm, corpus, how, cache, chunk))
            bar.advance(len(chunk))
    readings, counts = (np.concatenate([part[name] for part in parts]) for name in ("reading", "counts"))
    return torch.from_numpy(readings).to(lm.device), counts


def _read_chunk(
    lm: LanguageModel, corpus: Corpus, how: tuple[str, int, int], cache: Cache | None, words: list[str]
) -> dict[str, np.ndarray]:
    reading, contexts, length = how

    def make() -> dict[str, np.ndarray]:
        known = KnownWords.of(lm)
        masked = contexts_of_words(lm.tokens, corpus, words, contexts=contexts, length=length)
        pooled = pool(read(lm, known, masked, reading), masked.counts, known.mean)
        return {"reading": pooled.cpu().numpy(), "counts": masked.counts}

    key = key_of(lm.fingerprint, corpus.key, *how, words)
    return make() if cache is None else cache.arrays("readings", key, make)


def shares(readings: Tensor, known: KnownWords, embedding: Tensor) -> Tensor:
    """How much each reading of one word moves it towards its embedding; they add up to 1. *Shape:* (contexts,)

    This is the attention of attentive mimicking with the embedding as the judge: a context counts by the dot
    product of its reading and what all of them say together.
    """
    agreement = ((readings.float() - known.mean) @ (embedding - known.mean)).clamp_min(0)
    total = agreement.sum()
    even = torch.full_like(agreement, 1 / max(1, len(agreement)))
    return agreement / total if float(total) > 0 else even
