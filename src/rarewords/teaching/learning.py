"""Vectors for words and a judgement of each, kept after every few words so that a crash costs little."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from rarewords.errors import InputError
from rarewords.lm import LanguageModel, Query
from rarewords.mimic.attentive import AttentiveMimicking
from rarewords.mimic.inferred import Inferred
from rarewords.mimic.learner import WordLearner
from rarewords.mimic.learner_settings import is_learner
from rarewords.mimic.settings import bundled_mimic
from rarewords.probe.patterns import patterns_for
from rarewords.progress import progress
from rarewords.stages import Stages, key_of
from rarewords.teaching.judge import Made, judge
from rarewords.teaching.outcome import Learned
from rarewords.teaching.settings import TeachSettings
from rarewords.teaching.splits import Split
from rarewords.teaching.target import judge_on_target
from rarewords.transport import Transport
from rarewords.vectors import WordVectors

WORDS_PER_PART = 64
_ANSWERS = 5
_NOTHING = "its contexts say nothing about it and it resembles no known word"

Learner = WordLearner | AttentiveMimicking


@dataclass(frozen=True)
class TransportedLearner:
    """A learner of a reader whose vectors are brought into the space of the model that is taught."""

    learner: Learner
    reader: LanguageModel
    transport: Transport

    @property
    def key(self) -> str:
        """A digest of everything the vectors depend on besides the target."""
        return key_of("transported", self.reader.fingerprint, self.learner.key, self.transport.key)


AnyLearner = Learner | TransportedLearner


@dataclass(frozen=True)
class Lessons:
    """What was learned about words, their vectors, and the words that got none, with the reason."""

    learned: tuple[Learned, ...]
    vectors: WordVectors
    refused: dict[str, str]


def open_learner(lm: LanguageModel, learner: str | Path | None = None) -> Learner:
    """A learner for a model.

    :param learner: a folder of either kind, ``am`` for the attentive mimicking model that ships, or None for
        the best learner there is for the model.
    """
    if learner is None or is_learner(Path(learner)):
        return WordLearner.for_model(lm, learner)
    folder = bundled_mimic(lm.fingerprint) if str(learner) == "am" else Path(learner)
    return AttentiveMimicking.from_pretrained(folder, lm)


def learner_for(lm: LanguageModel, learner: str | Path | None, reader: str | Path) -> AnyLearner:
    """A learner for a model of any kind; unless it is a masked LM, the reader makes its vectors."""
    if lm.kind == "masked":
        return open_learner(lm, learner)
    reads = LanguageModel.from_pretrained(reader, device=str(lm.device))
    return TransportedLearner(open_learner(reads, learner), reads, Transport.fit(reads, lm))


def learn(
    lm: LanguageModel, learner: AnyLearner, splits: Sequence[Split], settings: TeachSettings, stages: Stages
) -> Lessons:
    """Make a vector for each word and judge it."""
    learned: list[Learned] = []
    rows: dict[str, np.ndarray] = {}
    with progress("Learning and judging", total=len(splits), unit="words") as bar:
        for start in range(0, len(splits), WORDS_PER_PART):
            part = splits[start : start + WORDS_PER_PART]
            key = key_of(lm.fingerprint, learner.key, [asdict(split) for split in part])
            made = _unpack(part, stages.arrays("vectors", key, partial(_make, lm, learner, part)))
            key = key_of(key, settings.neighbours, settings.slash)
            learned += map(
                Learned.from_json, stages.json("judged", key, partial(_judge, lm, learner, made, settings))
            )
            rows |= {one.split.word: one.vector for one in made}
            bar.advance(len(part))
    matrix = np.stack(list(rows.values())) if rows else np.zeros((0, lm.dim), np.float32)
    refused = {split.word: _NOTHING for split in splits if split.word not in rows}
    return Lessons(tuple(learned), WordVectors(rows, matrix), refused)


def _context_sets(split: Split) -> list[tuple[str, ...]]:
    """The contexts of each vector that a word needs: the one to teach, then those of its folds."""
    folds = [] if split.judged_as_taught else [fold.contexts for fold in split.folds]
    return [split.contexts, *folds]


def _make(lm: LanguageModel, learner: AnyLearner, part: Sequence[Split]) -> dict[str, np.ndarray]:
    """One row for each context set of each word; the share is NaN if there is no vector."""
    tasks = [(split.word, contexts) for split in part for contexts in _context_sets(split)]
    found = _infer_each(learner, tasks)
    nothing = np.zeros(lm.dim, np.float32)
    return {
        "vectors": np.stack([nothing if one is None else one.vector for one in found]),
        "shares": np.array([np.nan if one is None else one.context_share for one in found]),
        "contexts": np.array([0 if one is None else len(one.weights) for one in found]),
    }


def _infer_each(learner: AnyLearner, tasks: Sequence[tuple[str, Sequence[str]]]) -> list[Inferred | None]:
    if isinstance(learner, TransportedLearner):
        read, move = _infer_each(learner.learner, tasks), learner.transport
        return [one and replace(one, vector=move(one.vector[None])[0]) for one in read]
    if isinstance(learner, WordLearner):
        return learner.infer_each(tasks)
    found: list[Inferred | None] = []
    for word, contexts in tasks:
        try:
            found.append(learner.infer(word, contexts))
        except InputError:
            found.append(None)
    return found


def _unpack(part: Sequence[Split], arrays: Mapping[str, np.ndarray]) -> list[Made]:
    """The words of a part that have all their vectors."""
    made, stop = [], 0
    for split in part:
        start, stop = stop, stop + len(_context_sets(split))
        vectors, shares = arrays["vectors"][start:stop], arrays["shares"][start:stop]
        if not np.isnan(shares).any():
            folds = vectors if split.judged_as_taught else vectors[1:]
            made.append(Made(split, vectors[0], folds, float(shares[0]), int(arrays["contexts"][start])))
    return made


def _judge(
    lm: LanguageModel, learner: AnyLearner, made: Sequence[Made], settings: TeachSettings
) -> list[dict[str, Any]]:
    if isinstance(learner, TransportedLearner):
        judged = judge_on_target(lm, learner.reader, made, slash=settings.slash)
        before: list[tuple[str, ...]] = [()] * len(made)
        after = before
    else:
        judged = judge(lm, made, neighbours=settings.neighbours, slash=settings.slash)
        before, after = _answers(lm, made, settings.slash)
    return [
        asdict(
            Learned(
                word=one.split.word,
                count=one.split.count,
                contexts=one.contexts,
                context_share=round(one.context_share, 6),
                before=before[row],
                after=after[row],
                judgement=judgement,
            )
        )
        for row, (one, judgement) in enumerate(zip(made, judged, strict=True))
    ]


def _answers(lm: LanguageModel, made: Sequence[Made], slash: bool) -> list[list[tuple[str, ...]]]:
    """Answers to the plainest question about each word, with its pieces and with its vector."""
    asked = [(patterns_for("hypernym", one.split.word)[-1], one) for one in made]
    queries = [Query(pattern, one.split.word) for pattern, one in asked]
    queries += [Query(pattern, one.split.word, one.vector, slash) for pattern, one in asked]
    answers = lm.fill(queries, top_k=_ANSWERS)
    every = [tuple(answers.words(row)) for row in range(len(queries))]
    return [every[: len(made)], every[len(made) :]]
