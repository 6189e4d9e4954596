"""Single queries put to a model with its pieces and with vectors, for parts ``examples`` and ``beyond``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rarewords.lm import Query
from rarewords.probe.dataset import RELATIONS, Entry, FrequencyBounds
from rarewords.probe.patterns import patterns_for
from rarewords.probe.result import RANK_LIMIT
from rarewords.report.tables import relation_title
from rarewords.reproduction.document import Answers
from rarewords.reproduction.laboratory import Laboratory
from rarewords.reproduction.sampling import order_key
from rarewords.vectors import WordVectors

SHOWN = 5
_TARGETS_SHOWN = 4


def ask(
    lab: Laboratory,
    word: str,
    patterns: Sequence[str],
    right: Sequence[str],
    methods: Mapping[str, WordVectors],
) -> dict[str, Any]:
    """Answers with pieces and with each method's vector to the pattern that is best for any of them.

    That is how WNLaMPro takes patterns, here the same for all so that the answers can be compared.
    """
    vectors = [None, *(one.get(word) for one in methods.values())]
    found = [
        lab.lm.fill([Query(pattern, word, vector) for pattern in patterns], top_k=RANK_LIMIT)
        for vector in vectors
    ]
    answers = [[one.words(row) for row in range(len(patterns))] for one in found]
    ranks = [[_rank(row, right) for row in side] for side in answers]
    best = min(range(len(patterns)), key=lambda row: min(side[row] or RANK_LIMIT + 1 for side in ranks))
    return {
        "word": word,
        "pattern": patterns[best],
        "right": list(right),
        "pieces": lab.lm.piece_strings(lab.lm.pieces(word)),
        "count": lab.store.count(word),
        "sides": [
            {
                "label": label,
                "answers": answers[side][best][:SHOWN],
                "rank": ranks[side][best],
                "vector": vectors[side] is not None,
            }
            for side, label in enumerate(("pieces", *methods))
        ],
    }


def drawn_entries(lab: Laboratory) -> list[tuple[Entry, tuple[str, ...]]]:
    """Some rare entries of test from each relation, drawn by a hash of the seed, with their patterns."""
    bounds, found = FrequencyBounds(), []
    for relation in RELATIONS:
        rare = [
            entry
            for entry in lab.dataset
            if entry.relation == relation and entry.subset == "test" and bounds.band(entry.count) == "rare"
        ]
        rare.sort(key=lambda entry: order_key(f"example {entry.id}", lab.settings.seed))
        found += rare[: lab.settings.sample.drawn]
    return [(entry, patterns_for(entry.relation, entry.word.text)) for entry in found]


def answer_block(one: Mapping[str, Any]) -> Answers:
    """A query as the report shows it, the paper's answers below ours."""
    right = frozenset(one["right"])
    rows = []
    for side in one["sides"]:
        rank = f"rank {side['rank']}" if side["rank"] else f"rank > {RANK_LIMIT}"
        missing = not side["vector"] and side["label"] != "pieces"
        label = f"{side['label']} (no vector)" if missing else f"{side['label']}, {rank}"
        rows.append((label, side["answers"], right, False))
    for label, answers in zip(("paper, base", "paper, base+AM"), one.get("paper", ()), strict=False):
        if answers is not None:
            rows.append((label, answers, right, True))
    cut = "·".join(piece.removeprefix("##") for piece in one["pieces"])
    times = "once" if one["count"] == 1 else f"{one['count']:,} times" if one["count"] else "not"
    kind = f"{relation_title(one['relation'])}, " if "relation" in one else ""
    targets = f"; right: {', '.join(one['right'][:_TARGETS_SHOWN])}" if "relation" in one else ""
    return Answers(one["pattern"].replace("<W>", cut), f"({kind}{times} in the corpus{targets})", rows)


def _rank(answers: Sequence[str], right: Sequence[str]) -> int:
    """The place of the first right answer, 0 where there is none."""
    return next((place for place, answer in enumerate(answers, 1) if answer in right), 0)
