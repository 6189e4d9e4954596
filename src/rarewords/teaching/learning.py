"""Vectors for words and a judgement of each, kept after every few words so that a crash costs little."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from rarewords.corpus.characters import fold
from rarewords.errors import InputError
from rarewords.files import from_json
from rarewords.lm import LanguageModel
from rarewords.mimic.evidence import Inferred
from rarewords.mimic.learner import WordLearner
from rarewords.mimic.masked import find_word
from rarewords.progress import progress
from rarewords.stages import Stages, key_of
from rarewords.teaching.judge import Judgement, Made, Signs, judge
from rarewords.teaching.learners import CONTEXTS_FOR_ANOTHER, AnyLearner, TransportedLearner
from rarewords.teaching.outcome import Learned
from rarewords.teaching.questions import Shown, ask_about, show_words
from rarewords.teaching.settings import TeachSettings
from rarewords.teaching.splits import Split
from rarewords.teaching.target import judge_on_target
from rarewords.vectors import WordVectors

# A part is kept when it is done and moves the bar; on a GPU small parts leave it waiting.
WORDS_PER_PART, _WORDS_PER_PART_ON_GPU = 16, 512
_NOTHING = "its contexts say nothing about it and it resembles no known word"


@dataclass(frozen=True)
class Lessons:
    """What was learned about words, their vectors, and the words that got none, with the reason."""

    learned: tuple[Learned, ...]
    vectors: WordVectors
    refused: dict[str, str]


def learn(
    lm: LanguageModel,
    learner: AnyLearner,
    splits: Sequence[Split],
    settings: TeachSettings,
    stages: Stages,
    *,
    listed: bool = False,
) -> Lessons:
    """Make a vector for each word and judge it; ``listed``: a list of words was given."""
    learned: list[Learned] = []
    rows: dict[str, np.ndarray] = {}
    readings = 2 if isinstance(learner, WordLearner) and learner.settings.reading == "both" else 1
    costs = [(readings - 1) * len(one.contexts) + one.passes for one in splits]
    with progress("Learning and judging", len(splits), "words", passes=sum(costs)) as bar:
        size = WORDS_PER_PART if lm.device.type == "cpu" else _WORDS_PER_PART_ON_GPU
        for start in range(0, len(splits), size):
            part = splits[start : start + size]
            key = key_of(lm.fingerprint, learner.key, [asdict(split) for split in part])
            made = _unpack(part, stages.arrays("vectors", key, partial(_make, lm, learner, part)))
            key = key_of(key, settings.slash, settings.question, listed)
            judged = stages.json("judged", key, partial(_judge, lm, learner, made, settings, listed))
            learned += [from_json(Learned, one) for one in judged]
            rows |= {one.split.word: one.vector for one in made}
            bar.advance(len(part), passes=sum(costs[start : start + size]))
    matrix = np.stack(list(rows.values())) if rows else np.zeros((0, lm.dim), np.float32)
    refused = {split.word: _NOTHING for split in splits if split.word not in rows}
    return Lessons(tuple(learned), WordVectors(rows, matrix), refused)


def _context_sets(split: Split) -> list[tuple[str, ...]]:
    """The contexts of each vector that a word needs: the one to teach, then those of its folds."""
    return list(dict.fromkeys([split.contexts, *(fold.contexts for fold in split.folds)]))


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
        few = [
            (word, [_spelled(word, one, learner.reader) for one in contexts[:CONTEXTS_FOR_ANOTHER]])
            for word, contexts in tasks
        ]
        read, move = _infer_each(learner.learner, few), learner.transport
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


def _spelled(word: str, sentence: str, reader: LanguageModel) -> str:
    """The sentence, in small letters if only so a cased reader finds the word of an uncased model in it."""
    found = reader.lower_case or find_word(word, sentence, lower_case=False) is not None
    return sentence if found else fold(sentence)


def _unpack(part: Sequence[Split], arrays: Mapping[str, np.ndarray]) -> list[Made]:
    """The words of a part that have all their vectors."""
    made, stop = [], 0
    for split in part:
        sets = _context_sets(split)
        start, stop = stop, stop + len(sets)
        vectors, shares = arrays["vectors"][start:stop], arrays["shares"][start:stop]
        if not np.isnan(shares).any():
            folds = vectors[[sets.index(fold.contexts) for fold in split.folds]]
            made.append(Made(split, vectors[0], folds, float(shares[0]), int(arrays["contexts"][start])))
    return made


def _judge(
    lm: LanguageModel, learner: AnyLearner, made: Sequence[Made], settings: TeachSettings, listed: bool
) -> list[dict[str, Any]]:
    shown = [Shown("", (), ())] * len(made)
    judged: list[Judgement | None] = [None] * len(made)
    if isinstance(learner, TransportedLearner):
        judged = judge_on_target(lm, learner.reader, made, slash=settings.slash, listed=listed)
    elif made:
        words, vectors = [one.split.word for one in made], np.stack([one.vector for one in made])
        sentences = [one.split.contexts for one in made]
        shown = show_words(lm, words, vectors, sentences, slash=settings.slash, question=settings.question)
        judged = judge(lm, made, slash=settings.slash)
        if settings.slash and isinstance(learner, WordLearner):  # which the rule was fitted for
            asked = lm, learner.known, words, vectors
            old, new = ask_about(*asked), ask_about(*asked, taught=True, slash=True)
            approach = (new.agreement - old.agreement).tolist()
            for row, (one, judgement) in enumerate(zip(made, judged, strict=True)):
                if judgement is not None:
                    errors = judgement.gain / judgement.error
                    signs = Signs(errors, approach[row], float(old.sureness[row]), one.context_share)
                    judged[row] = replace(judgement, signs=signs)
    learned = [
        Learned(
            word=one.split.word,
            count=one.split.count,
            contexts=one.contexts,
            context_share=round(one.context_share, 6),
            judgement=judgement,
            **asdict(answers),
        )
        for one, answers, judgement in zip(made, shown, judged, strict=True)
    ]
    return [asdict(one) for one in learned]
