"""Learning many words at once: in this process, or spread over processes and machines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from rarewords.corpus.store import Store
from rarewords.mimic.learner_settings import LearnerSettings
from rarewords.progress import progress
from rarewords.vectors import WordVectors
from rarewords.worker import ModelReference

if TYPE_CHECKING:
    from rarewords.corpus.engine import Engine
    from rarewords.mimic.learner import WordLearner

Part = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Shard:
    """Some words and all a process needs to learn them."""

    model: ModelReference
    settings: LearnerSettings
    transform: bytes | None
    store: str
    words: tuple[str, ...]
    limit: int | None
    cache: Path | None
    approximations: WordVectors | None = None


def inferred_parts(
    learner: WordLearner,
    chunks: Sequence[Sequence[str]],
    store: Store,
    limit: int | None,
    cache: Path | None,
    engine: Engine | None,
) -> list[Part]:
    """The vectors, shares and numbers of contexts of each chunk of words."""
    parts: dict[int, Part] = {}
    with progress("Learning", total=sum(map(len, chunks)), unit="words") as bar:
        if engine is None:
            for number, words in enumerate(chunks):
                parts[number] = learner.infer_some(words, store, limit, cache)
                bar.advance(len(words))
        else:
            for number, part in engine.map(
                learn_shard, _shards(learner, chunks, store, limit, cache, engine)
            ):
                parts[number] = part
                bar.advance(len(chunks[number]))
    return [parts[number] for number in range(len(chunks))]


def learn_shard(shard: Shard) -> Part:
    """Learn the words of a shard in this process."""
    learner = _learner(shard.model, shard.settings, shard.transform)
    learner.approximations = shard.approximations
    return learner.infer_some(shard.words, Store.open(shard.store), shard.limit, shard.cache)


def _shards(
    learner: WordLearner,
    chunks: Sequence[Sequence[str]],
    store: Store,
    limit: int | None,
    cache: Path | None,
    engine: Engine,
) -> list[Shard]:
    model, transform = ModelReference.of(learner.lm, engine), learner.transform
    ready = learner.approximations
    return [
        Shard(
            model,
            learner.settings,
            None if transform is None else transform.cpu().numpy().astype(np.float32).tobytes(),
            str(store.path.resolve()),
            tuple(words),
            limit,
            None if cache is None else cache.resolve(),
            None if ready is None else ready.subset(word for word in words if word in ready),
        )
        for words in chunks
    ]


@lru_cache(maxsize=1)  # a process learns many shards with one learner
def _learner(model: ModelReference, settings: LearnerSettings, transform: bytes | None) -> WordLearner:
    from rarewords.mimic.learner import WordLearner

    lm = model.load()
    matrix = None
    if transform is not None:
        matrix = torch.from_numpy(np.frombuffer(transform, np.float32).reshape(-1, lm.dim).copy())
    return WordLearner(lm, settings, matrix)
