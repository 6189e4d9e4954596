"""One-token approximation of many words: grouped, in batches, resumable."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from rarewords.errors import InputError
from rarewords.lm import LanguageModel
from rarewords.ota.baselines import baseline, weighted_mean
from rarewords.ota.checkpoint import SECONDS_BETWEEN_PARTS, Checkpoint
from rarewords.ota.contexts import Frame, word_key
from rarewords.ota.inverse import Prior
from rarewords.ota.objective import Objective
from rarewords.ota.settings import METHODS, OtaSettings
from rarewords.ota.solvers import Batch, Solution, Watch, adam, falling_adam, lbfgs
from rarewords.ota.words import Task, WordNote, sort_words
from rarewords.progress import message, progress
from rarewords.vectors import WordVectors
from rarewords.worker import ModelReference

if TYPE_CHECKING:
    from rarewords.corpus.engine import Engine

_WORDS_PER_SHARD = 1024
_MOST_MEMORY = 24e9


@dataclass(frozen=True)
class Approximation:
    """Vectors, and notes on words that are special.

    :param resumed: how many words had been finished by an earlier run.
    """

    vectors: WordVectors
    notes: tuple[WordNote, ...]
    resumed: int = 0

    @property
    def left_out(self) -> list[WordNote]:
        """The notes on words that have no vector."""
        return [note for note in self.notes if not note.kept]


class Approximator:
    """A model made ready for one-token approximation: the objective and what is shared by all words."""

    def __init__(
        self, model: LanguageModel, settings: OtaSettings | None = None, *, leave_out: Collection[int] = ()
    ) -> None:
        self.settings = settings or OtaSettings()
        self.objective = Objective.of(model, self.settings)
        self._leave_out = leave_out

    @cached_property
    def prior(self) -> Prior:
        """What is shared by all words, fitted when first needed: words of several pieces may do without."""
        return Prior.fit(self.objective, self.settings, self._leave_out)

    @cached_property
    def _averaged(self) -> Objective:
        """What is averaged over for words of several pieces."""
        static = self.settings.contexts == "static"
        return Objective.of(self.objective.model, self.settings, "static" if static else "masked")

    @cached_property
    def _spread(self) -> float:
        """How far embeddings are from their mean: what a step of a given size means in this model."""
        embeddings = self.objective.model.embeddings.float()
        return float((embeddings - embeddings.mean(0)).norm(dim=1).mean())

    def batch(self, pieces: Sequence[Sequence[int]], vectors: Tensor | None = None) -> Batch:
        """Words of equally many pieces on the model's device.

        :param vectors: what stands for each last piece, if that is no token. *Shape:* (words, dim)
        """
        device = self.objective.model.device
        keys = [word_key(word, self.settings.seed) for word in pieces]
        return Batch(torch.tensor(pieces, device=device), torch.tensor(keys, device=device), vectors)

    def solve(self, batch: Batch, watch: Watch | None = None, start: Tensor | None = None) -> Solution:
        """The vectors of a batch.

        :param start: where to begin; otherwise as the settings say. *Shape:* (words, dim)
        """
        if self.settings.solver == "auto" and batch.pieces.shape[1] > 1:
            begin = baseline(self.objective.model, batch.pieces, "avg") if start is None else start
            steps, rate = self.settings.averaging_steps, self.settings.averaging_rate * self._spread
            return falling_adam(self._averaged, batch, begin, steps=steps, rate=rate, watch=watch)
        start = self.start(batch.pieces) if start is None else start
        if self.settings.solver == "adam":
            return adam(self.objective, batch, start, self.settings, watch)
        return lbfgs(self.objective, batch, start, self.settings, self.prior.inverse_curvature, watch)

    def start(self, pieces: Tensor) -> Tensor:
        """Where the search begins. *Shape:* (words, pieces) -> (words, dim)"""
        model, kind = self.objective.model, self.settings.start
        if kind == "inverse":
            return self.prior.start(self.objective, pieces, self.settings)
        if kind == "mean":
            return baseline(model, pieces, "avg")
        if kind == "length":
            return weighted_mean(model, pieces)
        shape = (len(pieces), model.dim)
        return (
            self.prior.mean_vector.expand(shape)
            if kind == "vocabulary"
            else torch.zeros(shape, device=model.device)
        )


def approximate(
    model: LanguageModel,
    words: Sequence[str],
    settings: OtaSettings | None = None,
    *,
    method: str = "ota",
    keep_single: bool = False,
    words_per_batch: int | None = None,
    shard: tuple[int, int] = (0, 1),
    work: str | Path | None = None,
    checkpoint_seconds: float = SECONDS_BETWEEN_PARTS,
    engine: Engine | None = None,
) -> Approximation:
    """One vector for each word or phrase of several pieces, that acts in the model as its pieces do.

    >>> result = approximate(LanguageModel.from_pretrained(), ["kumquat"])  # doctest: +SKIP
    >>> result.vectors["kumquat"].shape  # doctest: +SKIP
    (384,)

    :param settings: the preset ``fast`` when there are none.
    :param method: ``ota``, or a baseline: ``first``, ``last`` or ``avg`` of the pieces' embeddings.
    :param keep_single: words of one piece get the model's own embedding instead of being left out.
    :param words_per_batch: how many words are computed together; changes the speed, not the vectors.
    :param shard: ``(i, n)`` computes the i-th of n parts of the words, counted from 0.
    :param work: a folder for words finished so far; a later call with the same input goes on from there.
        The caller removes it.
    :param engine: spreads the words over processes or machines; each loads the model by its name.
    """
    if method not in METHODS:
        raise InputError(f"method must be one of {', '.join(METHODS)}, not {method!r}")
    if words_per_batch is not None and words_per_batch < 1:
        raise InputError(f"words_per_batch must be at least 1, not {words_per_batch}")
    if not 0 <= shard[0] < shard[1]:
        raise InputError(f"shard {shard[0]} of {shard[1]} does not exist; shards count from 0")
    settings = settings or OtaSettings()
    frame = Frame.of(model, "masked")  # the longest: what fits there fits everywhere
    tasks, notes = sort_words(model, frame, words, keep_single=keep_single)
    tasks = [task for task in tasks if word_key(task.pieces, settings.seed) % shard[1] == shard[0]]
    recipe = _recipe(model, settings, method, [task.word for task in tasks])
    checkpoint = Checkpoint(None if work is None else Path(work), recipe, seconds=checkpoint_seconds)
    if checkpoint.resumed:
        message(f"Resuming: {checkpoint.resumed:,} of {len(tasks):,} words are done")
    open_tasks = [task for task in tasks if task.word not in checkpoint]
    with progress("Approximating", total=len(open_tasks), unit="words") as bar:
        for part, rows in _spread(model, settings, method, open_tasks, words_per_batch, engine):
            checkpoint.add([task.word for task in part], rows)
            bar.advance(len(part))
    checkpoint.save()
    matrix = checkpoint.rows([task.word for task in tasks]) if tasks else np.zeros((0, model.dim), np.float32)
    vectors = WordVectors([task.word for task in tasks], matrix, {**recipe, "shard": list(shard)})
    return Approximation(vectors, tuple(notes), checkpoint.resumed)


def approximate_pieces(
    model: LanguageModel, pieces: Sequence[Sequence[int]], settings: OtaSettings | None = None
) -> Tensor:
    """One vector for each sequence of tokens, whatever it spells. *Shape:* (sequences, dim)"""
    settings = settings or OtaSettings()
    tasks = [Task(str(row), tuple(tokens)) for row, tokens in enumerate(pieces)]
    result = torch.zeros(len(tasks), model.dim, device=model.device)
    with progress("Approximating", total=len(tasks), unit="words") as bar:
        for part, rows in _compute(model, settings, "ota", tasks, None):
            result[[int(task.word) for task in part]] = torch.from_numpy(rows).to(result)
            bar.advance(len(part))
    return result


@dataclass(frozen=True)
class OtaShard:
    """Some words and all a process needs to approximate them."""

    model: ModelReference
    settings: OtaSettings
    method: str
    tasks: tuple[Task, ...]
    words_per_batch: int | None


def approximate_shard(shard: OtaShard) -> np.ndarray:
    """Approximate the words of a shard in this process. *Shape:* (words, dim)"""
    done = _compute(
        shard.model.load(), shard.settings, shard.method, list(shard.tasks), shard.words_per_batch
    )
    rows = {task.word: row for part, matrix in done for task, row in zip(part, matrix, strict=True)}
    return np.stack([rows[task.word] for task in shard.tasks])


def _spread(
    model: LanguageModel,
    settings: OtaSettings,
    method: str,
    tasks: list[Task],
    words_per_batch: int | None,
    engine: Engine | None,
) -> Iterator[tuple[list[Task], np.ndarray]]:
    """:func:`_compute` here, or on an engine with words of equally many pieces together."""
    if engine is None:
        yield from _compute(model, settings, method, tasks, words_per_batch)
        return
    reference = ModelReference.of(model, engine)
    parts = [
        group[at : at + _WORDS_PER_SHARD]
        for group in _groups(tasks)
        for at in range(0, len(group), _WORDS_PER_SHARD)
    ]
    shards = [OtaShard(reference, settings, method, tuple(part), words_per_batch) for part in parts]
    for number, rows in engine.map(approximate_shard, shards):
        yield parts[number], rows


def _compute(
    model: LanguageModel, settings: OtaSettings, method: str, tasks: list[Task], words_per_batch: int | None
) -> Iterator[tuple[list[Task], np.ndarray]]:
    """Yield batches of words of equally many pieces with their vectors, long words first.

    Long words first: should memory not suffice, it shows at once.
    """
    approximator = None
    if method == "ota" and any(len(task.pieces) > 1 for task in tasks):
        approximator = Approximator(model, settings)
    for group in _groups(tasks):
        size = words_per_batch or batch_size(model, settings, len(group[0].pieces))
        at = 0
        while at < len(group):
            part = group[at : at + size]
            try:
                rows = _rows(model, approximator, method, part)
            except torch.OutOfMemoryError:
                if size == 1:
                    raise InputError(
                        f"a single word of {len(part[0].pieces)} pieces does not fit into memory"
                    ) from None
                torch.cuda.empty_cache()
                size = max(1, size // 2)
                continue
            yield part, rows
            at += len(part)


def _rows(
    model: LanguageModel, approximator: Approximator | None, method: str, part: list[Task]
) -> np.ndarray:
    pieces = [task.pieces for task in part]
    if approximator is None or len(pieces[0]) == 1:
        method = "avg" if method == "ota" else method  # of one piece, all baselines are its own embedding
        vectors = baseline(model, torch.tensor(pieces, device=model.device), method)
    else:
        vectors = approximator.solve(approximator.batch(pieces)).vectors
    rows: np.ndarray = vectors.cpu().numpy()
    return rows


def _groups(tasks: Sequence[Task]) -> list[list[Task]]:
    groups: dict[int, list[Task]] = {}
    for task in tasks:
        groups.setdefault(len(task.pieces), []).append(task)
    return [groups[size] for size in sorted(groups, reverse=True)]


def batch_size(model: LanguageModel, settings: OtaSettings, pieces: int) -> int:
    """Words that fit: the states kept for the backward pass are what takes memory."""
    if model.device.type != "cuda":
        return 64
    free, _ = torch.cuda.mem_get_info(model.device)
    # A GPU is busy with far less than all its memory, and others may be at work on it.
    usable = min(free * 0.6, _MOST_MEMORY)
    hidden = int(getattr(model.model.config, "hidden_size", model.dim))
    tokens = settings.contexts_per_step * (8 + pieces)
    bytes_per_word = tokens * model.layers * hidden * 4 * 40
    return int(min(4096, max(1, usable // bytes_per_word)))


def _recipe(model: LanguageModel, settings: OtaSettings, method: str, words: Sequence[str]) -> dict[str, Any]:
    listed = hashlib.sha256("\n".join(words).encode()).hexdigest()
    kept: dict[str, Any] = {"model": model.name, "fingerprint": model.fingerprint, "method": method}
    if method == "ota":
        kept["ota"] = settings.to_dict()
    return {**kept, "words": listed}
