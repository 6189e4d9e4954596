"""A few gradient steps on word vectors alone, so that the model predicts the words around them better.

The language model is frozen. In each step one word near the new word is masked in every sentence, and the
vector moves to make the true one more probable. Some of a word's sentences are held out; the vector that does
best on them is kept, the first one included, so that no word gets worse on them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from rarewords.errors import InputError
from rarewords.lm import LanguageModel
from rarewords.mimic.masked import MaskedContexts
from rarewords.progress import progress

_TOKENS_ON_CPU = 4096
_TOKENS_ON_GPU = 65_536


@dataclass(frozen=True, kw_only=True)
class RefineSettings:
    """How vectors are refined.

    :param steps: how many steps are taken.
    :param rate: Adam's, in units of what embeddings differ from their mean.
    :param near: how many words on either side may be masked.
    :param held_out: the share of a word's sentences that judge instead of teach.
    :param fewest: words with fewer sentences than this stay as they are.
    :param every: judge after so many steps.
    """

    steps: int = 20
    rate: float = 0.01
    near: int = 4
    held_out: float = 0.25
    fewest: int = 4
    every: int = 5
    seed: int = 0

    def __post_init__(self) -> None:
        problems = [
            (min(self.steps, self.near, self.every) < 1, "steps, near and every must be at least 1"),
            (self.rate <= 0, "rate must be above 0"),
            (not 0 < self.held_out < 1, "held_out must be between 0 and 1"),
            (self.fewest < 2, "fewest must be at least 2: one sentence to learn from and one to judge by"),
        ]
        for wrong, reason in problems:
            if wrong:
                raise InputError(f"refine settings: {reason}")


@dataclass(frozen=True)
class Refined:
    """Refined vectors and what it brought.

    :param vectors: *Shape:* (words, dim)
    :param before: loss on held-out sentences, in nats a masked word; not a number where a word was left as it
        was. *Shape:* (words,)
    :param after: the same with the new vectors. *Shape:* (words,)
    """

    vectors: Tensor
    before: Tensor
    after: Tensor


def refine(
    lm: LanguageModel, contexts: MaskedContexts, vectors: Tensor, settings: RefineSettings | None = None
) -> Refined:
    """Refine the vectors of words whose contexts have been prepared.

    :param vectors: *Shape:* (words, dim)
    """
    settings = settings or RefineSettings()
    if len(vectors) != len(contexts.counts):
        raise InputError(f"{len(vectors)} vectors for {len(contexts.counts)} words with contexts")
    sentences = _Sentences(lm, contexts, settings)
    embeddings = lm.embeddings.float()
    rate = settings.rate * float((embeddings - embeddings.mean(0)).norm(dim=1).mean())
    moving = vectors.detach().to(lm.device, torch.float32).clone().requires_grad_()
    optimizer = torch.optim.Adam([moving], lr=rate)
    best, before = moving.detach().clone(), sentences.judge(moving.detach())
    lowest = before.clone()
    with progress("Refining", total=settings.steps, unit="steps") as bar:
        for step in range(settings.steps):
            optimizer.zero_grad()
            sentences.learn(moving, step)
            optimizer.step()
            if (step + 1) % settings.every == 0 or step + 1 == settings.steps:
                loss = sentences.judge(moving.detach())
                better = loss < lowest  # never true for words that cannot be judged
                best[better], lowest[better] = moving.detach()[better], loss[better]
            bar.advance(1)
    return Refined(best, before, lowest)


class _Sentences:
    """The sentences of all words as one padded matrix, those that teach and those that judge."""

    def __init__(self, lm: LanguageModel, contexts: MaskedContexts, settings: RefineSettings) -> None:
        self._lm, self._settings, self._words = lm, settings, len(contexts.counts)
        longest = int(contexts.lengths.max()) if len(contexts) else 0
        filler = lm.tokens.tokenizer.pad_token_id or 0
        ids = np.full((len(contexts), longest), filler, dtype=np.int64)
        for row in range(len(contexts)):
            ids[row, : contexts.lengths[row]] = contexts.ids[contexts.starts[row] : contexts.starts[row + 1]]
        known = np.zeros(len(lm.embeddings), dtype=bool)
        known[list(lm.whole_words.values())] = True
        places = [
            _nearest(known[ids[row]], int(contexts.blank[row]), settings.near) for row in range(len(contexts))
        ]
        order = np.arange(len(contexts)) - contexts.word_starts[contexts.owner]
        judges = order < np.maximum(1, np.floor(settings.held_out * contexts.counts))[contexts.owner]
        usable = (contexts.counts >= settings.fewest)[contexts.owner] & np.array([bool(p) for p in places])
        self._ids, self._lengths = torch.from_numpy(ids), torch.from_numpy(contexts.lengths)
        self._blank, self._owner = torch.from_numpy(contexts.blank), torch.from_numpy(contexts.owner)
        self._places = places
        self._teaching = np.flatnonzero(usable & ~judges)
        rows = np.flatnonzero(usable & judges)
        self._judged = [(row, place) for row in rows.tolist() for place in places[row]]

    def learn(self, vectors: Tensor, step: int) -> None:
        """Add the gradient of one masked word a sentence; each word's sentences weigh one together."""
        draw = np.random.default_rng([self._settings.seed, step])
        choices = draw.random(len(self._teaching))
        chosen = [
            (row, self._places[row][int(choice * len(self._places[row]))])
            for row, choice in zip(self._teaching.tolist(), choices, strict=True)
        ]
        numbers = torch.bincount(self._owner[[row for row, _ in chosen]], minlength=self._words)
        for part, losses in self._losses(chosen, vectors):
            weights = 1 / numbers[self._owner[part]].to(losses)
            (losses * weights).sum().backward()

    @torch.no_grad()
    def judge(self, vectors: Tensor) -> Tensor:
        """The mean loss of each word on its held-out sentences. *Shape:* (words,)"""
        sums = torch.zeros(self._words, device=self._lm.device)
        numbers = torch.zeros_like(sums)
        for part, losses in self._losses(self._judged, vectors):
            owner = self._owner[part].to(sums.device)
            sums.index_add_(0, owner, losses)
            numbers.index_add_(0, owner, torch.ones_like(losses))
        return sums / numbers  # zero by zero is not a number

    def _losses(self, chosen: list[tuple[int, int]], vectors: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield rows and minus the log-probability of the word masked in each."""
        device = self._lm.device
        budget = _TOKENS_ON_CPU if device.type == "cpu" else _TOKENS_ON_GPU
        size = max(1, budget // max(1, self._ids.shape[1]))
        mask = self._lm.tokens.tokenizer.mask_token_id
        for first in range(0, len(chosen), size):
            rows = torch.tensor([row for row, _ in chosen[first : first + size]])
            place = torch.tensor([place for _, place in chosen[first : first + size]])
            length = int(self._lengths[rows].max())
            ids = self._ids[rows, :length].clone()
            true = ids.gather(1, place[:, None])[:, 0].to(device)
            ids.scatter_(1, place[:, None], mask)
            seen = (torch.arange(length)[None, :] < self._lengths[rows][:, None]).long().to(device)
            words = vectors[self._owner[rows].to(device)]
            inputs = self._lm.embed(ids.to(device), self._blank[rows].to(device), words)
            logits = self._lm.logits_at(inputs, place.to(device), seen).float()
            yield rows, torch.nn.functional.cross_entropy(logits, true, reduction="none")


def _nearest(known: np.ndarray, blank: int, near: int) -> list[int]:
    """Places of the known words nearest to the mask, up to ``near`` on either side."""
    left = [place for place in range(blank - 1, -1, -1) if known[place]][:near]
    right = [place for place in range(blank + 1, len(known)) if known[place]][:near]
    return sorted(left + right)
