"""The reproduction from end to end: run the parts asked for, and write the report."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rarewords.corpus.store import Store
from rarewords.errors import InputError
from rarewords.files import read_json, write_json
from rarewords.lm import LanguageModel
from rarewords.mimic.learner import WordLearner
from rarewords.probe.dataset import Dataset
from rarewords.progress import message
from rarewords.reproduction.claims import Claim
from rarewords.reproduction.facts import environment, facts_of
from rarewords.reproduction.laboratory import Laboratory
from rarewords.reproduction.parts import PARTS
from rarewords.reproduction.report import Report, write_report
from rarewords.reproduction.settings import ReproduceSettings
from rarewords.reproduction.workshop import Cost, Workshop, digest
from rarewords.vectors import WordVectors

ALL, REPORT = "all", "report"


@dataclass(frozen=True)
class Reproduction:
    """What a run found.

    :param results: of each part, as JSON holds them; parts of earlier runs with the same inputs included.
    :param report: the page.
    """

    results: dict[str, dict[str, Any]]
    claims: tuple[Claim, ...]
    report: Path


def reproduce(
    lm: LanguageModel,
    store: Store,
    out: str | Path,
    *,
    parts: Sequence[str] = (ALL,),
    settings: ReproduceSettings | None = None,
    dataset: Dataset | None = None,
    targets: WordVectors | None = None,
    learner: WordLearner | None = None,
    report: bool = True,
    command: str | None = None,
) -> Reproduction:
    """Run experiments of the paper and write their report.

    Stages are kept in the folder by what they depend on. A run that was cut off goes on where it stopped,
    and parts run later, or by another process at the same time, find what they share with others.

    :param parts: names of ``PARTS``, or ``all``; ``report`` alone writes the report of what is there.
    :param settings: the paper's sizes when there are none.
    :param targets: one-token approximations made beforehand.
    :param learner: our own method, for part ``beyond``; the one for this model when none is given.
    :param report: write it; otherwise only stages and results are made.
    :param command: what was typed, for the report.
    """
    out = Path(out)
    chosen = check_parts(parts)
    settings = settings or ReproduceSettings()
    if out.exists() and not out.is_dir():
        raise InputError(f"{out} is a file, not a folder; choose another folder")
    workshop = Workshop(out / "stages")
    lab = Laboratory(lm, store, dataset or Dataset.load(), settings, workshop, targets, learner)
    identities = {name: _identity(lab, name) for name in PARTS}
    here = environment(lab)
    for number, name in enumerate(chosen, 1):
        message(f"Part {number} of {len(chosen)}: {PARTS[name].title}")
        before = set(workshop.costs)
        result = PARTS[name].run(lab, out / "results")
        spent = [(cost.stage, cost.seconds) for key, cost in workshop.costs.items() if key not in before]
        kept = {"identity": identities[name], "result": result, "costs": spent, "environment": here}
        write_json(out / "results" / f"{name}.json", kept)
    found = _found(out / "results", identities)
    if not report:
        return Reproduction({name: kept["result"] for name, kept in found.items()}, (), out / "report.html")
    if not found:
        raise InputError(f"{out} has no results of this model, text and settings to report on")
    results = {name: kept["result"] for name, kept in found.items()}
    facts = facts_of(lab)
    written = Report(
        facts=facts,
        environment=here if chosen else next(iter(found.values())).get("environment", here),
        settings=settings,
        results=results,
        costs=_costs(workshop, found),
        command=command or f"rarewords reproduce {' '.join(chosen) or ALL} --corpus STORE --out DIR",
        dataset=lab.dataset.name,
    )
    write_json(out / "settings.json", {**lab.identity, "facts": facts, "environment": written.environment})
    page, claims = write_report(written, out)
    return Reproduction(results, claims, page)


def check_parts(parts: Sequence[str]) -> list[str]:
    """The parts asked for, each once, in the paper's order."""
    if list(parts) == [REPORT]:
        return []
    unknown = [name for name in parts if name not in PARTS and name != ALL]
    if unknown or not parts:
        asked = f"unknown part {unknown[0]!r}; " if unknown else "no part is named; "
        raise InputError(f"{asked}use {', '.join([ALL, *PARTS])}, or report alone")
    return [name for name in PARTS if ALL in parts or name in parts]


def command_line(parts: Sequence[str], options: dict[str, Any]) -> str:
    """The command that repeats a run; folders by their names, for a report is read elsewhere."""
    words = ["rarewords", "reproduce", *parts]
    for name, value in options.items():
        if value is True:
            words.append(f"--{name}")
        elif value not in (None, False):
            words += [f"--{name}", value.name if isinstance(value, Path) else str(value)]
    return " ".join(shlex.quote(word) for word in words)


def _identity(lab: Laboratory, name: str) -> str:
    """What a part's result depends on."""
    own = {"learner": lab.learner_identity} if PARTS[name].beyond else {}
    return digest({**lab.identity, **own})


def _found(folder: Path, identities: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """The parts of this run and of earlier runs with the same inputs and settings."""
    found = {}
    for name in PARTS:
        if (folder / f"{name}.json").is_file():
            kept = read_json(folder / f"{name}.json")
            if kept["identity"] == identities[name]:
                found[name] = kept
    return found


def _costs(workshop: Workshop, found: Mapping[str, Mapping[str, Any]]) -> tuple[Cost, ...]:
    """What the stages of this run took, and those of parts that earlier runs have made."""
    costs = {cost.stage: cost for cost in workshop.costs.values()}
    for kept in found.values():
        for stage, seconds in kept.get("costs", []):
            costs.setdefault(stage, Cost(stage, seconds, reused=True))
    return tuple(costs.values())
