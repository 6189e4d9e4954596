"""How often is a taught word among the first hundred answers?

    PYTHONPATH=src python benchmarks/bench_answers.py FOLDER [--entries 100]

Asks a folder made by `rarewords teach` all patterns of entries of WNLaMPro, evenly drawn, and counts the
answers that are taught words. The claim it backs: a taught word is not among the first hundred answers.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from rarewords import LanguageModel, Query
from rarewords.forget import taught_tokens
from rarewords.probe.dataset import Dataset, patterns_for


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--entries", type=int, default=100)
    chosen = parser.parse_args()
    lm = LanguageModel.from_pretrained(chosen.folder)
    taught = taught_tokens(lm.model, lm.tokenizer)
    data = list(Dataset.load())
    drawn = data[:: max(1, len(data) // chosen.entries)][: chosen.entries]
    words = [(entry.relation, entry.word.text) for entry in drawn]
    words += [("hypernym", word) for word in taught]
    queries = [Query(pattern, word) for relation, word in words for pattern in patterns_for(relation, word)]
    answers = lm.fill(queries, top_k=100)
    new = np.isin(answers.ids, list(taught.values()))
    print(
        f"{len(queries):,} questions, {len(taught):,} taught words: {int(new.any(axis=1).sum())} questions "
        f"have a taught word among the first hundred answers, {int(new[:, :10].any(axis=1).sum())} among ten"
    )


if __name__ == "__main__":
    main()
