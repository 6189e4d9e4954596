"""Part ``main``: the model with and without AM+context on test."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rarewords.probe.dataset import BANDS, RELATIONS
from rarewords.report.tables import figure, relation_title, signed
from rarewords.reproduction.claims import Check, Claim, p_text
from rarewords.reproduction.configurations import title_of
from rarewords.reproduction.document import Block, Figure, Table, Text
from rarewords.reproduction.figures import draw_main
from rarewords.reproduction.laboratory import Laboratory
from rarewords.reproduction.parts.base import Facts, Part, Result
from rarewords.reproduction.parts.comparing import (
    cell_of,
    compared,
    direction_table,
    main_table,
    save_all,
    threshold_text,
    with_mixture,
)
from rarewords.reproduction.results import of_set

CONFIGURATION = "am+context"


def run(lab: Laboratory, folder: Path) -> Result:
    """Vectors for all keywords, and the mixture by count, against the pieces."""
    training = lab.training(CONFIGURATION, lab.settings.seed)
    made = training.vectors[lab.settings.sample.epochs[-1]]
    pieces = lab.pieces
    vectors = lab.probe(title_of(CONFIGURATION), vectors=made)
    mixed, below, tried = with_mixture(lab.dataset, pieces, vectors)
    results = [of_set(pieces, lab.dataset, "test"), of_set(vectors, lab.dataset, "test"), mixed]
    save_all(results, folder, "main")
    keywords = set(lab.keywords)
    return {
        "comparison": compared(results),
        "below": None if np.isinf(below) else below,
        "dev_by_threshold": [[None if np.isinf(one) else one, round(mrr, 6)] for one, mrr in tried],
        "refused": [word for word in training.refused if word in keywords],
        "epochs": lab.settings.sample.epochs[-1],
    }


def blocks(result: Result, figures: Path) -> list[Block]:
    """The main table, the directions, and how the threshold was chosen."""
    comparison = result["comparison"]
    draw_main(comparison, figures / "main")
    label = comparison["results"][1]
    refused = result["refused"]
    return [
        Text(
            f"WNLaMPro test. `{label}` shows every keyword as the vector that AM+context, trained for "
            f"{result['epochs']} epochs with OTA, makes of it"
            + (
                f" ({len(refused)} keywords with neither contexts nor known n-grams keep their pieces)"
                if refused
                else ""
            )
            + f"; `{comparison['results'][2]}` follows the paper's remark that both can be used together: "
            f"{threshold_text(result['below'])}, pieces otherwise. That threshold is the best of those tried "
            "on dev."
        ),
        Figure(
            figures / "main",
            "MRR on test by relation and frequency; bars are 95 % bootstrap intervals of the difference "
            "to the pieces. Pale: the paper's BERT-base.",
            "MRR by relation and frequency with and without AM+context, ours and the paper's",
        ),
        main_table(
            comparison,
            "main",
            "MRR, P@3 and P@10 on test. Bold: the best of ours; * differs significantly from the pieces in a "
            "two-sided binomial test (p < .05). Grey: the paper's.",
        ),
        direction_table(comparison, "main-directions"),
        Table(
            "main-threshold",
            "MRR on dev with vectors for keywords below a count, pieces for the others.",
            ["vectors below", *(_count(one) for one, _ in result["dev_by_threshold"])],
            [["MRR", *(figure(mrr) for _, mrr in result["dev_by_threshold"])]],
        ),
    ]


def claims(result: Result) -> list[Claim]:
    """Rare words gain in every relation; frequent ones do not; the mixture has the best of both."""
    comparison = result["comparison"]
    frequent = [one for one in RELATIONS[1:3] if cell_of(comparison, one, "frequent")]
    return [
        Claim(
            "main",
            "AM+context substantially improves the score of rare words, significantly in every relation.",
            "main table",
            "base: ant +.300, hyp +.024, coh+ +.066, cor +.234; large: +.295, +.015, +.053, +.199",
            tuple(_gain(comparison, one, "rare", significant=True) for one in _there(comparison, "rare")),
        ),
        Claim(
            "main",
            "Misspelt words gain most: their spelling says what their pieces hide.",
            "main table and examples",
            "base .020 → .254, large .062 → .261",
            _corruption(comparison),
        ),
        Claim(
            "main",
            "For medium words AM is always helpful on the smaller model; on the larger one only antonyms "
            "gain consistently.",
            "main table",
            "base: ant +.422, hyp +.016, coh+ +.036; large: +.340, −.027, +.006",
            tuple(_gain(comparison, one, "medium") for one in _there(comparison, "medium")),
        ),
        Claim(
            "main",
            "For frequent words the model's own pieces are better (nouns; antonyms still gain).",
            "main table",
            "base: hyp −.039, coh+ −.032; large: −.061, −.045",
            tuple(_loss(comparison, one) for one in frequent),
        ),
        Claim(
            "main",
            "Vectors for rare words and pieces for frequent ones together have the best of both.",
            "text below the main table",
            "proposed, not measured",
            _mixture(comparison),
        ),
    ]


def _gain(comparison: Mapping[str, Any], relation: str, band: str, *, significant: bool = False) -> Check:
    cell = cell_of(comparison, relation, band)
    assert cell is not None
    before, after = cell["mrr"][0]["mean"], cell["mrr"][1]
    text = (
        f"{relation_title(relation)}: {figure(before)} → {figure(after['mean'])} "
        f"({signed(after['difference'])}, {p_text(after['p'])}, n = {cell['entries']:,})"
    )
    return Check(text, after["difference"] > 0 and (after["p"] < 0.05 or not significant))


def _loss(comparison: Mapping[str, Any], relation: str) -> Check:
    gain = _gain(comparison, relation, "frequent")
    return Check(gain.text, not gain.holds)


def _corruption(comparison: Mapping[str, Any]) -> tuple[Check, ...]:
    present = _there(comparison, "rare")
    if "corruption" not in present or len(present) < 2:
        return ()
    gains = {one: cell_of(comparison, one, "rare")["mrr"][1]["difference"] for one in present}  # type: ignore[index]
    nouns = {one: gain for one, gain in gains.items() if one in ("hypernym", "cohyponym")}
    others = ", ".join(f"{relation_title(one)} {signed(gain)}" for one, gain in nouns.items())
    return (
        _gain(comparison, "corruption", "rare", significant=True),
        Check(
            f"corruption {signed(gains['corruption'])}, {others}",
            gains["corruption"] > 0 and all(gains["corruption"] > gain for gain in nouns.values()),
        ),
    )


def _mixture(comparison: Mapping[str, Any]) -> tuple[Check, ...]:
    checks = []
    for band in (*BANDS, "all"):
        cell = cell_of(comparison, "all", band)
        if cell is None:
            continue
        pieces, vectors, mixed = (one["mean"] for one in cell["mrr"])
        name = "all test entries" if band == "all" else band
        text = f"{name}: mixed {figure(mixed)}, pieces {figure(pieces)}, vectors {figure(vectors)}"
        checks.append(Check(text, mixed >= max(pieces, vectors) - 0.0005))
    return tuple(checks)


def reasons(result: Result, facts: Facts) -> list[str]:
    """Contexts, counts and the pieces' own strength."""
    comparison, found = result["comparison"], []
    medians = facts["contexts_median"]
    if medians.get("rare") is not None:
        found.append(
            f"A rare keyword has {medians['rare']:.0f} contexts in the median here, a medium one "
            f"{medians.get('medium') or 0:.0f}. Counts are those of a corpus {facts['corpus_factor']:.1f} "
            "times smaller than the paper's: words that are rare here are less rare in what a model was "
            "pretrained on than the paper's rare words were for BERT, so that pieces have more to say and "
            "vectors less to add."
        )
    others = []
    for relation in RELATIONS:
        for band in BANDS:
            cell = cell_of(comparison, relation, band)
            if cell is not None and cell["entries"] < 60:
                others.append(f"{relation_title(relation)} {band} ({cell['entries']})")
    if others:
        found.append(f"Few entries, so that their figures move by chance: {', '.join(others)}.")
    return found


def _there(comparison: Mapping[str, Any], band: str) -> list[str]:
    return [one for one in RELATIONS if cell_of(comparison, one, band)]


def _count(below: float | None) -> str:
    return "all" if below is None else f"{below:,.0f}"


PART = Part("main", "The model with and without attentive mimicking", run, blocks, claims, reasons)
