"""Part ``examples``: what the model answers before and after."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rarewords.lm import Query
from rarewords.probe.dataset import RELATIONS, Entry, FrequencyBounds
from rarewords.probe.patterns import patterns_for
from rarewords.probe.result import RANK_LIMIT
from rarewords.report.tables import relation_title
from rarewords.reproduction import published
from rarewords.reproduction.claims import Check, Claim
from rarewords.reproduction.document import Answers, Block, Text
from rarewords.reproduction.laboratory import EXAMPLE_WORDS, Laboratory
from rarewords.reproduction.parts.base import Facts, Part, Result
from rarewords.reproduction.parts.main import CONFIGURATION
from rarewords.reproduction.sampling import order_key
from rarewords.vectors import WordVectors

_SHOWN = 5
_COMPARED = 4  # as many answers as the paper shows
_IS_A = "a <W> is a _ ."
# Words the paper names without showing answers; asked with one pattern each.
_OTHERS = tuple(word for word in EXAMPLE_WORDS if word not in {one[0] for one in published.EXAMPLES})
# What is right for the paper's words, by our own judgement: WNLaMPro has only some of these entries.
_RIGHT = {
    "lime": "fruit tree plant lemon stone mineral color colour food drink",
    "bicycle": "bike vehicle motorcycle machine ride transport cycle",
    "kumquat": "fruit tree plant shrub lemon orange lime food",
    "unicycle": "bicycle bike motorcycle vehicle cycle machine ride",
    "unaccessible": "accessible available reachable reached",
    "salsify": "plant shrub flower herb vegetable root weed food",
    "resigntaion": "resignation",
    "bulghur": "grain wheat food cereal dish flour",
    "kidnaper": "criminal kidnapping killer thief murderer villain",
    "lingonberry": "berry fruit plant shrub bush",
    "samosa": "dish food snack pastry dessert bread",
    "harmonium": "instrument organ piano",
}


def run(lab: Laboratory, _: Path) -> Result:
    """Ask the paper's queries, and some drawn by lot from the rare entries of test."""
    training = lab.training(CONFIGURATION, lab.settings.seed)
    vectors = training.vectors[lab.settings.sample.epochs[-1]]
    queries: list[dict[str, Any]] = []
    for word, pattern, before, after in published.EXAMPLES:
        paper = [list(before), None if after is None else list(after)]
        queries.append({"word": word, "kind": "paper", "paper": paper, "right": _RIGHT[word].split()})
        queries[-1] |= _answers(lab, word, [pattern], vectors, queries[-1]["right"])
    for word in _OTHERS:
        queries.append({"word": word, "kind": "named", "right": _RIGHT[word].split()})
        queries[-1] |= _answers(lab, word, [_IS_A], vectors, queries[-1]["right"])
    for entry in _drawn(lab, vectors):
        word, right = entry.word.text, [target.text for target in entry.targets]
        queries.append({"word": word, "kind": "lot", "relation": entry.relation, "right": right})
        queries[-1] |= _answers(lab, word, patterns_for(entry.relation, word), vectors, right)
    for one in queries:
        one["pieces"] = lab.lm.piece_strings(lab.lm.pieces(one["word"]))
        one["count"] = lab.store.count(one["word"])
        one["has_vector"] = one["word"] in vectors
    return {"queries": queries}


def _answers(
    lab: Laboratory, word: str, patterns: Sequence[str], vectors: WordVectors, right: Sequence[str]
) -> dict[str, Any]:
    """Answers with pieces and with the vector to the pattern that is best in either, as WNLaMPro takes it."""
    sides = []
    for vector in (None, vectors.get(word)):
        found = lab.lm.fill([Query(pattern, word, vector) for pattern in patterns], top_k=RANK_LIMIT)
        sides.append([found.words(row) for row in range(len(patterns))])
    ranks = [[_rank(answers, right) for answers in side] for side in sides]
    best = min(range(len(patterns)), key=lambda row: min(side[row] or RANK_LIMIT + 1 for side in ranks))
    return {
        "pattern": patterns[best],
        "before": sides[0][best][:_SHOWN],
        "after": sides[1][best][:_SHOWN],
        "ranks": [ranks[0][best], ranks[1][best]],
    }


def _rank(answers: Sequence[str], right: Sequence[str]) -> int:
    """The place of the first right answer, 0 where there is none."""
    return next((place for place, answer in enumerate(answers, 1) if answer in right), 0)


def _drawn(lab: Laboratory, vectors: WordVectors) -> list[Entry]:
    bounds, found = FrequencyBounds(), []
    for relation in RELATIONS:
        rare = [
            entry
            for entry in lab.dataset
            if entry.relation == relation
            and entry.subset == "test"
            and bounds.band(entry.count) == "rare"
            and entry.word.text in vectors
        ]
        rare.sort(key=lambda entry: order_key(f"example {entry.id}", lab.settings.seed))
        found += rare[: lab.settings.sample.drawn]
    return found


def blocks(result: Result, _: Path) -> list[Block]:
    """The queries with the answers of the model, of the model with vectors, and of the paper's."""
    titles = {
        "paper": "**The paper's queries.** Marked answers are right by our own judgement.",
        "named": f"**Other words the paper names,** asked with `{_IS_A.replace('<W>', 'WORD')}`",
        "lot": "**Drawn by lot** (not chosen) from the rare entries of test, with the pattern that is best "
        "in either result. Marked answers are targets of WNLaMPro.",
    }
    shown: list[Block] = [
        Text(
            f"The first {_SHOWN} answers of the model as it is (pieces; `·` shows where it cuts the word) "
            "and with the vector of AM+context in place of the word, each with the rank of its first right "
            "answer."
        )
    ]
    for kind, title in titles.items():
        chosen = [one for one in result["queries"] if one["kind"] == kind]
        if chosen:
            shown += [Text(title), *(_block(one) for one in chosen)]
    return shown


def _block(one: dict[str, Any]) -> Answers:
    right = frozenset(one["right"])
    ranks = [f", rank {rank}" if rank else f", rank > {RANK_LIMIT}" for rank in one["ranks"]]
    after = f"AM+context{ranks[1]}" if one["has_vector"] else "AM+context (no vector)"
    rows = [(f"pieces{ranks[0]}", one["before"], right, False), (after, one["after"], right, False)]
    for label, answers in zip(("paper, base", "paper, base+AM"), one.get("paper", ()), strict=False):
        if answers is not None:
            rows.append((label, answers, right, True))
    cut = "·".join(piece.removeprefix("##") for piece in one["pieces"])
    times = "once" if one["count"] == 1 else f"{one['count']:,} times" if one["count"] else "not"
    kind = f"{relation_title(one['relation'])}, " if "relation" in one else ""
    targets = f"; right: {', '.join(one['right'][:4])}" if one["kind"] == "lot" else ""
    about = f"({kind}{times} in the corpus{targets})"
    return Answers(one["pattern"].replace("<W>", cut), about, rows)


def claims(result: Result) -> list[Claim]:
    """AM's answers name what the word is, where the pieces' do not."""
    checks = []
    for one in result["queries"]:
        if one["kind"] == "paper" and one["paper"][1] is not None:
            before, after = (
                [answer for answer in one[side][:_COMPARED] if answer in one["right"]]
                for side in ("before", "after")
            )
            text = (
                f"{one['word']}: right among the first four answers: "
                f"{', '.join(before) or 'none'} → {', '.join(after) or 'none'}"
            )
            checks.append(Check(text, len(after) > len(before)))
    return [
        Claim(
            "examples",
            "Where pieces mislead (bad cuts, rare spellings, misspellings), AM's answers fit the word.",
            "table of examples",
            "all four examples",
            tuple(checks),
        ),
    ]


def reasons(result: Result, facts: Facts) -> list[str]:
    """How often the paper's words occur here, and what became of the words drawn by lot."""
    counts = {one["word"]: one["count"] for one in result["queries"] if one["kind"] == "paper"}
    listed = ", ".join(f"{word} {count:,}" for word, count in counts.items())
    found = [f"Occurrences of the paper's words in the {facts['corpus_size']} of the corpus: {listed}."]
    ranks = [one["ranks"] for one in result["queries"] if one["kind"] == "lot"]
    if ranks:
        better = sum((after or 1000) < (before or 1000) for before, after in ranks)
        worse = sum((after or 1000) > (before or 1000) for before, after in ranks)
        found.append(
            f"Of the {len(ranks)} queries drawn by lot the vector ranks a right answer higher in {better} "
            "and "
            f"lower in {worse}: chosen examples say less than the main table."
        )
    return found


PART = Part("examples", "Example queries", run, blocks, claims, reasons)
