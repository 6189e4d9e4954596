"""A look at words, vectors for them, and a judgement of each, kept after every few words.

Not every word that a model splits needs to be learned. A search of a text looks at each word first: a vector
is made from a few sentences, and how much nearer it brings the model's answers, the *approach*, tells whether
the word would gain anything. The labelled words of ``benchmarks/judge.py`` do not gain on average with an
approach below .05, and gain most above .2.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any

import numpy as np
from torch import Tensor

from rarewords.corpus.store import Store
from rarewords.errors import HopelessError
from rarewords.files import from_json
from rarewords.lm import LanguageModel
from rarewords.mimic.definitions import sentences_of
from rarewords.mimic.evidence import Evidence
from rarewords.mimic.learner import WordLearner
from rarewords.progress import progress
from rarewords.stages import Stages, key_of
from rarewords.teaching.judge import Judgement, Made, Signs, judge
from rarewords.teaching.learners import AnyLearner, TransportedLearner
from rarewords.teaching.outcome import Learned
from rarewords.teaching.questions import Shown, ask_about, show_words
from rarewords.teaching.scan import ChosenWords, MissingWord
from rarewords.teaching.settings import TeachSettings
from rarewords.teaching.splits import Split
from rarewords.teaching.target import judge_on_target
from rarewords.vectors import WordVectors

READ_WELL = "the model reads it well in pieces"
NOTHING = "its contexts say nothing about it and it resembles no known word"
_CONTEXTS, _CONTEXTS_OF_A_LOOK = 8, 4
_LEAST, _CLEAR = 0.05, 0.2  # below the first a word is passed over, from the second on it is taken first
# A part is kept when it is done and moves the bar. On a GPU small parts leave it waiting; for a look, few
# sentences of one length make small batches.
WORDS_PER_PART, _WORDS_PER_PART_ON_GPU, _WORDS_PER_LOOK = 16, 512, 64


def with_need(model: str, device: str, store: Store, words: Sequence[MissingWord]) -> list[MissingWord]:
    """The words with what the model answers about each now, and their need."""
    lm, names = LanguageModel.from_pretrained(model, device=device), [word.word for word in words]
    learner = WordLearner.for_model(lm)
    said = ask_about(lm, learner.known, names, _vectors(learner, store, names, _CONTEXTS))
    found = zip(words, said.agreement.tolist(), said.shown, strict=True)
    return [
        replace(word, need=round(1 - max(0.0, agreement), 2), answers=answers[:3])
        for word, agreement, answers in found
    ]


def those_that_gain(
    learner: AnyLearner, store: Store, chosen: ChosenWords, settings: TeachSettings, stages: Stages
) -> ChosenWords:
    """The first words that would clearly gain; if these are too few, also those that would gain a little.

    What another learner or an encoder would gain is not known: then simply the first words.

    :param stages: keeps what was found after every few words.
    """
    words, top, slash = list(chosen.counts), settings.top, settings.slash
    if settings.keep_all or not isinstance(learner, WordLearner):
        return replace(chosen, counts={word: chosen.counts[word] for word in words[:top]})
    found: dict[str, float] = {}
    with progress("Looking at words", total=len(words), unit="words") as bar:
        size = _WORDS_PER_LOOK if learner.lm.device.type == "cpu" else _WORDS_PER_PART_ON_GPU
        for start in range(0, len(words), size):
            if sum(approach >= _CLEAR for approach in found.values()) >= top:
                break
            batch = words[start : start + size]
            key = key_of(learner.lm.fingerprint, learner.key, store.key, slash, batch)
            approach = stages.json("looked", key, partial(approaches, learner, store, batch, slash=slash))
            found |= zip(batch, approach, strict=True)
            bar.advance(len(batch))
    gaining = sorted((word for word in found if found[word] >= _LEAST), key=lambda word: found[word] < _CLEAR)
    if not gaining:
        well = f"the model reads all {len(words)} words that it splits well enough in pieces"
        raise HopelessError(f"{well}; to teach them anyway, give a list of words with --words")
    read_well = {word: READ_WELL for word in found if found[word] < _LEAST}
    counts = {word: chosen.counts[word] for word in gaining[:top]}
    return replace(chosen, counts=counts, passed_over=chosen.passed_over | read_well)


def approaches(learner: WordLearner, store: Store, words: Sequence[str], *, slash: bool) -> list[float]:
    """How much nearer the answers about each word come to a vector made from a few sentences, as a cosine."""
    approach, _ = _approach(learner, words, _vectors(learner, store, words, _CONTEXTS_OF_A_LOOK), slash=slash)
    return [round(by, 4) for by in approach.tolist()]


def _approach(
    learner: WordLearner, words: Sequence[str], vectors: np.ndarray, *, slash: bool
) -> tuple[Tensor, Tensor]:
    """The approach, and how sure the model is of its answers by the pieces. *Shapes:* (words,) each"""
    asked = learner.lm, learner.known, words, vectors
    old, new = ask_about(*asked), ask_about(*asked, taught=True, slash=slash)
    return new.agreement - old.agreement, old.sureness


def _vectors(learner: WordLearner, store: Store, words: Sequence[str], contexts: int) -> np.ndarray:
    """Vectors of words of a store from a few sentences of each. *Shape:* (words, dim)"""
    found = {word: [one.sentence for one in store.contexts(word, contexts)] for word in words}
    made = learner.infer_each([Evidence(word, list(dict.fromkeys(own))) for word, own in found.items()])
    return np.stack([one.vector for one in made if one])  # there is none only if there is no sentence


def learn(
    lm: LanguageModel,
    learner: AnyLearner,
    splits: Sequence[Split],
    settings: TeachSettings,
    stages: Stages,
    *,
    listed: bool = False,
) -> tuple[list[Learned], WordVectors]:
    """Make a vector for each word and judge it; a word may get none, because of :data:`NOTHING`.

    :param listed: a list of words was given.
    """
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
    return learned, WordVectors(rows, matrix)


def _context_sets(split: Split) -> list[tuple[str, ...]]:
    """The contexts of each vector that a word needs: the one to teach, then those of its folds."""
    return list(dict.fromkeys([split.contexts, *(fold.contexts for fold in split.folds)]))


def _make(lm: LanguageModel, learner: AnyLearner, part: Sequence[Split]) -> dict[str, np.ndarray]:
    """One row for each context set of each word; the share is NaN if there is no vector."""
    tasks = [
        Evidence(one.word, sentences, one.definitions) for one in part for sentences in _context_sets(one)
    ]
    found = learner.infer_each(tasks)
    nothing = np.zeros(lm.dim, np.float32)
    return {
        "vectors": np.stack([nothing if one is None else one.vector for one in found]),
        "shares": np.array([np.nan if one is None else one.context_share for one in found]),
        "contexts": np.array([0 if one is None else len(one.weights) for one in found]),
    }


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


def _sentences(split: Split) -> Sequence[str]:
    """The sentences of a word, or those that stand for its definitions."""
    return split.contexts or [text for one in split.definitions for text in sentences_of(split.word, one)]


def _judge(
    lm: LanguageModel, learner: AnyLearner, made: Sequence[Made], settings: TeachSettings, listed: bool
) -> list[dict[str, Any]]:
    shown = [Shown("", (), ())] * len(made)
    judged: list[Judgement | None] = [None] * len(made)
    if isinstance(learner, TransportedLearner):
        judged = judge_on_target(lm, learner.lm, made, slash=settings.slash, listed=listed)
    elif made:
        words, vectors = [one.split.word for one in made], np.stack([one.vector for one in made])
        sentences = [_sentences(one.split) for one in made]
        shown = show_words(lm, words, vectors, sentences, slash=settings.slash, question=settings.question)
        judged = judge(lm, made, slash=settings.slash)
        if settings.slash and isinstance(learner, WordLearner):  # which the rule was fitted for
            approach, sureness = _approach(learner, words, vectors, slash=True)
            for row, (one, judgement) in enumerate(zip(made, judged, strict=True)):
                if judgement is not None:
                    seen = judgement.gain / judgement.error, float(approach[row]), float(sureness[row])
                    judged[row] = replace(judgement, signs=Signs(*seen, one.context_share))
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
