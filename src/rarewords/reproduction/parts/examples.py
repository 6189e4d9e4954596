"""Part ``examples``: what the model answers before and after."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rarewords.lm import Query
from rarewords.probe.dataset import RELATIONS, FrequencyBounds
from rarewords.probe.patterns import patterns_for
from rarewords.report.tables import relation_title
from rarewords.reproduction import published
from rarewords.reproduction.claims import Check, Claim
from rarewords.reproduction.document import Answers, Block, Text
from rarewords.reproduction.laboratory import EXAMPLE_WORDS, Laboratory
from rarewords.reproduction.parts.base import Facts, Part, Result
from rarewords.reproduction.parts.main import CONFIGURATION
from rarewords.reproduction.sampling import order_key

_SHOWN = 5
_COMPARED = 4  # as many answers as the paper shows
# Words the paper names without showing answers; asked with one pattern each.
_OTHERS = tuple(word for word in EXAMPLE_WORDS if word not in {one[0] for one in published.EXAMPLES})


def run(lab: Laboratory, _: Path) -> Result:
    """Ask the paper's queries, and some drawn by lot from the rare entries of test."""
    training = lab.training(CONFIGURATION, lab.settings.seed)
    vectors = training.vectors[lab.settings.sample.epochs[-1]]
    asked: list[dict[str, Any]] = [
        {"word": word, "pattern": pattern, "paper": [list(before), None if after is None else list(after)]}
        for word, pattern, before, after in published.EXAMPLES
    ]
    asked += [{"word": word, "pattern": "a <W> is a _ .", "paper": None} for word in _OTHERS]
    for one in asked:
        one["right"] = sorted(_right(lab, one["word"], one["pattern"]))
    asked += _drawn(lab, vectors)
    before = lab.lm.fill([Query(one["pattern"], one["word"]) for one in asked], top_k=_SHOWN)
    after = lab.lm.fill(
        [Query(one["pattern"], one["word"], vectors.get(one["word"])) for one in asked], top_k=_SHOWN
    )
    numbers = lab.store.find([one["word"] for one in asked])
    for row, one in enumerate(asked):
        one["pieces"] = lab.lm.piece_strings(lab.lm.pieces(one["word"]))
        one["count"] = 0 if numbers[row] < 0 else lab.store.count(one["word"])
        one["has_vector"] = one["word"] in vectors
        one["before"], one["after"] = before.words(row), after.words(row)
    return {"queries": asked}


def _right(lab: Laboratory, word: str, pattern: str) -> set[str]:
    relation = {"a <W> is a _ .": "hypernym", "<W> and _ .": "cohyponym"}.get(pattern)
    known = {
        target.text
        for entry in lab.whole_dataset
        if entry.word.text == word and entry.relation == relation
        for target in entry.targets
    }
    return known | set(published.EXPECTED.get(word, ()))


def _drawn(lab: Laboratory, vectors: Any) -> list[dict[str, Any]]:
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
        for entry in rare[: lab.settings.sample.drawn]:
            found.append(
                {
                    "word": entry.word.text,
                    "pattern": patterns_for(relation, entry.word.text)[0],
                    "relation": relation,
                    "paper": None,
                    "right": sorted(target.text for target in entry.targets),
                }
            )
    return found


def blocks(result: Result, _: Path) -> list[Block]:
    """The queries with the answers of the model, of the model with vectors, and of the paper's."""
    shown: list[Block] = [
        Text(
            "The paper's queries and words, then queries drawn by lot (not chosen) from the rare entries of "
            "test. "
            "Marked answers are right: targets of WNLaMPro, or what the paper's example is about. A `·` "
            "shows where "
            "the model cuts the word."
        )
    ]
    drawn = [one for one in result["queries"] if "relation" in one]
    if drawn:
        right_before, right_after = (
            sum(any(answer in one["right"] for answer in one[side]) for one in drawn)
            for side in ("before", "after")
        )
        shown.append(
            Text(
                f"Of the {len(drawn)} queries drawn by lot the pieces answer {right_before} rightly among "
                "their "
                f"first {_SHOWN} answers, AM+context {right_after}."
            )
        )
    for one in result["queries"]:
        right = frozenset(one["right"])
        rows = [
            ("pieces", one["before"], right, False),
            ("AM+context" if one["has_vector"] else "AM+context (no vector)", one["after"], right, False),
        ]
        if one["paper"]:
            before, after = one["paper"]
            rows.append(("paper, BERT-base", before, right, True))
            if after is not None:
                rows.append(("paper, BERT-base+AM", after, right, True))
        cut = "·".join(piece.removeprefix("##") for piece in one["pieces"])
        lot = f"{relation_title(one['relation'])}, drawn by lot, " if "relation" in one else ""
        times = "once" if one["count"] == 1 else f"{one['count']:,} times"
        about = f"({lot}{times} in the corpus)"
        shown.append(Answers(one["pattern"].replace("<W>", cut), about, rows))
    return shown


def claims(result: Result) -> list[Claim]:
    """AM's answers name what the word is, where the pieces' do not."""
    checks = []
    for one in result["queries"]:
        if one["paper"] and one["paper"][1] is not None:
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
    """How often the paper's words occur here."""
    counts = {one["word"]: one["count"] for one in result["queries"] if one["paper"]}
    listed = ", ".join(f"{word} {count:,}" for word, count in counts.items())
    return [f"Occurrences of the paper's words in the {facts['corpus_size']} of the corpus: {listed}."]


PART = Part("examples", "Example queries", run, blocks, claims, reasons)
