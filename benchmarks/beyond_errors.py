"""Fifty entries of WNLaMPro dev where one vector does worse than the pieces, with what a person needs to see.

    PYTHONPATH=src python benchmarks/beyond_errors.py RESULTS OUT.json --model M --name NAME --learner LEARNER
        --corpus STORE [--band medium]

``beyond.py RESULTS --save LEARNER`` writes RESULTS and LEARNER. The entries are from dev, not from test,
because what a person finds here may change settings (docs/results/beyond-errors.md).
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import torch

from rarewords import LanguageModel, WordLearner, progress
from rarewords.corpus.store import Store
from rarewords.files import write_json
from rarewords.mimic.ngrams import Spelling
from rarewords.probe.dataset import Dataset, band_of
from rarewords.probe.result import ProbeResult


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--model", default="default")
    parser.add_argument("--name", required=True)
    parser.add_argument("--learner", type=Path, required=True)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--band", default="medium")
    parser.add_argument("--entries", type=int, default=50)
    asked = parser.parse_args()
    progress.enable()
    found = {
        kind: ProbeResult.load(asked.results / f"{asked.name}-{kind}.json.gz")
        for kind in ("pieces", "single-0", "slash")
    }
    entries = list(Dataset.load())
    chosen = np.array([e.subset == "dev" and band_of(e.word.count) == asked.band for e in entries])
    change = found["single-0"].reciprocal - found["pieces"].reciprocal
    worse = np.flatnonzero(chosen & (change < 0))
    picked = np.random.default_rng(0).choice(worse, min(asked.entries, len(worse)), replace=False)
    words = list(dict.fromkeys(entries[at].word.text for at in picked))
    lm = LanguageModel.from_pretrained(asked.model)
    learner = WordLearner.from_pretrained(asked.learner, lm)
    vectors = learner.infer_words(words, Store.open(asked.corpus)).vectors
    known = learner.known
    names = [word for word, _ in sorted(lm.whole_words.items(), key=lambda item: item[1])]
    directions = known.directions(known.embeddings)
    spelling = Spelling(lm)

    def near(word: str) -> list[str]:
        if word not in vectors:
            return []
        own = known.directions(torch.from_numpy(np.array(vectors[word]))[None])[0]
        return [names[row] for row in torch.topk(directions @ own, 8).indices.tolist()]

    def alike(word: str) -> list[str]:
        return [names[row] for row in torch.topk(spelling.likeness([word])[0], 3).indices.tolist()]

    def seen(at: int) -> dict[str, Any]:
        entry = entries[at]
        return {
            "word": entry.word.text,
            "pieces": lm.tokens.piece_strings(lm.pieces(entry.word.text)),
            "relation": entry.relation,
            "count": entry.word.count,
            "targets": [target.text for target in entry.targets][:8],
            "ranks": {kind: int(result.rank[at]) for kind, result in found.items()},
            "loss": round(float(-change[at]), 4),
            "near": near(entry.word.text),
            "spelling": alike(entry.word.text),
        }

    totals = {
        "entries": int(chosen.sum()),
        "worse": len(worse),
        "better": int((chosen & (change > 0)).sum()),
        "lost": round(float(-change[worse].sum()), 2),
        "gained": round(float(change[chosen & (change > 0)].sum()), 2),
    }
    write_json(asked.out, {**totals, "read": [seen(int(at)) for at in picked]})


if __name__ == "__main__":
    main()
