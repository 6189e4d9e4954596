"""Embeddings for words and a check of each, kept after every few words."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from rarewords._internal.cache import Cache, key_of
from rarewords._internal.progress import progress
from rarewords._internal.schema import parse
from rarewords.embeddings import WordEmbeddings
from rarewords.learner.evidence import Evidence, Learner
from rarewords.lm import LanguageModel
from rarewords.teaching.check import Candidate, Check, MaskedCheck
from rarewords.teaching.holdout import HoldOut
from rarewords.teaching.mismatch import WORDS_PER_PART, WORDS_PER_PART_ON_GPU, Readings
from rarewords.teaching.report import WordReport
from rarewords.teaching.transfer_check import CausalCheck, EncoderCheck
from rarewords.tokens import Placement

NOTHING = "its sentences give no information, and no known word is spelled like it"


def check_for(
    lm: LanguageModel, reader_model: LanguageModel, placement: Placement, *, found: bool, question: str | None = None
) -> Check:
    """The check that suits the kind of model.

    :param found: a search found the words.
    """
    if lm.kind == "masked":
        return MaskedCheck(lm, placement, question)
    return CausalCheck(lm, placement, found) if lm.kind == "causal" else EncoderCheck(lm, reader_model, placement)


def learn_and_check(
    learner: Learner, check: Check, holdouts: Sequence[HoldOut], cache: Cache, readings: Readings = MappingProxyType({})
) -> tuple[list[WordReport], WordEmbeddings]:
    """Make an embedding for each word and check it; a word may get none, because of :data:`NOTHING`.

    :param readings: what was read of the words before.
    """
    reports: list[WordReport] = []
    rows: dict[str, np.ndarray] = {}
    costs = [one.passes for one in holdouts]
    with progress("Learning and checking", sum(costs), "sentences") as bar:
        size = WORDS_PER_PART if check.lm.device.type == "cpu" else WORDS_PER_PART_ON_GPU
        for start in range(0, len(holdouts), size):
            part = holdouts[start : start + size]
            key = key_of(check.lm.fingerprint, learner.key, [asdict(one) for one in part])
            arrays = cache.arrays("embeddings", key, partial(_learn, learner, check.lm.dim, part, readings))
            candidates = _candidates(part, arrays)
            checked = cache.json("checked", key_of(key, check.key), partial(_check, check, candidates))
            reports += parse(list[WordReport], checked, cache.path, "remove it")
            rows |= {one.word: one.embedding for one in candidates}
            bar.advance(sum(costs[start : start + size]))
    matrix = np.stack(list(rows.values())) if rows else np.zeros((0, check.lm.dim), np.float32)
    return reports, WordEmbeddings(rows, matrix)


def _learn(learner: Learner, dim: int, part: Sequence[HoldOut], readings: Readings) -> dict[str, np.ndarray]:
    """One row for each context set of each word; the share is NaN if there is no embedding."""
    given = [(one.word, sets, one.definitions, readings.get(one.word, {})) for one in part for sets in one.context_sets]
    learned = learner.learn_each([Evidence(*one) for one in given])
    nothing = np.zeros(dim, np.float32)
    return {
        "embeddings": np.stack([nothing if one is None else one.embedding for one in learned]),
        "shares": np.array([np.nan if one is None else one.context_share for one in learned]),
        "contexts": np.array([0 if one is None else len(one.weights) for one in learned]),
    }


def _candidates(part: Sequence[HoldOut], arrays: Mapping[str, np.ndarray]) -> list[Candidate]:
    """The words of a part that have all their embeddings."""
    candidates, stop = [], 0
    for holdout in part:
        start, stop = stop, stop + len(holdout.context_sets)
        embeddings, shares = arrays["embeddings"][start:stop], arrays["shares"][start:stop]
        if not np.isnan(shares).any():
            folds = embeddings[[holdout.context_sets.index(fold.contexts) for fold in holdout.folds]]
            contexts = int(arrays["contexts"][start])
            candidates.append(Candidate(holdout, embeddings[0], folds, float(shares[0]), contexts))
    return candidates


def _check(check: Check, candidates: Sequence[Candidate]) -> list[dict[str, Any]]:
    reports = []
    for one, answers, result in zip(candidates, check.show(candidates), check.run(candidates), strict=True):
        share = round(one.context_share, 6)
        report = WordReport(one.word, one.holdout.count, one.contexts, share, check=result, **vars(answers))
        reports.append(asdict(report))
    return reports
