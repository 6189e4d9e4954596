"""Asking a model every pattern of every entry, and where the targets came among its answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rarewords.errors import InputError
from rarewords.lm import LanguageModel, Query
from rarewords.probe.answers import write_answers
from rarewords.probe.cache import PredictionCache
from rarewords.probe.dataset import BANDS, RELATIONS, Dataset, Entry, FrequencyBounds, relation_name
from rarewords.probe.patterns import patterns_for
from rarewords.probe.predict import Asked, Predictor, predict
from rarewords.probe.result import RANK_LIMIT, ProbeResult
from rarewords.vectors import WordVectors

if TYPE_CHECKING:
    from rarewords.corpus.engine import Engine

METHODS = ("pieces", "first", "last", "avg", "vectors")


@dataclass(frozen=True)
class EvalSettings:
    """Which entries are asked, and what stands for the keyword.

    :param method: ``pieces`` leaves the keyword to the tokenizer. ``first``, ``last`` and ``avg`` put one
        vector in place of a keyword of several pieces, made of their embeddings; ``vectors`` puts a given
        vector in place of each keyword that has one.
    :param below: only keywords that occur less often than this get a vector; the others keep their pieces.
    :param slash: show the pieces and the vector, ``kumquat / <vector>``, instead of the vector alone.
    :param depth: how many answers are looked at for the rank; the figures use the first 100 of them.
    """

    method: str = "pieces"
    subset: str = "all"
    relations: tuple[str, ...] = RELATIONS
    bands: tuple[str, ...] = BANDS
    limit: int | None = None
    below: int | None = None
    slash: bool = False
    depth: int = RANK_LIMIT
    bounds: FrequencyBounds = field(default_factory=FrequencyBounds)

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise InputError(f"unknown method {self.method!r}; use {', '.join(METHODS)}")
        if self.depth < RANK_LIMIT:
            raise InputError(f"the depth must be at least {RANK_LIMIT}, not {self.depth}")
        if self.below is not None and self.below < 1:
            raise InputError(f"'below' is a count from 1 on, not {self.below}")
        if self.method == "pieces" and (self.below is not None or self.slash):
            raise InputError("below and slash say how vectors are used; the method pieces uses none")
        object.__setattr__(self, "relations", tuple(relation_name(one) for one in self.relations))


def evaluate(
    lm: LanguageModel,
    dataset: Dataset,
    settings: EvalSettings | None = None,
    *,
    vectors: WordVectors | None = None,
    label: str | None = None,
    cache: PredictionCache | None = None,
    engine: Engine | None = None,
    tokens_per_batch: int | None = None,
    answers: str | Path | None = None,
) -> ProbeResult:
    """Probe a model.

    :param vectors: for the method ``vectors``.
    :param cache: where predictions are kept and looked up; nothing is kept when there is none.
    :param engine: spreads the work over processes or machines.
    :param answers: a ``.jsonl.gz`` file that gets every answer to every query.
    """
    settings = settings or EvalSettings()
    entries = dataset.select(
        subset=settings.subset,
        relations=settings.relations,
        bands=settings.bands,
        bounds=settings.bounds,
        limit=settings.limit,
    )
    known = _check_targets(lm, dataset.name, entries)
    replacing = _replacements(lm, entries, settings, vectors)
    queries = list(_queries(entries, replacing, settings.slash))
    targets = {entry.id: target_ids(entry, lm.whole_words) for entry in entries}
    if settings.depth >= len(lm.embeddings):
        raise InputError(f"the depth {settings.depth} is not below the vocabulary's {len(lm.embeddings)}")
    predictor = Predictor(lm, settings.depth, tokens_per_batch)
    asked = [Asked(query, targets[entry.id]) for entry, query in queries]
    ids = predict(predictor, asked, cache=cache, engine=engine)
    scores = score(entries, ids, lm.whole_words)
    if answers is not None:
        write_answers(answers, queries, ids, lm.tokens)
    return ProbeResult(
        settings={
            "label": label or f"{Path(lm.name).name} {settings.method}",
            "model": Path(lm.name).name,
            "fingerprint": lm.fingerprint,
            "dtype": str(lm.dtype).removeprefix("torch."),
            "dataset": dataset.digest,
            "method": settings.method,
            "set": settings.subset,
            "relations": list(settings.relations),
            "frequencies": list(settings.bands),
            "limit": settings.limit,
            "below": settings.below,
            "slash": settings.slash,
            "depth": settings.depth,
            "queries": len(queries),
            "keywords_with_vectors": len(replacing),
            "targets_known": round(known, 4),
            "vectors": _plain(vectors.settings) if vectors is not None else None,
        },
        id=[entry.id for entry in entries],
        word=[entry.word.text for entry in entries],
        relation=[entry.relation for entry in entries],
        rank=scores[0],
        hits3=scores[1],
        hits10=scores[2],
        count=np.array([entry.count for entry in entries], dtype=np.int64),
        bounds=settings.bounds,
    )


def score(
    entries: Sequence[Entry], ids: np.ndarray, whole_words: dict[str, int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rank, hits among the first 3 and hits among the first 10 of each entry, best over its patterns.

    :param ids: answers to the entries' queries, in their order. *Shape:* (queries, depth)
    """
    result = np.zeros((3, len(entries)), dtype=np.int64)
    start = 0
    for number, entry in enumerate(entries):
        stop = start + len(patterns_for(entry.relation, entry.word.text))
        found = np.isin(ids[start:stop], target_ids(entry, whole_words))
        places = np.flatnonzero(found.any(axis=0))
        result[0, number] = places[0] + 1 if len(places) else 0
        result[1, number] = found[:, :3].sum(axis=1).max()
        result[2, number] = found[:, :10].sum(axis=1).max()
        start = stop
    if start != len(ids):
        raise ValueError(f"{len(ids)} rows of answers for {start} queries")
    return result[0], result[1], result[2]


def target_ids(entry: Entry, whole_words: dict[str, int]) -> tuple[int, ...]:
    """The targets a model can answer with, as its token ids."""
    return tuple(whole_words[one.text] for one in entry.targets if one.text in whole_words)


def _queries(
    entries: Sequence[Entry], replacing: dict[str, np.ndarray], slash: bool
) -> Iterator[tuple[Entry, Query]]:
    for entry in entries:
        word = entry.word.text
        vector = replacing.get(word)
        for pattern in patterns_for(entry.relation, word):
            yield entry, Query(pattern, word, vector, slash and vector is not None)


def _replacements(
    lm: LanguageModel, entries: Sequence[Entry], settings: EvalSettings, vectors: WordVectors | None
) -> dict[str, np.ndarray]:
    """The keywords that are shown as a vector. *Shape of each:* (dim,)"""
    if (settings.method == "vectors") != (vectors is not None):
        raise InputError("the method 'vectors' needs a file of vectors, and no other method takes one")
    limit = settings.below
    words = sorted({entry.word.text for entry in entries if limit is None or entry.count < limit})
    if settings.method == "pieces" or not words:
        return {}
    if vectors is not None:
        if vectors.dim != lm.dim:
            raise InputError(
                f"the vectors have size {vectors.dim}, but {lm.name} takes vectors of size {lm.dim}; "
                "they were made for another model"
            )
        found = {word: vectors[word] for word in words if word in vectors}
        if not found:
            raise InputError("none of the keywords asked for has a vector; were they made for these words?")
        return found
    table = lm.embeddings.float().cpu().numpy()
    combine = {
        "first": lambda rows: rows[0],
        "last": lambda rows: rows[-1],
        "avg": lambda rows: rows.mean(axis=0),
    }[settings.method]
    pieces = zip(words, lm.tokens.pieces_of(words), strict=True)
    return {word: combine(table[ids]) for word, ids in pieces if len(ids) > 1}


def _check_targets(lm: LanguageModel, name: str, entries: Sequence[Entry]) -> float:
    """The share of target words the model can answer with; a model that lacks most is refused."""
    targets = {target.text for entry in entries for target in entry.targets}
    known = sum(target in lm.whole_words for target in targets) / len(targets)
    if known < 0.5:
        raise InputError(
            f"{lm.name} has only {known:.0%} of the target words of {name} in its vocabulary, so most "
            "could never be answered; build a data set for it with: rarewords wnlampro build --model"
        )
    return known


def _plain(settings: Any) -> Any:
    # What made the vectors goes into the result's file, so it must be something JSON can hold.
    return {key: value for key, value in settings.items() if isinstance(value, str | int | float | bool)}
