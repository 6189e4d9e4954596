"""The reproduction from end to end: run the parts asked for, and write the report."""

import json
import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any

from experiments.code import code_digest, code_of, made_by_this_code, used_modules
from experiments.paper.experiment import Experiment
from experiments.paper.part import Part, Wait, to_json
from experiments.paper.parts.ablation import AblationPart
from experiments.paper.parts.examples import ExamplesPart
from experiments.paper.parts.heatmap import HeatMapPart
from experiments.paper.parts.main import MainPart
from experiments.paper.parts.methods import MethodsPart
from experiments.paper.parts.ota import OtaPart
from experiments.paper.report import Reproduction, environment, write_report
from experiments.paper.settings import ReproduceSettings, sample_dataset
from experiments.paper.stages import Cost, Stages
from rarewords._internal.cache import key_of
from rarewords._internal.engine import ProcessMap, processes
from rarewords._internal.files import read_json, require_folder, write_json, write_lines
from rarewords._internal.progress import message, progress
from rarewords._internal.schema import parse
from rarewords.corpus.corpus import Corpus
from rarewords.embeddings import WordEmbeddings
from rarewords.errors import InputError
from rarewords.lm import LanguageModel
from rarewords.wnlampro.dataset import Dataset, load

ALL, REPORT = "all", "report"
PARTS: dict[str, type[Part]] = {
    part.name: part for part in (OtaPart, MethodsPart, HeatMapPart, AblationPart, MainPart, ExamplesPart)
}


@dataclass(frozen=True)
class _Finished:
    """The file of a finished part.

    :param identity: a digest of what the result depends on.
    :param code: the modules behind it, as :func:`code_of` says it.
    :param costs: of the stages that were made for it.
    :param result: the fields of the part.
    """

    identity: str
    environment: str
    code: dict[str, str]
    costs: tuple[Cost, ...]
    result: Any


def reproduce(
    lm: LanguageModel,
    corpus: Corpus,
    out: str | Path,
    *,
    parts: Sequence[str] = (ALL,),
    settings: ReproduceSettings | None = None,
    dataset: Dataset | None = None,
    targets: WordEmbeddings | None = None,
    command: str | None = None,
    workers: int = 1,
) -> Reproduction:
    """Run experiments of the paper and write their report.

    Finished stages stay in the folder's cache, keyed by what they depend on: an interrupted run resumes, and
    later parts reuse what they share with others.

    :param parts: names of ``PARTS``, or ``all``; ``report`` alone writes the report of finished parts.
    :param settings: the paper's sizes by default.
    :param targets: one-token approximations made earlier; missing words are approximated.
    :param command: the command line to show in the report.
    :param workers: processes that make stages side by side.
    """
    out, chosen, began = Path(out), check_parts(parts), time.time()
    require_folder(out, empty=False)
    settings = settings or ReproduceSettings()
    cache = Stages(_cache_of_this_code(out / "cache") if chosen else out / "cache")
    entries = sample_dataset(dataset or load(), settings)
    experiment = Experiment(lm, corpus, entries, settings, cache, targets)
    identity = key_of(experiment.identity)
    if workers > 1:
        with processes(workers) as in_processes:
            _make_ahead(experiment, [PARTS[name] for name in chosen], in_processes)
    for number, name in enumerate(chosen, 1):
        message(f"Part {number} of {len(chosen)}: {PARTS[name].title}")
        before = set(cache.spent)
        result = PARTS[name].run(experiment, out / "results")
        spent = [cost for key, cost in cache.spent.items() if key not in before]
        finished = _Finished(identity, environment(lm), code_of(used_modules()), tuple(spent), result)
        # With the keys in the order of the tables, which write_json would sort.
        text = json.dumps(to_json(finished), indent=1, ensure_ascii=False)
        write_lines(out / "results" / f"{name}.json", [text])
    files = {name: path for name in PARTS if (path := out / "results" / f"{name}.json").is_file()}
    remedy = "remove it and run the part again"
    every = {name: parse(_Finished, read_json(path), path, remedy) for name, path in files.items()}
    found = {name: finished for name, finished in every.items() if finished.identity == identity}
    if not found:
        raise InputError(f"{out} has no results of this model, corpus and settings to report on", code="missing-file")
    earlier = [replace(cost, reused=True) for finished in found.values() for cost in finished.costs]
    costs = {cost.stage: cost for cost in (*earlier, *cache.spent.values())}
    results = {name: parse(PARTS[name], finished.result, files[name], remedy) for name, finished in found.items()}
    facts = {**experiment.facts(), "environment": next(iter(found.values())).environment}
    about = {**experiment.identity, "facts": dict(facts), **_code_behind([one.code for one in found.values()])}
    facts["command"] = command or f"python -m experiments.paper {' '.join(chosen) or ALL} --corpus CORPUS --out OUT"
    done = Reproduction(out, settings, results, tuple(costs.values()), facts)
    write_report(done)
    write_json(out / "settings.json", about)
    _remove_left(out, began)
    return done


def _cache_of_this_code(folder: Path) -> Path:
    """A folder for stages, without those of other code."""
    about = folder / "code.json"
    if not made_by_this_code(about):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        write_json(about, code_of(used_modules()))
    return folder


def _code_behind(parts: Sequence[dict[str, str]]) -> dict[str, str]:
    """The code of all parts, or of one that is of other code than this."""
    for code in parts:
        if code["code"] != code_digest(code["modules"].split()):
            return code
    return code_of(sorted({module for code in parts for module in code["modules"].split()}))


def _make_ahead(experiment: Experiment, parts: Sequence[type[Part]], in_processes: ProcessMap) -> None:
    """Make the stages of these parts side by side, first those that others wait for."""
    stages = sorted(
        (stage for part in parts for stage in part.stages(experiment)),
        key=attrgetter("wait"),  # those that wait for the same stay in their order
    )
    chores = [stage.make for stage in stages]
    chores[:0] = [partial(experiment.make, "subwords")]
    if any(stage.wait is not Wait.NOTHING for stage in stages):
        chores[:0] = [*experiment.approximating(), partial(experiment.make, "contexts")]
    with progress("Making stages side by side", total=len(chores), unit="stages") as bar:
        for _ in in_processes(_make, chores):
            bar.advance()


def _make(chore: Callable[[], object]) -> None:
    chore()  # the cache keeps what it makes


def check_parts(parts: Sequence[str]) -> list[str]:
    """The parts asked for, each once, in the paper's order."""
    if list(parts) == [REPORT]:
        return []
    unknown = [name for name in parts if name not in PARTS and name != ALL]
    if unknown or not parts:
        asked = f"unknown part {unknown[0]!r}; " if unknown else "no part is named; "
        raise InputError(f"{asked}use {', '.join([ALL, *PARTS])}, or report alone", code="usage")
    return [name for name in PARTS if ALL in parts or name in parts]


def _remove_left(out: Path, began: float) -> None:
    """Remove what a killed run left half-written; what another process is writing now is younger."""
    for folder in (out, out / "figures", out / "results"):
        for path in folder.glob(".*.part"):
            with suppress(OSError):
                if path.stat().st_mtime < began:
                    shutil.rmtree(path)
