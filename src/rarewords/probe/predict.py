"""The first answers to many queries: batched, sharded, cached, and always in the same order.

In float32 the last digits of a logit depend on what else is in the batch and on the machine, and two
answers that are nearly equally probable may change places. Where a rank or a precision hangs on such digits
the query is computed again in float64, so that neither depends on batch size, order, sharding or device.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from rarewords.lm import Answers, LanguageModel, Query
from rarewords.probe.cache import PredictionCache, query_keys
from rarewords.probe.result import RANK_LIMIT
from rarewords.progress import Bar, progress

if TYPE_CHECKING:
    from rarewords.corpus.engine import Engine

# Log-probabilities of the same query in float32 differ by up to 7e-6 between batch sizes; four times that.
CLOSE = 3e-5
QUERIES_PER_SHARD = 8192


@dataclass(frozen=True)
class Asked:
    """A query and the token ids of the answers that count."""

    query: Query
    targets: tuple[int, ...]


class Predictor:
    """The first ``depth`` answers of a model to each query.

    :param tokens_per_batch: how much is computed at once; the device decides when it is not given.
    """

    def __init__(self, lm: LanguageModel, depth: int = 100, tokens_per_batch: int | None = None) -> None:
        self.lm, self.depth, self.tokens_per_batch = lm, depth, tokens_per_batch

    def __call__(self, asked: Sequence[Asked], bar: Bar | None = None) -> np.ndarray:
        """Answer ids, the most probable first. *Shape:* (queries, depth)"""
        # One more than asked for, to see whether the last place is close to the next.
        answers = self.lm.fill(
            [one.query for one in asked],
            top_k=self.depth + 1,
            tokens_per_batch=self.tokens_per_batch,
            bar=bar,
        )
        ids = answers.ids[:, : self.depth].astype(np.int32)
        again = self._undecided(asked, answers) if self.lm.dtype == torch.float32 else []
        if again:
            ids[again] = self._double.fill(
                [asked[i].query for i in again],
                top_k=self.depth,
                tokens_per_batch=self.tokens_per_batch,
                bar=_Silent(),
            ).ids
        return ids

    def _undecided(self, asked: Sequence[Asked], answers: Answers) -> list[int]:
        """The queries where last digits decide the place of the first target or the hits in front.

        Places beyond the rank limit count for no figure and are left as they are.
        """
        close = -np.diff(answers.log_probs[:, : RANK_LIMIT + 1], axis=1) < CLOSE
        undecided = []
        for i in np.flatnonzero(close.any(axis=1)).tolist():
            wanted = np.isin(answers.ids[i, : RANK_LIMIT + 1], asked[i].targets)
            first = int(wanted.argmax())
            # Between places j and j + 1: around the first target, and at the ends of the first 3 and 10.
            borders = np.array([j for j in (first - 1, first, 2, 9) if 0 <= j < close.shape[1]])
            if (close[i, borders] & (wanted[borders] != wanted[borders + 1])).any():
                undecided.append(i)
        return undecided

    @cached_property
    def _double(self) -> LanguageModel:
        device = "cpu" if self.lm.device.type == "mps" else self.lm.device  # mps has no float64
        model = copy.deepcopy(self.lm.model).to(device=device, dtype=torch.float64)
        return LanguageModel(model, self.lm.tokenizer, name=self.lm.name)


def predict(
    predictor: Predictor,
    asked: Sequence[Asked],
    *,
    cache: PredictionCache | None = None,
    engine: Engine | None = None,
) -> np.ndarray:
    """The first answers to each query, those in the cache taken from there. *Shape:* (queries, depth)

    :param engine: spreads the rest over processes or machines, each of which loads the model by its name.
    """
    lm, depth = predictor.lm, predictor.depth
    result = np.zeros((len(asked), depth), dtype=np.int32)
    keys = query_keys(lm, [(one.query, one.targets) for one in asked], depth) if cache else []
    known = cache.get(keys, depth) if cache else {}
    for place, key in enumerate(keys):
        if key in known:
            result[place] = known[key]
    missing = [i for i in range(len(asked)) if not (known and keys[i] in known)]
    parts = [missing[i : i + QUERIES_PER_SHARD] for i in range(0, len(missing), QUERIES_PER_SHARD)]
    with progress("Filling blanks", total=len(asked), unit="queries") as bar:
        bar.advance(len(asked) - len(missing))
        for number, ids in _computed(predictor, [[asked[i] for i in part] for part in parts], engine, bar):
            result[parts[number]] = ids
            if cache:
                cache.put((keys[i], row) for i, row in zip(parts[number], ids, strict=True))
    return result


def _computed(
    predictor: Predictor, parts: list[list[Asked]], engine: Engine | None, bar: Bar
) -> Iterator[tuple[int, np.ndarray]]:
    if engine is None:
        for number, part in enumerate(parts):
            yield number, predictor(part, bar)
        return
    lm = predictor.lm
    threads = max(1, torch.get_num_threads() // engine.workers) if lm.device.type == "cpu" else None
    shards = [
        Shard(
            lm.name,
            str(lm.device),
            str(lm.dtype).removeprefix("torch."),
            predictor.depth,
            predictor.tokens_per_batch,
            threads,
            tuple(part),
        )
        for part in parts
    ]
    for number, ids in engine.map(predict_shard, shards):
        bar.advance(len(parts[number]))
        yield number, ids


@dataclass(frozen=True)
class Shard:
    """A part of the queries and all a process needs to answer them."""

    model: str
    device: str
    dtype: str
    depth: int
    tokens_per_batch: int | None
    threads: int | None
    asked: tuple[Asked, ...]


def predict_shard(shard: Shard) -> np.ndarray:
    """Answer the queries of a shard in this process. *Shape:* (queries, depth)"""
    predictor = _loaded(shard.model, shard.device, shard.dtype, shard.depth, shard.tokens_per_batch)
    with _threads(shard.threads):
        return predictor(shard.asked, _Silent())


@lru_cache(maxsize=1)  # a process answers many shards of one model
def _loaded(model: str, device: str, dtype: str, depth: int, tokens_per_batch: int | None) -> Predictor:
    return Predictor(
        LanguageModel.from_pretrained(model, device=device, dtype=dtype), depth, tokens_per_batch
    )


class _threads:  # noqa: N801 - used as a with block
    def __init__(self, number: int | None) -> None:
        self._number, self._before = number, torch.get_num_threads()

    def __enter__(self) -> None:
        if self._number:
            torch.set_num_threads(self._number)

    def __exit__(self, *_: Any) -> None:
        torch.set_num_threads(self._before)


class _Silent:
    def advance(self, amount: float = 1.0) -> None: ...

    def note(self, text: str) -> None: ...

    def total(self, total: float) -> None: ...
