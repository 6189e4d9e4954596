"""The reproduction from end to end: run the parts asked for, and write the report."""

import json
import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from experiments.paper.experiment import Experiment
from experiments.paper.part import Part
from experiments.paper.parts.ablation import AblationPart
from experiments.paper.parts.examples import ExamplesPart
from experiments.paper.parts.heatmap import HeatMapPart
from experiments.paper.parts.main import MainPart
from experiments.paper.parts.methods import MethodsPart
from experiments.paper.parts.ota import OtaPart
from experiments.paper.report import Reproduction, environment, write_report
from experiments.paper.settings import CONFIGURATIONS, ReproduceSettings, sample_dataset
from rarewords.corpus.store import Store
from rarewords.engine import Engine
from rarewords.errors import InputError
from rarewords.files import from_json, read_json, require_folder, to_json, write_json, write_lines
from rarewords.lm import LanguageModel
from rarewords.probe.dataset import Dataset
from rarewords.progress import message, progress
from rarewords.stages import Cost, Stages, key_of
from rarewords.vectors import WordVectors

ALL, REPORT = "all", "report"
PARTS: dict[str, type[Part]] = {
    part.name: part for part in (OtaPart, MethodsPart, HeatMapPart, AblationPart, MainPart, ExamplesPart)
}


def reproduce(
    lm: LanguageModel,
    store: Store,
    out: str | Path,
    *,
    parts: Sequence[str] = (ALL,),
    settings: ReproduceSettings | None = None,
    dataset: Dataset | None = None,
    targets: WordVectors | None = None,
    command: str | None = None,
    engine: Engine | None = None,
) -> Reproduction:
    """Run experiments of the paper and write their report.

    Finished stages stay in the folder, keyed by what they depend on: an interrupted run resumes, and later
    parts reuse what they share with others.

    :param parts: names of ``PARTS``, or ``all``; ``report`` alone writes the report of finished parts.
    :param settings: the paper's sizes by default.
    :param targets: cached one-token approximations; missing words are approximated.
    :param command: the command line to show in the report.
    :param engine: makes stages side by side in several processes.
    """
    out, chosen, began = Path(out), check_parts(parts), time.time()
    require_folder(out, empty=False)
    settings, stages = settings or ReproduceSettings(), Stages(out / "stages")
    entries = sample_dataset(dataset or Dataset.load(), settings)
    experiment = Experiment(lm, store, entries, settings, stages, targets)
    identity = key_of(experiment.identity)
    if engine is not None:
        _make_ahead(experiment, [PARTS[name] for name in chosen], out / "results", engine)
    for number, name in enumerate(chosen, 1):
        message(f"Part {number} of {len(chosen)}: {PARTS[name].title}")
        before = set(stages.costs)
        result = PARTS[name].run(experiment, out / "results")
        spent = [cost for key, cost in stages.costs.items() if key not in before]
        kept = {"identity": identity, "environment": environment(lm), "costs": spent}
        # With the keys in the order of the tables, which write_json would sort.
        text = json.dumps(to_json({**kept, "result": result}), indent=1, ensure_ascii=False)
        write_lines(out / "results" / f"{name}.json", [text])
    found = {name: read_json(path) for name in PARTS if (path := out / "results" / f"{name}.json").is_file()}
    found = {name: one for name, one in found.items() if one["identity"] == identity}
    if not found:
        raise InputError(f"{out} has no results of this model, corpus and settings to report on")
    earlier = [Cost(**{**cost, "reused": True}) for kept in found.values() for cost in kept["costs"]]
    costs = {cost.stage: cost for cost in (*earlier, *stages.costs.values())}
    results = {name: from_json(PARTS[name], one["result"]) for name, one in found.items()}
    facts = {**experiment.facts(), "environment": next(iter(found.values()))["environment"]}
    write_json(out / "settings.json", {**experiment.identity, "facts": facts})
    facts["command"] = (
        command or f"python -m experiments.paper {' '.join(chosen) or ALL} --corpus STORE --out DIR"
    )
    done = Reproduction(out, settings, results, tuple(costs.values()), facts)
    write_report(done)
    _remove_left(out, began)
    return done


def _make_ahead(experiment: Experiment, parts: Sequence[type[Part]], results: Path, engine: Engine) -> None:
    """Make the stages of these parts side by side: each training, and parts without one."""
    seeds = experiment.settings.training_seeds
    chores: list[Callable[[], object]] = []
    chores += [partial(part.run, experiment, results) for part in parts if not part.trains]
    # First those that need no approximations, which another process is making meanwhile.
    for name in sorted(CONFIGURATIONS, key=lambda name: CONFIGURATIONS[name].ota):
        if any(name in part.trains for part in parts):
            chores += [partial(experiment.training, name, seed) for seed in seeds]
    with progress("Making stages side by side", total=len(chores), unit="stages") as bar:
        for _ in engine.map(_make, chores):
            bar.advance()


def _make(chore: Callable[[], object]) -> None:
    chore()  # the stages keep what it makes


def check_parts(parts: Sequence[str]) -> list[str]:
    """The parts asked for, each once, in the paper's order."""
    if list(parts) == [REPORT]:
        return []
    unknown = [name for name in parts if name not in PARTS and name != ALL]
    if unknown or not parts:
        asked = f"unknown part {unknown[0]!r}; " if unknown else "no part is named; "
        raise InputError(f"{asked}use {', '.join([ALL, *PARTS])}, or report alone")
    return [name for name in PARTS if ALL in parts or name in parts]


def _remove_left(out: Path, began: float) -> None:
    """Remove what a killed run left half-written; what another process is writing now is younger."""
    for folder in (out, out / "figures", out / "results"):
        for path in folder.glob(".*.part"):
            with suppress(OSError):
                if path.stat().st_mtime < began:
                    shutil.rmtree(path)
