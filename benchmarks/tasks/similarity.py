"""Similarity of rare words: Stanford RW and CRW-550.

    python benchmarks/tasks/similarity.py PAIRS --task NAME --corpus STORE [--model M --name NAME]

PAIRS holds two words and a rating per line, separated by tabs. The figure is Spearman's correlation between
ratings and similarities over all pairs, with an interval over pairs; a pair with a word that the store does
not have counts with the mean similarity. Compared are the mean embedding of the pieces, the learner's input
vectors, rarewords.mimic.likeness, and the sum of pieces and likeness in units of their spread. Nothing is
chosen on these sets.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from measure import note, options
from scipy.stats import rankdata

from rarewords import LanguageModel, Store
from rarewords.mimic.learner import WordLearner
from rarewords.mimic.likeness import profiles, states
from rarewords.mimic.masked import contexts_of_words
from rarewords.teaching.learners import open_learner

_RESAMPLES = 1000


def vectors_of(lm: LanguageModel, store: Store, words: list[str], contexts: int) -> dict[str, torch.Tensor]:
    """A vector for every word by each way, zero if there is none. *Shape:* (words, any)"""
    learner, _ = open_learner(lm, None, store)
    assert isinstance(learner, WordLearner)
    mean = learner.known.mean
    pieces = torch.stack([lm.embeddings[ids].float().mean(0) for ids in lm.tokens.pieces_of(words)]) - mean
    found = contexts_of_words(lm.tokens, store, words, contexts=contexts)
    split = [word for word in words if word not in lm.whole_words]
    made = learner.infer_words(split, store, contexts=contexts).vectors
    rows = pieces.clone()
    for row, word in enumerate(words):
        if word not in lm.whole_words:
            rows[row] = torch.tensor(made[word], device=lm.device) - mean if word in made else 0
    return {
        "pieces": pieces,
        "input vectors": rows,
        "likeness": profiles(states(lm, found), found.counts),
    }


def cosines(rows: torch.Tensor, first: list[int], second: list[int]) -> np.ndarray:
    """The cosine of each pair of rows; the mean of all for a pair with a row of zeros. *Shape:* (pairs,)"""
    unit = torch.nn.functional.normalize(rows.float(), dim=1).cpu().numpy()
    scores = (unit[first] * unit[second]).sum(1)
    known = unit[first].any(1) & unit[second].any(1)
    scores[~known] = scores[known].mean()
    return scores


def spearman(scores: np.ndarray, ratings: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """Spearman's correlation for each row of drawn pairs. *Shape:* (rows, pairs) -> (rows,)"""
    ranked = [rankdata(values[drawn], axis=1) for values in (scores, ratings)]
    a, b = (one - one.mean(1, keepdims=True) for one in ranked)
    return (a * b).sum(1) / np.sqrt((a**2).sum(1) * (b**2).sum(1))


def main() -> None:
    parser = options(__doc__, "the file of pairs")
    parser.add_argument("--task", required=True)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--contexts", type=int, default=16, help="of each word")
    asked = parser.parse_args()
    lines = [line.split("\t") for line in asked.data.read_text("utf-8").splitlines() if line.strip()]
    lines, contexts = (lines[:60], 2) if asked.quick else (lines, asked.contexts)
    pairs = [(first.lower(), second.lower(), float(rating)) for first, second, rating, *_ in lines]
    words = sorted({word for first, second, _ in pairs for word in (first, second)})
    place = {word: row for row, word in enumerate(words)}
    first, second = ([place[pair[side]] for pair in pairs] for side in (0, 1))
    ratings = np.array([rating for _, _, rating in pairs])
    lm, store = LanguageModel.from_pretrained(asked.model), Store.open(asked.corpus)
    missing = store.find(words) < 0
    ways = {way: cosines(rows, first, second) for way, rows in vectors_of(lm, store, words, contexts).items()}
    ways["pieces and likeness"] = sum(ways[way] / ways[way].std() for way in ("pieces", "likeness"))
    whole = np.arange(len(pairs))[None]
    drawn = np.random.default_rng(0).integers(len(pairs), size=(_RESAMPLES, len(pairs)))
    before, before_drawn = (spearman(ways["pieces"], ratings, rows) for rows in (whole, drawn))
    for way, scores in ways.items():
        rho, rho_drawn = (spearman(scores, ratings, rows) for rows in (whole, drawn))
        low, high = np.quantile(rho_drawn - before_drawn, [0.025, 0.975]).tolist()
        note(
            asked.out,
            task=asked.task,
            model=asked.name,
            way=way,
            part="all",
            items=len(pairs),
            missing=int((missing[first] | missing[second]).sum()),
            spearman=float(rho[0]),
            within=[round(float(end), 4) for end in np.quantile(rho_drawn, [0.025, 0.975])],
            untaught=float(before[0]),
            change=float(rho[0] - before[0]),
            low=low,
            high=high,
        )


if __name__ == "__main__":
    main()
