"""Part ``examples``: what the model answers before and after."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rarewords.reproduction import published
from rarewords.reproduction.claims import Check, Claim
from rarewords.reproduction.configurations import title_of
from rarewords.reproduction.document import Block, Text
from rarewords.reproduction.laboratory import EXAMPLE_WORDS, Laboratory
from rarewords.reproduction.parts.asking import SHOWN, answer_block, ask, drawn_entries
from rarewords.reproduction.parts.base import Facts, Part, Result
from rarewords.reproduction.parts.main import CONFIGURATION
from rarewords.vectors import WordVectors

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
_TITLES = {
    "paper": "**The paper's queries.** Marked answers are right by our own judgement.",
    "named": f"**Other words the paper names,** asked with `{_IS_A.replace('<W>', 'WORD')}`",
    "lot": "**Drawn by lot** (not chosen) from the rare entries of test, with the pattern that is best for "
    "any of them. Marked answers are targets of WNLaMPro.",
}


def run(lab: Laboratory, _: Path) -> Result:
    """Ask the paper's queries, and some drawn by lot from the rare entries of test."""
    training = lab.training(CONFIGURATION, lab.settings.seed)
    vectors = training.vectors[lab.settings.sample.epochs[-1]]
    return {"queries": ask_all(lab, {title_of(CONFIGURATION): vectors})}


def ask_all(lab: Laboratory, methods: dict[str, WordVectors]) -> list[dict[str, Any]]:
    """All queries with the answers of the pieces and of some methods' vectors."""
    queries: list[dict[str, Any]] = []
    for word, pattern, before, after in published.EXAMPLES:
        paper = [list(before), None if after is None else list(after)]
        asked = ask(lab, word, [pattern], _RIGHT[word].split(), methods)
        queries.append({"kind": "paper", "paper": paper, **asked})
    for word in _OTHERS:
        queries.append({"kind": "named", **ask(lab, word, [_IS_A], _RIGHT[word].split(), methods)})
    for entry, patterns in drawn_entries(lab):
        right = [target.text for target in entry.targets]
        asked = ask(lab, entry.word.text, patterns, right, methods)
        queries.append({"kind": "lot", "relation": entry.relation, **asked})
    return queries


def blocks(result: Result, _: Path) -> list[Block]:
    """The queries with the answers of the model, of the model with vectors, and of the paper's."""
    return [
        Text(
            f"The first {SHOWN} answers of the model as it is (pieces; `·` shows where it cuts the word) and "
            "with a vector in place of the word, each with the rank of its first right answer."
        ),
        *query_blocks(result["queries"]),
    ]


def query_blocks(queries: list[dict[str, Any]]) -> list[Block]:
    """All queries, those of a kind under their title."""
    shown: list[Block] = []
    for kind, title in _TITLES.items():
        chosen = [one for one in queries if one["kind"] == kind]
        if chosen:
            shown += [Text(title), *(answer_block(one) for one in chosen)]
    return shown


def claims(result: Result) -> list[Claim]:
    """AM's answers name what the word is, where the pieces' do not."""
    checks = []
    for one in result["queries"]:
        if one["kind"] == "paper" and one["paper"][1] is not None:
            before, after = (
                [answer for answer in side["answers"][:_COMPARED] if answer in one["right"]]
                for side in one["sides"]
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
    lot = [
        [side["rank"] or 1000 for side in one["sides"]] for one in result["queries"] if one["kind"] == "lot"
    ]
    if lot:
        better = sum(after < before for before, after in lot)
        worse = sum(after > before for before, after in lot)
        found.append(
            f"Of the {len(lot)} queries drawn by lot the vector ranks a right answer higher in {better} and "
            f"lower in {worse}: chosen examples say less than the main table."
        )
    return found


PART = Part("examples", "Example queries", run, blocks, claims, reasons)
