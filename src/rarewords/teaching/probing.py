"""What WNLaMPro says about the words just taught, before and after."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from rarewords.errors import InputError
from rarewords.lm import LanguageModel
from rarewords.probe.dataset import RELATIONS, Dataset
from rarewords.probe.evaluate import EvalSettings, evaluate
from rarewords.vectors import WordVectors


@dataclass(frozen=True)
class RelationScore:
    """Mean reciprocal rank of one relation (or ``all``) with pieces and with vectors."""

    relation: str
    words: int
    entries: int
    before: float
    after: float


@cache
def _bundled() -> Dataset:
    return Dataset.load()


def probe_words(lm: LanguageModel, vectors: WordVectors, *, slash: bool) -> dict[str, Any]:
    """Scores by relation and the best rank of each entry; ``reason`` where nothing can be measured."""
    dataset = _bundled()
    own = tuple(entry for entry in dataset if entry.word.text in vectors)
    if not own:
        return {"reason": "the data set has none of the words", "scores": [], "ranks": []}
    chosen = Dataset(own, dataset.name)
    try:
        before = evaluate(lm, chosen, EvalSettings(method="pieces"))
        after = evaluate(lm, chosen, EvalSettings(method="vectors", slash=slash), vectors=vectors)
    except InputError as error:
        return {"reason": str(error), "scores": [], "ranks": []}
    scores = []
    for relation in (*RELATIONS, "all"):
        rows = before.chosen(relation)
        if rows.any():
            words = len({before.word[row] for row in rows.nonzero()[0].tolist()})
            old, new = (float(result.reciprocal[rows].mean()) for result in (before, after))
            scores.append(RelationScore(relation, words, int(rows.sum()), round(old, 4), round(new, 4)))
    ranks = [
        {"word": word, "relation": relation, "before": int(old), "after": int(new)}
        for word, relation, old, new in zip(
            before.word, before.relation, before.rank, after.rank, strict=True
        )
    ]
    return {"reason": "", "scores": [vars(score) for score in scores], "ranks": ranks}
