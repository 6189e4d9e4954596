"""Training by mimicking: given a word's spelling and some of its contexts, give its vector."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from rarewords.errors import InputError
from rarewords.files import read_json, whole_file, write_json
from rarewords.mimic.batches import ContextReader
from rarewords.mimic.model import FormContextModel, WordBatch
from rarewords.mimic.ngrams import Bags
from rarewords.mimic.settings import MimicSettings
from rarewords.progress import Bar, progress


@dataclass(frozen=True)
class TrainingWords:
    """What is learned from: words with n-grams, contexts and the vectors to mimic.

    :param counts: how often each word occurs. *Shape:* (words,)
    :param targets: *Shape:* (words, dim)
    :param grams: the n-grams of each word.
    :param reader: the contexts of each word.
    :param origin: where directions start, for the loss that compares them. *Shape:* (dim,)
    """

    words: list[str]
    counts: np.ndarray
    targets: Tensor
    grams: Bags
    reader: ContextReader
    origin: Tensor | None = None


@dataclass(frozen=True)
class EpochReport:
    """How training went so far."""

    epoch: int
    loss: float
    context_share: float
    held_out_cosine: float | None
    examples_per_second: float


@dataclass
class _State:
    epoch: int = 0
    history: list[EpochReport] = field(default_factory=list)


def train(
    data: TrainingWords,
    settings: MimicSettings,
    *,
    ngrams: int,
    checkpoint: Path | None = None,
    after_epoch: Callable[[EpochReport, FormContextModel], None] | None = None,
) -> tuple[FormContextModel, list[EpochReport]]:
    """Train a model; with a checkpoint folder, go on where an earlier run of the same settings stopped.

    What an epoch draws depends on the seed and the epoch's number alone, so a resumed training ends with the
    same weights as one that was never interrupted.
    """
    if len(data.words) < 2:
        raise InputError("at least two training words are needed; lower min_count or use a larger corpus")
    torch.manual_seed(settings.seed)
    device = data.reader.device
    model = FormContextModel(settings, dim=data.targets.shape[1], ngrams=ngrams).to(device)
    optimizers = _optimizers(model, settings)
    state = _State()
    if checkpoint is not None:
        state = _load_checkpoint(checkpoint, model, optimizers, settings)
    fitted, held_out = _split(len(data.words), settings)
    with progress(
        "Training", total=_examples(data, settings, fitted) * settings.epochs, unit="examples"
    ) as bar:
        bar.advance(_examples(data, settings, fitted) * state.epoch)
        for epoch in range(state.epoch, settings.epochs):
            report = _one_epoch(data, settings, model, optimizers, epoch, fitted, held_out, bar)
            state.epoch = epoch + 1
            state.history.append(report)
            if checkpoint is not None:
                _save_checkpoint(checkpoint, model, optimizers, settings, state)
            if after_epoch is not None:
                after_epoch(report, model)
    return model.eval(), state.history


def _one_epoch(
    data: TrainingWords,
    settings: MimicSettings,
    model: FormContextModel,
    optimizers: list[torch.optim.Optimizer],
    epoch: int,
    fitted: np.ndarray,
    held_out: np.ndarray,
    bar: Bar,
) -> EpochReport:
    model.train()
    plan = EpochPlan(data, settings, fitted, epoch)
    total_loss = torch.zeros((), device=data.reader.device)
    share = torch.zeros((), device=data.reader.device)
    steps = len(plan)
    started = time.perf_counter()
    for step in range(steps):
        _set_learning_rate(optimizers, settings, (epoch * steps + step) / (settings.epochs * steps))
        batch, targets = plan.batch(step)
        mimicked = model(batch)
        loss = loss_of(mimicked.vectors, targets, settings, data.origin)
        for optimizer in optimizers:
            optimizer.zero_grad(set_to_none=True)
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
        with torch.no_grad():
            total_loss += loss
            share += mimicked.context_share.mean()
        bar.advance(len(targets))
        if step % 50 == 49:
            bar.note(f"epoch {epoch + 1}/{settings.epochs}, loss {float(total_loss) / (step + 1):.5f}")
    seconds = time.perf_counter() - started
    cosine = _cosine(data, settings, model, held_out) if len(held_out) else None
    loss_mean, share_mean = float(total_loss) / steps, float(share) / steps
    return EpochReport(epoch + 1, loss_mean, share_mean, cosine, plan.examples / max(seconds, 1e-9))


def loss_of(vectors: Tensor, targets: Tensor, settings: MimicSettings, origin: Tensor | None) -> Tensor:
    """How far mimicked vectors are from the true ones. *Shapes:* (words, dim), (words, dim) -> ()"""
    if settings.loss == "squared":
        return torch.nn.functional.mse_loss(vectors, targets)
    if origin is not None:
        vectors, targets = vectors - origin, targets - origin
    return 1 - torch.nn.functional.cosine_similarity(vectors, targets, dim=-1).mean()


class EpochPlan:
    """All training instances of an epoch, drawn beforehand.

    Each word has ``clamp(count / 100, 1, 5)`` instances. Its contexts are shuffled once an epoch and dealt to
    its instances one after the other, so each instance has a uniform sample without repetition and different
    instances see different contexts as long as there are enough.
    """

    def __init__(self, data: TrainingWords, settings: MimicSettings, chosen: np.ndarray, epoch: int) -> None:
        self._data, self._settings = data, settings
        device = data.reader.device
        rng = np.random.default_rng([settings.seed, 1, epoch])
        copies = np.clip(data.counts[chosen] // settings.copies_per_count, 1, settings.copies_max)
        words = np.repeat(chosen, copies)
        rng.shuffle(words)
        available = np.diff(data.reader.starts)[words] if settings.context else np.zeros(len(words), np.int64)
        drawn = rng.integers(settings.contexts_min, settings.contexts_max + 1, len(words))
        self._taken = np.minimum(drawn, available)
        self._words = words
        self._from = _dealt_before(words, self._taken)
        self._formless = rng.random(len(words)) < settings.form_dropout
        self._generator = torch.Generator(device).manual_seed(int(rng.integers(2**62)))
        self._noise = np.random.default_rng([settings.seed, 2, epoch])
        self._shuffled = self._shuffle() if settings.context else torch.zeros(0, device=device)

    @property
    def examples(self) -> int:
        """The number of instances."""
        return len(self._words)

    def __len__(self) -> int:
        """The number of batches."""
        return -(-len(self._words) // self._settings.batch_size)

    def batch(self, step: int) -> tuple[WordBatch, Tensor]:
        """One batch and its targets."""
        size = self._settings.batch_size
        part = slice(step * size, (step + 1) * size)
        rows, taken = self._words[part], self._taken[part]
        data, device = self._data, self._data.reader.device
        grams, gram_starts = self._grams(rows)
        words = torch.from_numpy(rows).to(device)
        contexts, owner = self._contexts(words, taken, self._from[part])
        readings = (
            data.reader.read(contexts) if len(contexts) else data.targets.new_zeros(0, data.targets.shape[1])
        )
        has_form = torch.from_numpy(~self._formless[part] | (taken == 0)).to(device)
        return WordBatch(grams, gram_starts, has_form, readings, owner), data.targets[words]

    def _shuffle(self) -> Tensor:
        """A permutation of all contexts that keeps those of a word together. *Shape:* (contexts,)"""
        reader = self._data.reader
        owner = torch.repeat_interleave(torch.arange(len(reader.counts), device=reader.device), reader.counts)
        keys = torch.randint(2**40, owner.shape, generator=self._generator, device=reader.device)
        return torch.argsort((owner << 40) + keys)

    def _contexts(self, words: Tensor, taken: np.ndarray, dealt: np.ndarray) -> tuple[Tensor, Tensor]:
        reader, total = self._data.reader, int(taken.sum())
        counts = torch.from_numpy(taken).to(reader.device)
        owner = torch.repeat_interleave(
            torch.arange(len(taken), device=reader.device), counts, output_size=total
        )
        if not total:
            return owner, owner
        offsets = torch.from_numpy(np.cumsum(taken) - taken - dealt).to(reader.device)
        turn = torch.arange(total, device=reader.device) - offsets[owner]
        of_word = words[owner]
        place = reader.first_of(of_word) + turn % reader.counts[of_word]
        return self._shuffled[place], owner

    def _grams(self, rows: np.ndarray) -> tuple[Tensor, Tensor]:
        """The n-grams of some words, some of them dropped, but never all of a word's."""
        device, bags = self._data.reader.device, self._data.grams.take(rows)
        numbers, starts = bags.numbers, bags.starts[:-1]
        if self._settings.ngram_dropout:
            # Here and not on the device: it would have to say how many are left before it could go on.
            noise = self._noise.random(len(numbers), dtype=np.float32)
            sizes = np.diff(bags.starts)
            luckiest = np.repeat(np.maximum.reduceat(noise, starts), sizes)
            kept = (noise >= self._settings.ngram_dropout) | (noise == luckiest)
            numbers, sizes = numbers[kept], np.add.reduceat(kept, starts, dtype=np.int64)
            starts = np.cumsum(sizes) - sizes
        return torch.from_numpy(numbers).to(device), torch.from_numpy(starts).to(device)


def _dealt_before(words: np.ndarray, taken: np.ndarray) -> np.ndarray:
    """For each instance how many contexts its word has dealt to earlier instances.

    ``words [5, 3, 5, 5], taken [2, 9, 4, 1] -> [0, 0, 2, 6]``
    """
    order = np.argsort(words, kind="stable")
    summed = np.cumsum(taken[order]) - taken[order]
    first = np.concatenate([[True], words[order][1:] != words[order][:-1]])
    base = summed[first][np.cumsum(first) - 1]
    result = np.empty(len(words), dtype=np.int64)
    result[order] = summed - base
    return result


def _split(words: int, settings: MimicSettings) -> tuple[np.ndarray, np.ndarray]:
    order = np.random.default_rng([settings.seed, 0]).permutation(words)
    held_out = round(words * settings.held_out)
    return np.sort(order[held_out:]), np.sort(order[:held_out])


def _examples(data: TrainingWords, settings: MimicSettings, chosen: np.ndarray) -> int:
    copies = np.clip(data.counts[chosen] // settings.copies_per_count, 1, settings.copies_max)
    return int(copies.sum())


@torch.no_grad()
def _cosine(data: TrainingWords, settings: MimicSettings, model: FormContextModel, rows: np.ndarray) -> float:
    """The mean cosine between mimicked and true vectors of held-out words."""
    model.eval()
    plan = EpochPlan(data, settings, rows, epoch=2**31)
    cosines = []
    for step in range(len(plan)):
        batch, targets = plan.batch(step)
        cosines.append(torch.nn.functional.cosine_similarity(model(batch).vectors, targets))
    return float(torch.cat(cosines).mean())


def _optimizers(model: FormContextModel, settings: MimicSettings) -> list[torch.optim.Optimizer]:
    # Only the n-grams of a batch change: an Adam that touches those rows alone, and a plain one for the rest.
    sparse = [parameter for name, parameter in model.named_parameters() if name.startswith("ngram")]
    dense = [parameter for name, parameter in model.named_parameters() if not name.startswith("ngram")]
    optimizers: list[torch.optim.Optimizer] = []
    if sparse:
        optimizers.append(torch.optim.SparseAdam(sparse, lr=settings.learning_rate))
    if dense:
        optimizers.append(torch.optim.Adam(dense, lr=settings.learning_rate))
    return optimizers


def _set_learning_rate(optimizers: list[torch.optim.Optimizer], settings: MimicSettings, done: float) -> None:
    rate = settings.learning_rate * (settings.final_learning_rate / settings.learning_rate) ** done
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["lr"] = rate


def _save_checkpoint(
    folder: Path,
    model: FormContextModel,
    optimizers: list[torch.optim.Optimizer],
    settings: MimicSettings,
    state: _State,
) -> None:
    from safetensors.torch import save_file

    tensors = {
        f"model.{name}": value.detach().cpu().contiguous() for name, value in model.state_dict().items()
    }
    for number, optimizer in enumerate(optimizers):
        for index, slots in optimizer.state_dict()["state"].items():
            for name, value in slots.items():
                tensors[f"optimizer.{number}.{index}.{name}"] = torch.as_tensor(value).cpu().contiguous()
    with whole_file(folder / f"epoch-{state.epoch}.safetensors") as temporary:
        save_file(tensors, temporary)
    history = [vars(report) for report in state.history]
    write_json(
        folder / "checkpoint.json", {"epoch": state.epoch, "settings": settings.to_dict(), "history": history}
    )
    for old in folder.glob("epoch-*.safetensors"):
        if old.name != f"epoch-{state.epoch}.safetensors":
            old.unlink()


def _load_checkpoint(
    folder: Path, model: FormContextModel, optimizers: list[torch.optim.Optimizer], settings: MimicSettings
) -> _State:
    from safetensors.torch import load_file

    if not (folder / "checkpoint.json").is_file():
        return _State()
    saved = read_json(folder / "checkpoint.json")
    if saved["settings"] != settings.to_dict():
        raise InputError(f"{folder} holds a training with other settings; remove it or choose another folder")
    tensors = load_file(folder / f"epoch-{saved['epoch']}.safetensors")
    try:
        model.load_state_dict(
            {name.removeprefix("model."): t for name, t in tensors.items() if name[:6] == "model."}
        )
    except RuntimeError as error:
        raise InputError(f"{folder} holds a training on other words; remove it first") from error
    for number, optimizer in enumerate(optimizers):
        content = optimizer.state_dict()
        slots: dict[int, dict[str, Tensor | int]] = {}
        for name, value in tensors.items():
            kind, *rest = name.split(".")
            if kind == "optimizer" and int(rest[0]) == number:
                # SparseAdam counts its steps in a plain int; as a float32 tensor they would round otherwise.
                counted = rest[2] == "step" and isinstance(optimizer, torch.optim.SparseAdam)
                slots.setdefault(int(rest[1]), {})[rest[2]] = int(value) if counted else value
        content["state"] = slots
        optimizer.load_state_dict(content)
    return _State(saved["epoch"], [EpochReport(**report) for report in saved["history"]])
