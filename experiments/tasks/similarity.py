"""Similarity of rare words: Stanford RW and CRW-550, Spearman's correlation with the ratings of people."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from experiments.common import spearman
from experiments.tasks.profiles import profiles, states
from rarewords import Corpus, LanguageModel
from rarewords.learner.learner import WordLearner
from rarewords.learner.masked import contexts_of_words
from rarewords.teaching.learners import open_learner

_RESAMPLES = 1000
Pair = tuple[str, str, float]


def load(path: Path) -> list[Pair]:
    """Two words and a rating per line, separated by tabs."""
    lines = [line.split("\t") for line in path.read_text("utf-8").splitlines() if line.strip()]
    return [(first.lower(), second.lower(), float(rating)) for first, second, rating, *_ in lines]


def scores(lm: LanguageModel, corpus: Corpus, pairs: Sequence[Pair], contexts: int) -> dict[str, np.ndarray]:
    """The similarity of each pair, by each way. *Shape of each:* (pairs,)

    ``subwords``: the mean of their embeddings. ``input embeddings``: the learner's. ``context similarity``:
    what the model expects in the places of both. The last is the sum of the first and the third, in units of
    their spread. A pair with a word that a way has nothing for gets the mean of the others.
    """
    words = sorted({word for first, second, _ in pairs for word in (first, second)})
    place = {word: row for row, word in enumerate(words)}
    columns = [[place[first] for first, _, _ in pairs], [place[second] for _, second, _ in pairs]]
    ways = {way: cosines(rows, *columns) for way, rows in embeddings(lm, corpus, words, contexts).items()}
    sum_of = [ways[way] / ways[way].std() for way in ("subwords", "context similarity")]
    return {**ways, "subwords and context similarity": sum_of[0] + sum_of[1]}


def embeddings(lm: LanguageModel, corpus: Corpus, words: list[str], contexts: int) -> dict[str, torch.Tensor]:
    """An embedding for every word by each way, zero if there is none. *Shape:* (words, any)"""
    learner, _ = open_learner(lm, None, corpus)
    assert isinstance(learner, WordLearner)
    mean = learner.known.mean
    subwords = torch.stack([lm.embeddings[ids].float().mean(0) for ids in lm.tokens.subwords_of(words)])
    found = contexts_of_words(lm.tokens, corpus, words, contexts=contexts)
    split = [word for word in words if word not in lm.whole_words]
    made = learner.learn_words(split, corpus, contexts=contexts).embeddings
    rows = subwords.clone()
    for row, word in enumerate(words):
        if word not in lm.whole_words:
            rows[row] = torch.tensor(made[word], device=lm.device) if word in made else mean
    return {
        "subwords": subwords - mean,
        "input embeddings": rows - mean,
        "context similarity": profiles(states(lm, found), found.counts),
    }


def cosines(rows: torch.Tensor, first: list[int], second: list[int]) -> np.ndarray:
    """The cosine of each pair of rows; the mean of all for a pair with a row of zeros. *Shape:* (pairs,)"""
    unit = torch.nn.functional.normalize(rows.float(), dim=1).cpu().numpy()
    found: np.ndarray = (unit[first] * unit[second]).sum(1)
    known = unit[first].any(1) & unit[second].any(1)
    found[~known] = found[known].mean()
    return found


def compared(found: dict[str, np.ndarray], pairs: Sequence[Pair]) -> dict[str, dict[str, object]]:
    """Each way's correlation, and its difference from the subwords with an interval over pairs, as columns."""
    ratings = np.array([rating for _, _, rating in pairs])
    drawn = np.random.default_rng(0).integers(len(pairs), size=(_RESAMPLES, len(pairs)))

    def correlation(values: np.ndarray) -> np.ndarray:
        return np.array([spearman(values, ratings), *(spearman(values[rows], ratings[rows]) for rows in drawn)])

    before = correlation(found["subwords"])
    result: dict[str, dict[str, object]] = {}
    for way, values in found.items():
        whole, *resampled = correlation(values)
        within = np.quantile(resampled, [0.025, 0.975])
        interval = np.quantile(np.array(resampled) - before[1:], [0.025, 0.975])
        result[way] = {"spearman": whole, "within": within, "change": whole - before[0], "interval": interval}
    return result
