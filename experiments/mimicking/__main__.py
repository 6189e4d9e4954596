"""What attentive mimicking depends on, in a text of any size: the paper's setting, and one thing changed at a time.

    python -m experiments.mimicking.sample --corpus CORPUS --out SAMPLE
    python -m experiments.mimicking --sample SAMPLE --out OUT [--model MODEL] [--piece NAME ...]
    python -m experiments.mimicking.report OUT

Start the second command as often as processes are to share the work; each piece is done once, in the order of its
value, and a second start goes on where the first was stopped. Every piece leaves a JSON file with the ranks of all
entries of WNLaMPro, from which the report is made.
"""

import platform
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import typer

from experiments.common import code_digest
from experiments.mimicking import bertram, neighbours
from experiments.mimicking.jobs import Job, work_off
from experiments.mimicking.study import FREQUENT, QUICK, Setting, Size, Study
from rarewords import LanguageModel, __version__
from rarewords._internal.files import read_json
from rarewords.models import DEFAULT_MODEL, shown_name
from rarewords.ota.objective import Batch, Objective, baseline
from rarewords.ota.settings import OtaSettings

PAPER = Setting("paper")
TODAY = Setting("count-100-contexts-64", contexts=64, changes={"min_count": FREQUENT})
FACTORIAL = (
    PAPER,
    Setting("rate-0.02", changes={"learning_rate": 0.02}),
    TODAY,
    Setting("count-100", changes={"min_count": FREQUENT}),
    Setting("contexts-64", contexts=64),
    Setting("threshold-2", changes={"ngram_threshold": 2}),
    Setting("rate-0.03", changes={"learning_rate": 0.03}),
    Setting("rate-0.02-threshold-2", changes={"learning_rate": 0.02, "ngram_threshold": 2}),
    Setting("rate-0.005", changes={"learning_rate": 0.005}),
    Setting("copies-7", changes={"copies_per_count": 7}),
    replace(TODAY, name="count-100-contexts-64-rate-0.02", changes={"min_count": FREQUENT, "learning_rate": 0.02}),
)
AM: dict[str, Any] = {"preset": "am"}
PAPER_AM = Setting("paper-am", **AM)
WITHOUT: dict[str, dict[str, Any]] = {
    "ota": {**AM, "ota": False},
    "form": {**AM, "changes": {"form": False}},
    "context": {**AM, "changes": {"context": False}},
}
BEST, TEXT = "best", ("targets", "contexts")


def main(
    sample: Annotated[Path, typer.Option(help="The folder that experiments.mimicking.sample wrote.")],
    out: Annotated[Path, typer.Option(help="The folder for results.")],
    model: str = DEFAULT_MODEL,
    limit: Annotated[int | None, typer.Option(help="At most so many entries of dev and of test, as sampled.")] = None,
    pieces: Annotated[
        list[str] | None, typer.Option("--piece", help="The start of pieces' names: only these and what they need.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A run of minutes that shows nothing.")] = False,
) -> None:
    """Do what no other process does."""
    study = Study(LanguageModel.from_pretrained(model), sample, out, QUICK if quick else Size(entries=limit))
    cuda = study.lm.device.type == "cuda"
    device = torch.cuda.get_device_name() if cuda else platform.machine()
    about = {"version": __version__, "code": code_digest(), "model": shown_name(study.lm.name)}
    study.write("about", {**about, "fingerprint": study.lm.fingerprint, "device": device, "torch": torch.__version__})
    failed = work_off(_with_needs(jobs(study), tuple(pieces or ("",))), out / "jobs")
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}; {out / 'jobs'} has the errors")


def jobs(study: Study) -> dict[str, Job]:
    """All pieces of work, the most valuable first."""
    made: dict[str, Job] = {}

    def add(name: str, run: Callable[[], object], *needs: str) -> None:
        made[name] = Job(name, run, needs)

    def train(setting: Setting, seed: int) -> None:
        add(f"{setting.name}-{seed}", partial(study.train, setting, seed), *TEXT)

    def train_best(name: str, seed: int, changes: dict[str, Any]) -> None:
        needs = [f"{one.name}-0" for one in FACTORIAL]
        add(f"{name}-{seed}", partial(_train_best, study, name, seed, changes), *TEXT, *needs)

    def test(name: str, *placements: str) -> None:
        add(f"test-{name}", partial(_test, study, name, placements or ("replace",)), name)

    def ablate(name: str, seed: int) -> None:
        train(replace(PAPER, name=f"paper-without-{name}", **WITHOUT[name]), seed)

    first, *others = study.size.seeds
    add("corpus", lambda: study.corpus)
    add("targets", study.make_targets)
    add("contexts", study.make_contexts, "corpus")
    for subset in ("dev", "test"):
        add(f"subwords-{subset}", partial(_subwords, study, subset))
    for setting in (PAPER, PAPER_AM):
        for seed in study.size.seeds:
            train(setting, seed)
    for seed in study.size.seeds:
        test(f"paper-{seed}", "replace", "append")
        test(f"paper-am-{seed}", "replace", "append")
    for name in WITHOUT:
        ablate(name, first)
    add("learner-0", partial(neighbours.learn, study), *TEXT)
    test("learner-0", "replace", "append")
    add("ota", partial(neighbours.approximate, study), *TEXT)
    add("token-distillation", partial(neighbours.distill_tokens, study), *TEXT)
    add("bertram-contexts", partial(bertram.make_contexts, study), "corpus")
    for seed in study.size.seeds:
        add(f"bertram-{seed}", partial(bertram.train, study, seed), *TEXT, "bertram-contexts")
        test(f"bertram-{seed}", "replace", "append")
    for setting in FACTORIAL[1:]:
        train(setting, first)
    for seed in study.size.seeds:
        train_best(BEST, seed, {})
        test(f"best-{seed}", "replace", "append")
    for name in ("fast", "paper"):
        add(f"sample-{name}", partial(study.make_sample, name), *TEXT)
    for name in ("fast", "paper"):
        add(f"with-sample-{name}", partial(_train_on_sample, study, name), "sample-fast", "sample-paper", *TEXT)
    add("sample-distance", partial(_distances, study), "sample-fast", "sample-paper")
    for seed in study.size.seeds:
        train_best("best-am", seed, AM)
        test(f"best-am-{seed}")
        for name, changes in WITHOUT.items():
            train_best(f"best-without-{name}", seed, changes)
    for seed in others:
        for name in WITHOUT:
            ablate(name, seed)
    return made


def _with_needs(every: dict[str, Job], starts: tuple[str, ...]) -> list[Job]:
    """The jobs whose names begin so, and those they need, in their order."""
    wanted = {name for name in every if name.startswith(starts)}
    for name in reversed(every):  # what a job needs stands before it
        if name in wanted:
            wanted |= set(every[name].needs)
    return [job for name, job in every.items() if name in wanted]


def best_setting(study: Study) -> Setting:
    """The setting of the factorial with the highest mean reciprocal rank of rare words on dev."""
    rare = np.array([entry.word.count < 10 for entry in study.dataset("dev")])

    def rare_words(setting: Setting) -> float:
        ranks = np.array(read_json(study.out / f"{setting.name}-0.json")["rows"][-2]["dev"])[rare]
        return float(np.where(ranks > 0, 1 / np.maximum(ranks, 1), 0).mean())

    return max(FACTORIAL, key=rare_words)


def _train_best(study: Study, name: str, seed: int, changes: dict[str, Any]) -> None:
    chosen = best_setting(study)
    if name == BEST and seed == 0:
        shutil.copy(study.work / f"{chosen.name}-0.safetensors", study.work / "best-0.safetensors")
        study.write("best-0", {**read_json(study.out / f"{chosen.name}-0.json"), "name": BEST, "is": chosen.name})
        return
    both = {**chosen.changes, **changes.get("changes", {})}
    study.train(replace(chosen, name=name, **{**changes, "changes": both}), seed)


def _train_on_sample(study: Study, name: str) -> None:
    setting = Setting(f"with-sample-{name}", changes={"min_count": FREQUENT})
    study.train(setting, 0, targets=study.targets(f"sample-{name}"))


def _subwords(study: Study, subset: str) -> None:
    study.write(f"subwords-{subset}", {"name": "subwords", subset: study.ranks(subset, None)})


def _test(study: Study, name: str, placements: tuple[str, ...]) -> None:
    embeddings = study.targets(name)
    found = {placement: study.ranks("test", embeddings, placement) for placement in placements}
    study.write(f"test-{name}", {"name": name, **found})


def _distances(study: Study) -> None:
    """How far the model's states are from those with the subwords, in contexts that no search saw."""
    lm, settings = study.lm, OtaSettings.preset("paper", seed=1)
    objective, made = (Objective(lm, settings), {name: study.targets(f"sample-{name}") for name in ("fast", "paper")})
    words = made["fast"].words
    batch = Batch.of(lm, [lm.subwords(word) for word in words], seed=settings.seed)
    candidates = {name: torch.from_numpy(one.subset(words).matrix).to(lm.device) for name, one in made.items()}
    candidates["mean of the subwords"] = baseline(lm, batch.subwords, "avg")
    found: dict[str, list[float]] = {name: [] for name in candidates}
    with torch.no_grad():
        for context in range(16):
            targets = objective.targets(batch, context)
            for name, embeddings in candidates.items():
                found[name].append(float(objective.distance(embeddings, targets, batch.keys, context).mean()))
    steps = dict(zip(("fast", "paper"), study.size.steps, strict=True))
    cosine = torch.nn.functional.cosine_similarity(candidates["fast"], candidates["paper"]).mean()
    means = {name: float(np.mean(values)) for name, values in found.items()}
    study.write("sample-distance", {"words": len(words), "steps": steps, "distance": means, "cosine": float(cosine)})


if __name__ == "__main__":
    typer.run(main)
