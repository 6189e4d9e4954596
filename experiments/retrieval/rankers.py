"""What one would do instead: BM25, its fusion with a dense ranking, and fine-tuning on the documents."""

import copy
import random
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from nltk.stem import PorterStemmer

_K1, _B = 1.2, 0.75
_FUSED = 60
_STEPS, _BATCH, _RATE, _SCALE, _TOKENS = 100, 16, 2e-5, 20.0, 128


def bm25(queries: Sequence[str], documents: Sequence[str]) -> np.ndarray:
    """The scores of Okapi BM25 over Porter's stems. *Shape:* (queries, documents)"""
    stem = PorterStemmer().stem
    stems: dict[str, str] = {}

    def terms(text: str) -> Counter[str]:
        words = re.findall(r"\w+", text.lower())
        return Counter(stems[word] if word in stems else stems.setdefault(word, stem(word)) for word in words)

    counts = [terms(text) for text in documents]
    lengths = np.array([sum(own.values()) for own in counts])
    penalty = _K1 * (1 - _B + _B * lengths / lengths.mean())
    places: dict[str, list[tuple[int, int]]] = {}
    for row, own in enumerate(counts):
        for term, count in own.items():
            places.setdefault(term, []).append((row, count))
    scores = np.zeros((len(queries), len(documents)))
    for row, query in enumerate(queries):
        for term in terms(query):
            if term in places:
                at, count = np.array(places[term]).T
                rarity = np.log(1 + (len(documents) - len(at) + 0.5) / (len(at) + 0.5))
                scores[row, at] += rarity * count * (_K1 + 1) / (count + penalty[at])
    return scores


def fuse(*rankings: np.ndarray) -> np.ndarray:
    """Reciprocal rank fusion; a document without a score gets nothing from its ranking. *Shapes:* as given

    >>> fuse(np.array([[3.0, 1.0, 0.0]]), np.array([[0.1, 0.9, 0.5]])).argmax()
    1
    """
    total = np.zeros(rankings[0].shape)
    for scores in rankings:
        ranks = np.argsort(np.argsort(-scores, axis=1, kind="stable"), axis=1) + 1
        total += np.where(scores != 0, 1 / (_FUSED + ranks), 0)
    return total


def fine_tuned(encoder: Any, documents: Sequence[str], steps: int = _STEPS) -> Any:
    """A copy trained to tell which document a sentence was taken from (the inverse cloze task).

    TSDAE needs a decoder, GPL a generator of queries; this needs neither.
    """
    tuned, rng = copy.deepcopy(encoder), random.Random(0)
    tuned.max_seq_length = _TOKENS
    split = [re.split(r"(?<=[.!?]) +(?=[A-Z])", text) for text in documents]
    usable = [own for own in split if len(own) > 1]
    optimizer = torch.optim.AdamW(tuned.parameters(), lr=_RATE)
    tuned.train()
    for _ in range(steps):
        drawn = [(own, rng.randrange(len(own))) for own in rng.sample(usable, min(_BATCH, len(usable)))]
        sentences = [own[at] for own, at in drawn]
        others = [" ".join(own[:at] + own[at + 1 :]) for own, at in drawn]
        first, second = (
            torch.nn.functional.normalize(tuned(tuned.tokenize(texts))["sentence_embedding"], dim=1)
            for texts in (sentences, others)
        )
        loss = torch.nn.functional.cross_entropy(_SCALE * first @ second.T, torch.arange(len(drawn)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    tuned.eval()
    tuned.max_seq_length = encoder.max_seq_length
    return tuned
