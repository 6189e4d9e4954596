"""Part ``heatmap``: the distribution of ranks by how often the keyword occurs."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from rarewords.report.figures import HeatMap, draw_shares, heat_map
from rarewords.report.tables import relation_title
from rarewords.reproduction import published
from rarewords.reproduction.claims import Check, Claim
from rarewords.reproduction.document import Block, Figure, Table, Text
from rarewords.reproduction.laboratory import HEAT_MAP_DEPTH, Laboratory
from rarewords.reproduction.parts.base import Facts, Part, Result

# A column of fewer words says little.
_FEWEST = 10


def run(lab: Laboratory, _: Path) -> Result:
    """Ranks of cohyponym+ with the model's own pieces, in intervals that double."""
    pieces = lab.pieces
    table = heat_map(pieces)
    chosen = pieces.chosen("cohyponym")
    counts, ranks = pieces.count[chosen], pieces.rank[chosen]
    frequent = counts > published.HEAT_MAP_COUNT
    near = (ranks > 0) & (ranks <= published.HEAT_MAP_RANK)
    return {
        "depth": HEAT_MAP_DEPTH,
        "counts": [_end(end) for end in table.counts],
        "ranks": [_end(end) for end in table.ranks],
        "entries": list(table.entries),
        "shares": [
            [None if math.isnan(one) else round(one, 5) for one in row] for row in table.shares.tolist()
        ],
        "near_frequent": float(near[frequent].mean()) if frequent.any() else None,
        "near_rest": float(near[~frequent].mean()) if (~frequent).any() else None,
        "frequent_entries": int(frequent.sum()),
    }


def blocks(result: Result, figures: Path) -> list[Block]:
    """The heat map, and what its columns say."""
    shares = [[math.nan if one is None else one for one in row] for row in result["shares"]]
    counts, ranks = (
        tuple(math.inf if end is None else float(end) for end in result[name]) for name in ("counts", "ranks")
    )
    table = HeatMap(np.array(shares), counts, ranks, tuple(result["entries"]))
    draw_shares(table, f"pieces, {relation_title('cohyponym')}", figures / "heatmap")
    rows = []
    for number, count in enumerate(result["counts"]):
        total = result["entries"][number]
        if not total:
            continue
        column = [row[number] for row in result["shares"]]
        rows.append(
            [
                "above" if count is None else f"up to {count:,.0f}",
                f"{total:,}",
                _interval(result, int(np.argmax(column))),
                f"{_near(result, column):.0%}",
                f"{column[-1]:.0%}",
            ]
        )
    return [
        Text(
            f"The first {result['depth']} answers to cohyponym+ of dev and test with the model's own "
            "pieces. Each column is one interval of counts and adds up to one; the dot marks its most "
            "probable interval of ranks."
        ),
        Figure(
            figures / "heatmap",
            "Distribution of ranks by the keyword's count. The paper's figure for BERT-base gives no "
            "numbers; its text says what is compared below.",
            "Heat map of ranks by counts",
        ),
        Table(
            "heatmap",
            "The columns of the heat map.",
            ["occurrences", "entries", "most probable ranks", f"rank ≤ {published.HEAT_MAP_RANK}", "beyond"],
            rows,
        ),
    ]


def claims(result: Result) -> list[Claim]:
    """The two sentences the paper says about its figure, and the trend."""
    checks = []
    for number, count in enumerate(result["counts"]):
        if count is None or count > published.HEAT_MAP_COUNT or result["entries"][number] < _FEWEST:
            continue
        best = int(np.argmax([row[number] for row in result["shares"]]))
        end = result["ranks"][best]
        text = f"up to {count:,.0f}: most probable ranks {_interval(result, best)}"
        checks.append(Check(text, end is None or end > 64))
    near, rest = result["near_frequent"], result["near_rest"]
    frequent = (
        [
            Check(
                f"{near:.0%} of {result['frequent_entries']:,} words above 256 occurrences rank up to 16",
                near > 0.5,
            )
        ]
        if near is not None
        else []
    )
    trend = []
    if near is not None and rest is not None:
        trend = [
            Check(f"rank up to 16: {rest:.0%} of words up to 256 occurrences, {near:.0%} above", near > rest)
        ]
    return [
        Claim(
            "heatmap",
            "Up to 256 occurrences the most probable ranks are far back, 65 to 128.",
            "heat map",
            "all columns up to 2⁸",
            tuple(checks),
        ),
        Claim(
            "heatmap",
            "Above 256 occurrences more than half of the words rank up to 16.",
            "heat map",
            "> 50 %",
            tuple(frequent),
        ),
        Claim(
            "heatmap",
            "Ranks improve with the number of occurrences.",
            "heat map",
            "visible throughout",
            tuple(trend),
        ),
    ]


def reasons(_: Result, facts: Facts) -> list[str]:
    """Counts of another corpus move the columns."""
    moved = math.log2(max(facts["corpus_factor"], 1.0))
    return [
        f"The corpus is {facts['corpus_factor']:.1f} times smaller than the paper's, so that the same word "
        f"stands about {moved:.1f} columns further left here. The paper's threshold of 256 occurrences is "
        "compared as it is."
    ]


def _near(result: Result, column: list[float]) -> float:
    return sum(
        share
        for share, end in zip(column, result["ranks"], strict=True)
        if end is not None and end <= published.HEAT_MAP_RANK
    )


def _interval(result: Result, row: int) -> str:
    end = result["ranks"][row]
    if end is None:
        return f"beyond {result['ranks'][row - 1]:.0f}"
    below = result["ranks"][row - 1] if row else 0
    return f"{below + 1:.0f}–{end:.0f}" if end - below > 1 else f"{end:.0f}"


def _end(value: float) -> float | None:
    return None if math.isinf(value) else value


PART = Part("heatmap", "Ranks by the number of occurrences", run, blocks, claims, reasons)
