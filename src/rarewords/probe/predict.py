"""The most probable answers to many queries: batched, sharded, resumable, and always in the same order.

In float32 the last digits of a logit depend on the rest of the batch and on the machine, so two answers of
nearly equal probability may swap places. If a rank or a precision depends on such digits, the query is
computed again in float64. Ranks therefore do not depend on batch size, order, sharding or device.
"""

import copy
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from pathlib import Path

import numpy as np
import torch

from rarewords.engine import Engine
from rarewords.lm import Answers, LanguageModel, Query
from rarewords.probe.result import RANK_LIMIT
from rarewords.progress import progress
from rarewords.stages import Stages, key_of
from rarewords.worker import ModelReference

# Log-probabilities of the same query in float32 differ by up to 7e-6 between batch sizes; four times that.
CLOSE = 3e-5
QUERIES_PER_SHARD = 8192


@dataclass(frozen=True)
class Asked:
    """A query and the token ids of its targets."""

    query: Query
    targets: tuple[int, ...]


class Predictor:
    """The first ``depth`` answers of a model to each query."""

    def __init__(self, lm: LanguageModel, depth: int) -> None:
        self.lm, self.depth = lm, depth

    def __call__(self, asked: Sequence[Asked]) -> np.ndarray:
        """Answer ids, the most probable first. *Shape:* (queries, depth)"""
        queries = [one.query for one in asked]
        # One answer more, to see whether the last place is close to the next.
        answers = self.lm.fill(queries, top_k=self.depth + 1)
        ids = answers.ids[:, : self.depth].astype(np.int32)
        again = self._undecided(asked, answers) if self.lm.dtype == torch.float32 else []
        if again:
            ids[again] = self._double.fill([queries[i] for i in again], top_k=self.depth).ids
        return ids

    def _undecided(self, asked: Sequence[Asked], answers: Answers) -> list[int]:
        """The queries where last digits decide the rank of the first target or the hits in the first 3 or 10.

        Places beyond the rank limit do not affect any metric and stay as they are.
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
    stages: Stages | None = None,
    engine: Engine | None = None,
) -> np.ndarray:
    """The first answers to each query. *Shape:* (queries, depth)

    :param stages: keeps finished shards, so that an interrupted run resumes.
    :param engine: spreads the work over processes or machines, each of which loads the model by name.
    """
    shards = [asked[i : i + QUERIES_PER_SHARD] for i in range(0, len(asked), QUERIES_PER_SHARD)]
    folder = None if stages is None else stages.path
    computed: Iterator[tuple[int, np.ndarray]]
    if engine is None:
        computed = ((number, _answers(predictor, folder, shard)) for number, shard in enumerate(shards))
    else:
        model = ModelReference.of(predictor.lm, engine)
        computed = engine.map(partial(_answer_shard, model, predictor.depth, folder), shards)
    found: dict[int, np.ndarray] = {}
    with progress("Filling blanks", total=len(asked), unit="queries") as bar:
        for number, ids in computed:
            found[number] = ids
            bar.advance(len(ids))
    return np.concatenate([found[number] for number in range(len(shards))])


def _answers(predictor: Predictor, folder: Path | None, asked: Sequence[Asked]) -> np.ndarray:
    if folder is None:
        return predictor(asked)
    key = _key(predictor, asked)
    return Stages(folder).arrays("answers", key, lambda: {"ids": predictor(asked)})["ids"]


def _key(predictor: Predictor, asked: Sequence[Asked]) -> str:
    """What is asked, of which model and how deep. The targets belong to it: only their ranks are exact."""
    lm, vectors = predictor.lm, hashlib.sha256()
    for one in asked:
        if one.query.vector is not None:
            vectors.update(np.ascontiguousarray(one.query.vector, dtype="<f4").tobytes())
    vocabulary = sorted(lm.tokenizer.get_vocab().items())
    queries = [
        (one.query.pattern, one.query.word, one.query.vector is not None, one.query.slash, one.targets)
        for one in asked
    ]
    return key_of(lm.fingerprint, vocabulary, str(lm.dtype), predictor.depth, queries, vectors.hexdigest())


def _answer_shard(
    model: ModelReference, depth: int, folder: Path | None, asked: Sequence[Asked]
) -> np.ndarray:
    return _answers(_predictor(model, depth), folder, asked)


@lru_cache(maxsize=1)  # a process answers many shards with one model
def _predictor(model: ModelReference, depth: int) -> Predictor:
    return Predictor(model.load(), depth)
