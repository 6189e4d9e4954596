"""The most probable answers to many queries: batched, sharded, resumable, and always in the same order.

In float32 the last digits of a logit depend on the rest of the batch and on the machine, so two answers of
nearly equal probability may swap places. If a rank or a precision depends on such digits, the query is
computed again in float64. Ranks therefore do not depend on batch size, order, sharding or device.
"""

import copy
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
import torch

from rarewords._internal.cache import Cache, key_of
from rarewords._internal.engine import Engine, LocalEngine
from rarewords._internal.progress import progress
from rarewords.lm import LanguageModel
from rarewords.queries import Answers, Query
from rarewords.wnlampro.result import RANK_LIMIT

# Log-probabilities of the same query in float32 differ by up to 7e-6 between batch sizes; four times that.
CLOSE = 3e-5
QUERIES_PER_SHARD = 8192


@dataclass(frozen=True)
class Asked:
    """A query and the token ids of its targets."""

    query: Query
    targets: tuple[int, ...]


def predict(
    lm: LanguageModel,
    depth: int,
    asked: Sequence[Asked],
    *,
    cache: Cache | None = None,
    engine: Engine | None = None,
) -> np.ndarray:
    """The first ``depth`` answers to each query, the most probable first. *Shape:* (queries, depth)

    :param cache: keeps finished shards, so that an interrupted run resumes.
    :param engine: spreads the work over processes or machines, each of which loads the model by name.
    """
    shards = [asked[i : i + QUERIES_PER_SHARD] for i in range(0, len(asked), QUERIES_PER_SHARD)]
    answer = partial(_answer_shard, lm, depth, cache)
    found: dict[int, np.ndarray] = {}
    with progress("Filling blanks", total=len(asked), unit="queries") as bar:
        for number, ids in (engine or LocalEngine(1)).map(answer, shards):
            found[number] = ids
            bar.advance(len(ids))
    return np.concatenate([found[number] for number in range(len(shards))])


def _answer_shard(lm: LanguageModel, depth: int, cache: Cache | None, asked: Sequence[Asked]) -> np.ndarray:
    if cache is None:
        return _answers(lm, depth, asked)
    # What is asked, of which model and how deep. The targets belong to it: only their ranks are exact.
    queries = [one.query for one in asked]
    shown = [np.asarray(one.embedding, "<f4").tobytes() for one in queries if one.embedding is not None]
    texts = [(one.pattern, one.word, one.embedding is not None, one.placement) for one in queries]
    about = [texts, [one.targets for one in asked], hashlib.sha256(b"".join(shown)).hexdigest()]
    key = key_of(lm.fingerprint, sorted(lm.tokenizer.get_vocab().items()), str(lm.dtype), depth, about)
    return cache.arrays("answers", key, lambda: {"ids": _answers(lm, depth, asked)})["ids"]


def _answers(lm: LanguageModel, depth: int, asked: Sequence[Asked]) -> np.ndarray:
    queries = [one.query for one in asked]
    # One answer more, to see whether the last place is close to the next.
    answers = lm.fill(queries, top_k=depth + 1)
    ids = answers.ids[:, :depth].astype(np.int32)
    again = _undecided(asked, answers) if lm.dtype == torch.float32 else []
    if again:
        ids[again] = _double(lm).fill([queries[i] for i in again], top_k=depth).ids
    return ids


def _undecided(asked: Sequence[Asked], answers: Answers) -> list[int]:
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


@lru_cache(maxsize=1)  # evaluations of one model share it
def _double(lm: LanguageModel) -> LanguageModel:
    device = "cpu" if lm.device.type == "mps" else lm.device  # mps has no float64
    model = copy.deepcopy(lm.model).to(device=device, dtype=torch.float64)
    return LanguageModel(model, lm.tokenizer, name=lm.name)
