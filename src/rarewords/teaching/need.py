"""How badly a model needs words: how far its answers about them are from what their sentences say.

A search of a text looks at each word before it is learned. A vector is made from a few sentences; how much
nearer it brings the answers, the *approach*, tells whether the word would gain anything. The labelled words
of ``benchmarks/judge.py`` do not gain on average with an approach below .05, and gain most above .2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from rarewords.corpus.store import Store
from rarewords.errors import HopelessError
from rarewords.lm import LanguageModel
from rarewords.mimic.learner import WordLearner
from rarewords.progress import progress
from rarewords.stages import Stages, key_of
from rarewords.teaching.learners import AnyLearner
from rarewords.teaching.questions import ask_about
from rarewords.teaching.scan import ChosenWords, MissingWord
from rarewords.teaching.settings import TeachSettings

LOOKED_AT = 3  # words looked at for each that is wanted
READ_WELL = "the model reads it well in pieces"
_CONTEXTS, _CONTEXTS_OF_A_LOOK = 8, 4
_AT_ONCE, _AT_ONCE_ON_GPU = 64, 512  # few sentences of one length make small batches
_LEAST, _CLEAR = 0.05, 0.2  # below the first a word is passed over, from the second on it is taken first


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
    clear: list[str] = []
    slight: list[str] = []
    passed_over = dict(chosen.passed_over)
    with progress("Looking at words", total=len(words), unit="words") as bar:
        size = _AT_ONCE if learner.lm.device.type == "cpu" else _AT_ONCE_ON_GPU
        for start in range(0, len(words), size):
            if len(clear) >= top:
                break
            batch = words[start : start + size]
            key = key_of(learner.lm.fingerprint, learner.key, store.key, slash, batch)
            found = stages.json("looked", key, partial(approaches, learner, store, batch, slash=slash))
            for word, approach in zip(batch, found, strict=True):
                if approach < _LEAST:
                    passed_over[word] = READ_WELL
                else:
                    (clear if approach >= _CLEAR else slight).append(word)
            bar.advance(len(batch))
    if not clear + slight:
        raise HopelessError(
            f"the model reads all {len(words)} words that it splits well enough in pieces; to teach them "
            "anyway, give a list of words with --words"
        )
    counts = {word: chosen.counts[word] for word in (clear + slight)[:top]}
    return replace(chosen, counts=counts, passed_over=passed_over)


def approaches(learner: WordLearner, store: Store, words: Sequence[str], *, slash: bool) -> list[float]:
    """How much nearer the answers about each word come to a vector made from a few sentences, as a cosine."""
    asked = learner.lm, learner.known, words, _vectors(learner, store, words, _CONTEXTS_OF_A_LOOK)
    approach = ask_about(*asked, taught=True, slash=slash).agreement - ask_about(*asked).agreement
    return [round(by, 4) for by in approach.tolist()]


def _vectors(learner: WordLearner, store: Store, words: Sequence[str], contexts: int) -> np.ndarray:
    """Vectors of words of a store from a few sentences of each. *Shape:* (words, dim)"""
    found = {word: [one.sentence for one in store.contexts(word, contexts)] for word in words}
    made = learner.infer_each([(word, list(dict.fromkeys(own))) for word, own in found.items()])
    return np.stack([one.vector for one in made if one])  # there is none only if there is no sentence
