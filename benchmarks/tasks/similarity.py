"""Similarity of rare words: Stanford RW and CRW-550.

    python benchmarks/tasks/similarity.py PAIRS --task NAME --corpus STORE [--model M --name NAME]

PAIRS holds two words and a rating per line, separated by tabs. The figure is Spearman's correlation between
ratings and similarities over all pairs, with an interval over pairs; a pair with a word that the store does
not have counts with the mean similarity. Compared are the mean embedding of the pieces, the learner's input
vectors, and rarewords.mimic.likeness. Nothing is chosen on these sets.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch
from measure import note
from scipy.stats import spearmanr

from rarewords import LanguageModel, Store, WordLearner
from rarewords.mimic.likeness import profiles, states
from rarewords.mimic.masked import contexts_of_words

_RESAMPLES = 1000


def vectors_of(lm: LanguageModel, store: Store, words: list[str], contexts: int) -> dict[str, torch.Tensor]:
    """A vector for every word by each way, zero if there is none. *Shape:* (words, any)"""
    learner = WordLearner.for_model(lm)
    mean = learner.known.mean
    pieces = torch.stack([lm.embeddings[ids].float().mean(0) for ids in lm.tokens.pieces_of(words)]) - mean
    found = contexts_of_words(lm.tokens, store, words, contexts=contexts)
    made = learner.infer_words(
        [word for word in words if word not in lm.whole_words], store, contexts=contexts
    )
    rows = pieces.clone()
    for row, word in enumerate(words):
        if word not in lm.whole_words:
            rows[row] = torch.tensor(made.vectors[word]) - mean if word in made.vectors else 0
    return {
        "pieces": pieces,
        "input vectors": rows,
        "likeness": profiles(states(lm, found), found.counts),
    }


def correlation(scores: np.ndarray, ratings: np.ndarray) -> tuple[float, float, float]:
    """Spearman's correlation and its 95 % bootstrap interval over pairs."""
    drawn = np.random.default_rng(0).integers(len(scores), size=(_RESAMPLES, len(scores)))
    low, high = np.quantile([spearmanr(scores[one], ratings[one]).statistic for one in drawn], [0.025, 0.975])
    return float(spearmanr(scores, ratings).statistic), float(low), float(high)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pairs", type=Path)
    parser.add_argument("--task", required=True)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--model", default="default")
    parser.add_argument("--name", default="gte-mlm")
    parser.add_argument("--contexts", type=int, default=8, help="of each word")
    parser.add_argument("--out", type=Path, default=Path("docs/results/tasks/tasks.jsonl"))
    asked = parser.parse_args()
    lines = [line.split("\t") for line in asked.pairs.read_text("utf-8").splitlines() if line.strip()]
    pairs = [(first.lower(), second.lower(), float(rating)) for first, second, rating, *_ in lines]
    words = sorted({word for first, second, _ in pairs for word in (first, second)})
    place = {word: row for row, word in enumerate(words)}
    ratings = np.array([rating for _, _, rating in pairs])
    lm = LanguageModel.from_pretrained(asked.model)
    for way, rows in vectors_of(lm, Store.open(asked.corpus), words, asked.contexts).items():
        unit = torch.nn.functional.normalize(rows.float(), dim=1).cpu().numpy()
        scores = np.array([unit[place[first]] @ unit[place[second]] for first, second, _ in pairs])
        missing = np.array([not (unit[place[a]].any() and unit[place[b]].any()) for a, b, _ in pairs])
        scores[missing] = scores[~missing].mean()
        rho, low, high = correlation(scores, ratings)
        note(
            asked.out,
            task=asked.task,
            model=asked.name,
            way=way,
            part="all",
            items=len(pairs),
            missing=int(missing.sum()),
            spearman=rho,
            low=low,
            high=high,
        )


if __name__ == "__main__":
    main()
