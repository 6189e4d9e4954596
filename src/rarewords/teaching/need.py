"""How badly a model needs words: how far its answers about them are from what their sentences say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch

from rarewords.corpus.store import Store
from rarewords.lm import LanguageModel
from rarewords.mimic.learner import WordLearner
from rarewords.teaching.answers import ask_about
from rarewords.teaching.scan import MissingWord

_CONTEXTS = 8


def with_need(model: str, device: str, store: Store, words: Sequence[MissingWord]) -> list[MissingWord]:
    """The words with what the model answers about each now, and their need."""
    lm = LanguageModel.from_pretrained(model, device=device)
    learner = WordLearner.for_model(lm)
    tasks = []
    for word in words:
        contexts = store.contexts(word.word, _CONTEXTS)
        tasks.append((word.word, list(dict.fromkeys(context.sentence for context in contexts))))
    made = learner.infer_each(tasks)
    vectors = np.stack([np.zeros(lm.dim, np.float32) if one is None else one.vector for one in made])
    said = ask_about(lm, learner.known, [word.word for word in words])
    agreement = said.agreement(learner.known.directions(torch.from_numpy(vectors))[:, None]).tolist()
    return [
        replace(word, need=None if one is None else round(1 - max(0.0, agrees), 2), answers=answers[:3])
        for word, one, agrees, answers in zip(words, made, agreement, said.shown, strict=True)
    ]
