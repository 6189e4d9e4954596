"""How much of what the pieces already answer is kept when one vector replaces them.

    PYTHONPATH=src python benchmarks/kept_answers.py PIECES.json.gz VECTORS.json.gz [--model M] [--rank 3]

Takes the entries whose keyword has several pieces and whose rank in the first result is 1 to 3, and prints
the share of their mean reciprocal rank that the second result keeps, with a 95 % bootstrap interval over
entries. The choice of entries favours the first result: it includes those that it answers by chance. The last
line therefore exchanges the two results.
"""

from __future__ import annotations

import argparse

import numpy as np

from rarewords.lm import LanguageModel
from rarewords.probe.compare import check_comparable
from rarewords.probe.dataset import BANDS, RELATIONS
from rarewords.probe.result import ProbeResult

_SAMPLES = 2000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("first")
    parser.add_argument("second")
    parser.add_argument("--model", default="default", help="whose tokenizer splits the keywords")
    parser.add_argument("--rank", type=int, default=3, help="the worst rank that counts as answered")
    asked = parser.parse_args()
    first, second = ProbeResult.load(asked.first), ProbeResult.load(asked.second)
    check_comparable([first, second])
    pieces = LanguageModel.from_pretrained(asked.model, device="cpu").tokens.pieces_of(list(first.word))
    several = np.array([len(one) > 1 for one in pieces])
    print(f"| at rank 1 to {asked.rank} with | entries | MRR with it | with the other | kept |")
    print("|---|---:|---:|---:|---:|")
    cells = [("all", band) for band in (*BANDS, "all")] + [(one, "all") for one in RELATIONS]
    for relation, band in cells:
        rows = several & first.chosen(relation, band) & answered(first, asked.rank)
        if rows.any():
            print(line(f"{first.label}: {relation}, {band}", first.reciprocal[rows], second.reciprocal[rows]))
    rows = several & answered(second, asked.rank)
    print(line(f"exchanged, {second.label}: all, all", second.reciprocal[rows], first.reciprocal[rows]))


def answered(result: ProbeResult, rank: int) -> np.ndarray:
    """Which entries have a target among the first answers. *Shape:* (entries,)"""
    return (result.rank > 0) & (result.rank <= rank)


def line(title: str, chosen: np.ndarray, other: np.ndarray) -> str:
    """One row: the mean reciprocal rank of both results, and the share that ``other`` keeps."""
    drawn = np.random.default_rng(0).integers(len(chosen), size=(_SAMPLES, len(chosen)))
    low, high = np.quantile(other[drawn].mean(axis=1) / chosen[drawn].mean(axis=1), (0.025, 0.975))
    kept = f"{other.mean() / chosen.mean():.1%} ({low:.1%} … {high:.1%})"
    return f"| {title} | {len(chosen):,} | {chosen.mean():.3f} | {other.mean():.3f} | {kept} |"


if __name__ == "__main__":
    main()
