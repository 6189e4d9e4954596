"""Part ``ablation``: what attentive mimicking needs, on dev."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, stdev

from rarewords.probe.dataset import BANDS
from rarewords.probe.result import ProbeResult
from rarewords.probe.significance import compare_values
from rarewords.report.tables import figure, signed
from rarewords.reproduction import published
from rarewords.reproduction.claims import Check, Claim, p_text
from rarewords.reproduction.configurations import title_of
from rarewords.reproduction.document import EMPTY, Block, Figure, Table, Text
from rarewords.reproduction.figures import draw_ablation
from rarewords.reproduction.laboratory import Laboratory
from rarewords.reproduction.parts.base import Facts, Part, Result
from rarewords.reproduction.parts.comparing import direction
from rarewords.reproduction.results import figures, metric_of, of_set


def run(lab: Laboratory, folder: Path) -> Result:
    """Train every configuration with every seed and probe dev at the epochs measured."""
    epochs, configurations = lab.settings.sample.epochs, lab.settings.configurations
    pieces = of_set(lab.pieces, lab.dataset, "dev")
    pieces.save(folder / "ablation-pieces.json.gz")
    runs, last = [], {}
    for seed in lab.settings.training_seeds:
        for configuration in configurations:
            training = lab.training(configuration, seed)
            for epoch in epochs:
                made = training.vectors[epoch].subset(
                    word for word in lab.dev_keywords if word in training.vectors[epoch]
                )
                label = f"{title_of(configuration)}, {epoch} epochs, seed {seed}"
                result = lab.probe(label, vectors=made, subset="dev")
                result.save(folder / f"ablation-{configuration}-{epoch}-{seed}.json.gz")
                report = training.history[epoch - 1]
                runs.append(
                    {
                        "configuration": configuration,
                        "seed": seed,
                        "epoch": epoch,
                        "mrr": round(result.mrr, 6),
                        "cells": figures(result),
                        "loss": report["loss"],
                        "context_share": report["context_share"],
                        "words": len(made),
                    }
                )
                last[configuration, epoch, seed] = result
    first = lab.settings.training_seeds[0]
    return {
        "epochs": list(epochs),
        "seeds": list(lab.settings.training_seeds),
        "configurations": list(configurations),
        "pieces": {"mrr": round(pieces.mrr, 6), "cells": figures(pieces)},
        "runs": runs,
        "tests": _tests(last, configurations, epochs, first),
        "entries": len(pieces),
    }


def _tests(
    last: dict[tuple[str, int, int], ProbeResult],
    configurations: Sequence[str],
    epochs: Sequence[int],
    seed: int,
) -> dict[str, dict[str, float]]:
    """Each configuration against AM after the last epoch, and the last epoch against the first; one seed."""
    end, tests = epochs[-1], {}
    pairs = [(f"{one} against am", (one, end), ("am", end)) for one in configurations if one != "am"]
    pairs.append(("am+context, more epochs", ("am+context", end), ("am+context", epochs[0])))
    for name, one, other in pairs:
        if (*one, seed) in last and (*other, seed) in last:
            found = compare_values(last[(*one, seed)].reciprocal, last[(*other, seed)].reciprocal)
            tests[name] = {
                "difference": found.mean,
                "low": found.low,
                "high": found.high,
                "wins": found.wins,
                "losses": found.losses,
                "p": found.p_value,
            }
    return tests


def blocks(result: Result, drawn: Path) -> list[Block]:
    """The table of configurations, beside the paper's."""
    epochs = result["epochs"]
    rows = []
    for configuration in result["configurations"]:
        paper = published.ABLATION.get(configuration, ())
        row = [title_of(configuration)]
        for place, epoch in enumerate(epochs):
            row += [
                _spread(result, configuration, epoch),
                figure(paper[place]) if place < len(paper) else EMPTY,
            ]
        ours = _mrr(result, configuration, epochs[-1]) - _mrr(result, "am", epochs[-1])
        there = paper[-1] - published.ABLATION["am"][-1] if paper else None
        same = EMPTY
        if configuration != "am" and there is not None:
            same = direction(ours, there)
        rows.append(
            [
                *row,
                EMPTY if configuration == "am" else signed(ours),
                EMPTY if there is None or configuration == "am" else signed(there),
                same,
            ]
        )
    pieces = [EMPTY] * (2 * len(epochs) + 3)
    pieces[2 * (len(epochs) - 1)] = figure(result["pieces"]["mrr"])
    rows.append(["no vectors (pieces)", *pieces])
    header = ["configuration"]
    for place, epoch in enumerate(epochs):
        known = published.ABLATION_EPOCHS[place : place + 1]
        header += [f"{epoch} epochs", f"paper, {known[0]}" if known else "paper"]
    draw_ablation(result, drawn / "ablation")
    several = len(result["seeds"]) > 1
    return [
        Text(
            f"MRR over the {result['entries']:,} entries of dev, every keyword shown as its mimicked "
            "vector. AM is the default configuration; AM+context has at least 8 contexts for each "
            "training instance and drops 10 % of n-grams. The others leave something out of AM: words of "
            "several pieces, the spelling, the contexts."
            + (
                f" Means of {len(result['seeds'])} trainings, with their standard deviation; p-values are "
                "the first one's."
                if several
                else ""
            )
        ),
        Figure(
            drawn / "ablation",
            f"MRR on dev after {epochs[-1]} epochs; outlined: the paper's after 10, BERT-base.",
            "Bars of MRR by configuration, ours and the paper's",
        ),
        Table("ablation", "MRR on dev.", [*header, "Δ AM", "paper", "direction"], rows),
        Table(
            "ablation-frequency",
            f"The same after {epochs[-1]} epochs by frequency (the paper gives no such table).",
            ["configuration", *BANDS, "from contexts"],
            [
                [
                    title_of(configuration),
                    *(_banded(result, configuration, band) for band in BANDS),
                    f"{_share(result, configuration):.0%}",
                ]
                for configuration in result["configurations"]
            ],
        ),
    ]


def claims(result: Result) -> list[Claim]:
    """OTA, form and context are needed; AM+context is better than AM, more epochs than fewer."""
    first, last = result["epochs"][0], result["epochs"][-1]
    listed = set(result["configurations"])
    found = []
    if {"am", "no-ota"} <= listed:
        found.append(
            Claim(
                "ablation",
                "Learning from OTA vectors of words of several pieces helps.",
                "table of configurations",
                ".258 / .253 with, .219 / .220 without",
                _better(result, "am", "no-ota", "no-ota against am"),
            )
        )
    for configuration, what, paper in (
        ("no-form", "the spelling", ".138 / .133"),
        ("no-context", "the contexts", ".227 / .225"),
    ):
        if {"am", configuration} <= listed:
            found.append(
                Claim(
                    "ablation",
                    f"Both form and context are essential: without {what} it is worse.",
                    "table of configurations",
                    f".258 / .253 with both, {paper} without {what}",
                    _better(result, "am", configuration, f"{configuration} against am"),
                )
            )
    if {"am", "am+context"} <= listed:
        found.append(
            Claim(
                "ablation",
                "AM+context is better than AM.",
                "table of configurations",
                ".262 / .276 against .258 / .253",
                _better(result, "am+context", "am", "am+context against am"),
            )
        )
        one, other = _mrr(result, "am+context", last), _mrr(result, "am+context", first)
        test = result["tests"].get("am+context, more epochs", {"p": 1.0})
        found.append(
            Claim(
                "ablation",
                "AM+context gains from more epochs.",
                "table of configurations",
                ".262 after 5, .276 after 10",
                (
                    Check(
                        f"{figure(other)} after {first}, {figure(one)} after {last} epochs, "
                        f"{p_text(test['p'])}",
                        round(one, 3) > round(other, 3),
                    ),
                ),
            )
        )
        lean, more = (_share(result, one) for one in ("am", "am+context"))
        found.append(
            Claim(
                "ablation",
                "AM leans on the spelling; AM+context puts more weight on contexts.",
                "section on AM+context",
                "no figures",
                (
                    Check(f"AM takes {lean:.0%} from contexts in training", lean < 0.5),
                    Check(f"AM+context takes {more:.0%}", more > lean),
                ),
            )
        )
    return found


def _better(result: Result, one: str, other: str, test: str) -> tuple[Check, ...]:
    checks = []
    for epoch in result["epochs"]:
        here, there = _mrr(result, one, epoch), _mrr(result, other, epoch)
        after = "1 epoch" if epoch == 1 else f"{epoch} epochs"
        text = f"{after}: {title_of(one)} {figure(here)}, {title_of(other)} {figure(there)}"
        if epoch == result["epochs"][-1] and test in result["tests"]:
            text += f", {p_text(result['tests'][test]['p'])}"
        checks.append(Check(text, round(here, 3) > round(there, 3)))  # as they are printed
    return tuple(checks)


def reasons(result: Result, facts: Facts) -> list[str]:
    """Training words and contexts beside the paper's."""
    last = result["epochs"][-1]
    found = [
        f"AM learns from {facts['training_one_piece']:,} words of one piece and "
        f"{facts['training_several']:,} of several; without OTA only the former remain. Contexts come from "
        f"{facts['corpus_size']}, the paper's from nearly 1000 million, where more words of several pieces "
        "reach a count of 100."
    ]
    if facts["contexts_median"].get("rare") is not None:
        found.append(
            f"Half of the rare keywords have at most {facts['contexts_median']['rare']:.0f} contexts here, "
            f"medium ones {facts['contexts_median'].get('medium', 0):.0f}; {facts['without_contexts']:.0%} "
            "of all keywords (misspellings above all) have none, and only their spelling speaks."
        )
    best = max(result["configurations"], key=lambda one: _mrr(result, one, last))
    changes = []
    for band in BANDS:
        own = metric_of(result["pieces"]["cells"], "all", band)
        if own is not None:
            changes.append(f"{band} {figure(own)} → {_banded(result, best, band)}")
    found.append(
        f"From the model's own pieces to {title_of(best)}, the best of ours, dev goes from "
        f"{figure(result['pieces']['mrr'])} to {figure(_mrr(result, best, last))}: {', '.join(changes)}."
    )
    return found


def _last(result: Result, configuration: str, epoch: int | None = None) -> list[Result]:
    epoch = result["epochs"][-1] if epoch is None else epoch
    return [one for one in result["runs"] if one["configuration"] == configuration and one["epoch"] == epoch]


def _share(result: Result, configuration: str) -> float:
    """How much of a vector came from contexts in the last epoch of training."""
    return fmean(one["context_share"] for one in _last(result, configuration))


def _mrr(result: Result, configuration: str, epoch: int) -> float:
    return fmean(one["mrr"] for one in _last(result, configuration, epoch))


def _spread(result: Result, configuration: str, epoch: int) -> str:
    values = [one["mrr"] for one in _last(result, configuration, epoch)]
    return figure(fmean(values)) + (f" ± {figure(stdev(values))}" if len(values) > 1 else "")


def _banded(result: Result, configuration: str, band: str) -> str:
    values = [metric_of(one["cells"], "all", band) for one in _last(result, configuration)]
    known = [value for value in values if value is not None]
    return figure(fmean(known)) if known else EMPTY


PART = Part("ablation", "What attentive mimicking needs", run, blocks, claims, reasons)
