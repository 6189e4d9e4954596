"""Other ways to an embedding, from the same text and for the same keywords: our learner, OTA, token distillation.

A sample of keywords of several subwords is asked with each of them; the learner also makes those of all keywords.
Seconds are per word, beside whatever else the machine does, without what is fitted or trained before.
"""

import re
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from experiments.mimicking.study import Study
from experiments.paper.experiment import tf32
from experiments.transfer.distillation import RATES, distill, last_layer
from rarewords import WordEmbeddings, WordLearner, one_token_approximation
from rarewords.learner.learner import MOST_WORDS
from rarewords.ota.approximate import batches

STEPS = 100  # each in another snippet of the word, from the first again after the last
SNIPPETS = 32  # of a word, at most
_WORDS_AT_ONCE = 256


def learn(study: Study) -> None:
    """Our learner, with its matrix fitted on the text."""
    clock = time.perf_counter()
    many = MOST_WORDS if study.size.words is None else study.size.words
    learner = WordLearner.fit(study.lm, study.corpus, words=many, leave_out=study.keywords)
    fitted = time.perf_counter()
    embeddings = learner.learn_words(study.keywords, study.corpus).embeddings
    seconds = (time.perf_counter() - fitted) / len(study.keywords)
    embeddings.save(study.work / "learner-0.safetensors")
    rows: list[dict[str, Any]] = [
        {"stage": "shown", "placement": placement, "dev": study.ranks("dev", embeddings, placement)}
        for placement in ("replace", "append")
    ]
    rows[-1]["seconds"] = seconds
    about = {"fit_seconds": fitted - clock, "fitted": learner.fitted}
    study.write("learner-0", {"name": "learner", "seed": 0, **about, "rows": rows})


def approximate(study: Study) -> None:
    """One-token approximation."""
    _ask(study, "ota", lambda words: one_token_approximation(study.lm, words).embeddings)


def distill_tokens(study: Study) -> None:
    """Token distillation: last-layer states in snippets of the text, on both sides of the word.

    The learning rate is the one with the highest mean reciprocal rank on keywords of dev.
    """
    dev, tried = study.sampled["dev"], dict[float, float]()
    for rate in RATES:
        ranks = np.array(study.ranks("dev", _distilled(study, dev, rate), words=dev))
        tried[rate] = float(np.where(ranks > 0, 1 / np.maximum(ranks, 1), 0).mean())
    best = max(RATES, key=tried.__getitem__)
    _ask(study, "token distillation", lambda words: _distilled(study, words, best), rate=best, dev=tried)


def _distilled(study: Study, words: Sequence[str], rate: float) -> WordEmbeddings:
    lm = study.lm
    sentences: dict[int, list[str]] = {row: [] for row in range(len(words))}
    for owners, found in study.corpus.context_texts(words, SNIPPETS):
        for owner, context in zip(owners.tolist(), found, strict=True):
            sentences[owner].append(context.sentence)
    subwords, matrix = lm.tokens.subwords_of(words), np.zeros((len(words), lm.dim), np.float32)
    for rows in batches(lm, subwords):
        for part in (rows[at : at + _WORDS_AT_ONCE] for at in range(0, len(rows), _WORDS_AT_ONCE)):
            texts = [" ".join(sentences[row]) for row in part]
            with tf32():
                made = distill(lm, [subwords[row] for row in part], texts, last_layer(lm, rate, STEPS))
            matrix[part] = made.cpu().numpy()
    return WordEmbeddings(words, matrix)


def _ask(study: Study, name: str, make: Callable[[Sequence[str]], WordEmbeddings], **about: object) -> None:
    """Measure the embeddings of the sample of test, alone in the place of the word."""
    words, clock = study.sampled["test"], time.perf_counter()
    embeddings = make(words)
    seconds = (time.perf_counter() - clock) / len(words)
    ranks = study.ranks("test", embeddings, words=words)
    file = re.sub(r"\W+", "-", f"sampled-{name}")
    study.write(file, {"name": name, "words": words, "seconds": seconds, **about, "replace": ranks})
