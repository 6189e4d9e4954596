"""Training by mimicking: from a word's spelling and some of its contexts, predict its embedding."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from rarewords._internal.files import whole_file
from rarewords._internal.progress import Bar, progress
from rarewords.corpus.columns import ragged
from rarewords.errors import InputError
from rarewords.mimic.batches import Reader
from rarewords.mimic.model import UNKNOWN, FormContextModel, WordBatch
from rarewords.mimic.settings import MimicSettings


@dataclass(frozen=True)
class TrainingWords:
    """Words with how often they occur, the embeddings to mimic (words, dim), their n-grams and contexts."""

    counts: np.ndarray
    targets: Tensor
    grams: Sequence[np.ndarray]
    reader: Reader


@dataclass(frozen=True)
class EpochReport:
    """How an epoch went.

    :param context_share: mean alpha over the instances with both form and contexts, the only ones the gate
        decides on; 1 for a model without form, 0 for one without contexts.
    :param held_out_cosine: mean cosine of predicted and true embeddings of held-out words, without dropout.
    """

    epoch: int
    loss: float
    context_share: float
    held_out_cosine: float | None
    examples_per_second: float


def train(
    data: TrainingWords,
    settings: MimicSettings,
    *,
    ngrams: int,
    checkpoint: Path | None = None,
    after_epoch: Callable[[EpochReport, FormContextModel], None] | None = None,
) -> tuple[FormContextModel, list[EpochReport]]:
    """Train a model and report on each epoch.

    The random choices of an epoch depend on the seed and the number of the epoch alone, so a resumed training
    ends with the same weights as an uninterrupted one.

    :param checkpoint: a file for the state after each epoch; if it exists, training resumes from it.
    """
    torch.manual_seed(settings.seed)
    model = FormContextModel(settings, dim=data.targets.shape[1], ngrams=ngrams).to(data.reader.device)
    # Plain Adam: an n-gram keeps moving between the words that contain it. On a CPU sparse gradients are added
    # into a dense one that is allocated once; allocating it at every step takes four times as long there.
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimizer = torch.optim.Adam(model.parameters(), lr=settings.learning_rate, fused=True)
    history: list[EpochReport] = []
    if checkpoint is not None and checkpoint.is_file():
        weights, moments, reports = torch.load(checkpoint, map_location="cpu", weights_only=True)
        model.load_state_dict(weights)
        optimizer.load_state_dict(moments)
        history = [EpochReport(**report) for report in reports]
    order = np.random.default_rng([settings.seed, 0]).permutation(len(data.counts))
    held_out, fitted = np.split(order, [round(len(order) * settings.held_out)])
    size = int(copies_of(data.counts[fitted], settings).sum())
    with progress("Training", total=size * settings.epochs, unit="examples") as bar:
        bar.advance(size * len(history))
        for epoch in range(len(history), settings.epochs):
            plan = EpochPlan(data, settings, fitted, epoch)
            if not plan.examples:
                raise InputError("no training word has a context with a known word; use a larger corpus", code="mimic")
            loss, share, seconds = _one_epoch(plan, model, optimizer, bar)
            bar.advance(size - plan.examples)
            cosine = _cosine(data, model, held_out)
            history.append(EpochReport(epoch + 1, loss, share, cosine, plan.examples / max(seconds, 1e-9)))
            if checkpoint is not None:
                state = [model.state_dict(), optimizer.state_dict(), [asdict(one) for one in history]]
                with whole_file(checkpoint) as temporary, temporary.open("wb") as stream:
                    torch.save(state, stream)
            if after_epoch is not None:
                after_epoch(history[-1], model)
    return model, history


def copies_of(counts: np.ndarray, settings: MimicSettings) -> np.ndarray:
    """Training instances of each word per epoch: ``clamp(count / 100, 1, 5)``. *Shape:* (words,)"""
    copies: np.ndarray = np.clip(counts // settings.copies_per_count, 1, settings.copies_max)
    return copies


class EpochPlan:
    """All training instances of an epoch.

    The contexts of a word are shuffled once per epoch and dealt to its instances, so no two instances share a
    context. An instance that gets none because the word has too few is left out.
    """

    def __init__(self, data: TrainingWords, settings: MimicSettings, chosen: np.ndarray, epoch: int) -> None:
        self._data, self._settings = data, settings
        self._rng = rng = np.random.default_rng([settings.seed, 1, epoch])
        copies = copies_of(data.counts[chosen], settings)
        words = np.repeat(chosen, copies)
        drawn = rng.integers(settings.contexts_min, settings.contexts_max + 1, len(words))
        before = np.cumsum(drawn) - drawn
        before -= np.repeat(before[np.cumsum(copies) - copies], copies)
        available = np.diff(data.reader.starts)[words]
        taken = np.clip(available - before, 0, drawn) if settings.context else 0 * drawn
        order = rng.permutation(np.flatnonzero(taken > 0) if settings.context else len(words))
        self.examples = len(order)
        self._words, self._taken = words[order], taken[order]
        self._first = data.reader.starts[self._words] + before[order]
        self._has_form = rng.random(len(order)) >= settings.form_dropout
        # A permutation of all contexts that keeps those of a word together.
        device = data.reader.device
        counts = torch.from_numpy(np.diff(data.reader.starts)).to(device)
        owner = torch.repeat_interleave(torch.arange(len(counts), device=device), counts)
        generator = torch.Generator(device).manual_seed(int(rng.integers(2**62)))
        keys = torch.randint(2**40, owner.shape, generator=generator, device=device)
        self._shuffled = torch.argsort((owner << 40) + keys)

    def batches(self) -> Iterator[tuple[WordBatch, Tensor]]:
        """The batches with their targets."""
        data, size = self._data, self._settings.batch_size
        for first in range(0, self.examples, size):
            part = slice(first, first + size)
            words, taken = self._words[part], self._taken[part]
            contexts = self._shuffled[torch.from_numpy(ragged(self._first[part], taken)).to(data.reader.device)]
            grams = [self._dropped(data.grams[word]) for word in words]
            batch = WordBatch.of(grams, self._has_form[part], data.reader, contexts, taken)
            yield batch, data.targets[torch.from_numpy(words).to(data.targets.device)]

    def _dropped(self, grams: np.ndarray) -> np.ndarray:
        """Drop n-grams of a word at random; if none is left, the unknown one stands for them."""
        if not self._settings.ngram_dropout:
            return grams
        kept = grams[self._rng.random(len(grams)) >= self._settings.ngram_dropout]
        return kept if len(kept) else np.array([UNKNOWN])


def _one_epoch(
    plan: EpochPlan, model: FormContextModel, optimizer: torch.optim.Optimizer, bar: Bar
) -> tuple[float, float, float]:
    """The mean loss, the mean share of contexts where the gate decides, and the seconds taken."""
    started, sums = time.perf_counter(), torch.zeros(3)
    for step, (batch, targets) in enumerate(plan.batches(), 1):  # noqa: B007 - used below
        mimicked = model(batch)
        loss = torch.nn.functional.mse_loss(mimicked.embeddings, targets)
        optimizer.zero_grad(set_to_none=loss.is_cuda)
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            both = batch.has_form & (batch.counts > 0)  # where the gate decides
            sums = sums.to(loss.device) + torch.stack([loss, (mimicked.context_share * both).sum(), both.sum()])
        bar.advance(len(targets))
    loss, share, both_of = sums.tolist()
    mean_share = share / both_of if both_of else float(model.settings.context)
    return loss / step, mean_share, time.perf_counter() - started


@torch.no_grad()
def _cosine(data: TrainingWords, model: FormContextModel, rows: np.ndarray) -> float | None:
    """The mean cosine of predicted and true embeddings of held-out words, without dropout; None if none."""
    plan = EpochPlan(data, replace(model.settings, ngram_dropout=0.0, form_dropout=0.0), rows, epoch=2**31)
    cosine = torch.nn.functional.cosine_similarity
    cosines = [cosine(model(batch).embeddings, true) for batch, true in plan.batches()]
    return float(torch.cat(cosines).mean()) if cosines else None
