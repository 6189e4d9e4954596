"""The pieces of both parts, and the processes that do them."""

import platform
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from experiments.mimicking import bertram, neighbours
from experiments.mimicking.jobs import Job, work_off
from experiments.mimicking.study import FREQUENT, Setting, Size, Study
from rarewords import LanguageModel
from rarewords.models import shown_name
from rarewords.ota.objective import Batch, Objective, baseline
from rarewords.ota.settings import OtaSettings

PAPER = Setting("paper")
FACTORIAL = (
    PAPER,
    Setting("count-100", changes={"min_count": FREQUENT}),
    Setting("contexts-64", contexts=64),
    Setting("count-100-contexts-64", contexts=64, changes={"min_count": FREQUENT}),
    Setting("rate-0.02", changes={"learning_rate": 0.02}),
    Setting("rate-0.005", changes={"learning_rate": 0.005}),
    Setting("threshold-2", changes={"ngram_threshold": 2}),
)
AM: dict[str, Any] = {"preset": "am"}
PAPER_AM = Setting("paper-am", **AM)
WITHOUT: dict[str, dict[str, Any]] = {
    "ota": {**AM, "ota": False},
    "form": {**AM, "changes": {"form": False}},
    "context": {**AM, "changes": {"context": False}},
}
TEXT = ("targets", "contexts")
Part = Literal["table", "factorial"]


def work(part: Part, sample: Path, out: Path, model: str, size: Size) -> list[str]:
    """Do what no other process does; the names of what has failed."""
    study = Study(LanguageModel.from_pretrained(model), sample, out, size)
    cuda = study.lm.device.type == "cuda"
    device = torch.cuda.get_device_name() if cuda else platform.machine()
    about = {"model": shown_name(study.lm.name), "fingerprint": study.lm.fingerprint, "torch": torch.__version__}
    study.write("about", {**about, "device": device})
    return work_off(list(jobs(study, part).values()), out / "jobs")


def jobs(study: Study, part: Part) -> dict[str, Job]:
    """All pieces of a part, the most valuable first, those that others need before these."""
    made: dict[str, Job] = {}

    def add(name: str, run: Callable[[], object], *needs: str) -> None:
        made[name] = Job(name, run, needs)

    def train(setting: Setting, seed: int) -> None:
        add(f"{setting.name}-{seed}", partial(study.train, setting, seed), *TEXT)

    def test(name: str) -> None:
        add(f"test-{name}", partial(_test, study, name), name)

    first, seeds = study.size.seeds[0], study.size.seeds
    add("targets", study.make_targets)
    add("corpus", lambda: study.corpus)
    add("contexts", study.make_contexts, "corpus")
    add("subwords-dev", partial(_subwords, study, "dev"))
    if part == "table":
        add("bertram-contexts", partial(bertram.make_contexts, study), "corpus")
        add("subwords-test", partial(_subwords, study, "test"))
        add("bertram-states", partial(bertram.make_states, study), "bertram-contexts")
        for seed in seeds:
            add(f"bertram-form-{seed}", partial(bertram.train_form, study, seed), *TEXT, "bertram-contexts")
        add("token-distillation", partial(neighbours.distill_tokens, study), *TEXT)
        add("learner-0", partial(neighbours.learn, study), *TEXT)
    for setting in (PAPER, PAPER_AM):
        for seed in seeds:
            train(setting, seed)
    if part == "table":
        add("ota", partial(neighbours.approximate, study), *TEXT)
        for seed in seeds:
            add(f"bertram-{seed}", partial(bertram.train, study, seed), "bertram-states", f"bertram-form-{seed}")
        test("learner-0")
        for name in ("paper", "paper-am", "bertram"):
            for seed in seeds:
                test(f"{name}-{seed}")
        return made
    add("sample-paper", partial(study.make_sample, "paper"), *TEXT)
    add("sample-fast", partial(study.make_sample, "fast"), *TEXT)
    for setting in FACTORIAL[1:]:
        train(setting, first)
    for name, changes in WITHOUT.items():
        train(replace(PAPER, name=f"paper-without-{name}", **changes), first)
    for name in ("fast", "paper"):
        add(f"with-sample-{name}", partial(_train_on_sample, study, name), "sample-fast", "sample-paper", *TEXT)
    add("sample-distance", partial(_distances, study), "sample-fast", "sample-paper")
    return made


def _train_on_sample(study: Study, name: str) -> None:
    setting = Setting(f"with-sample-{name}", changes={"min_count": FREQUENT})
    study.train(setting, 0, targets=study.targets(f"sample-{name}"))


def _subwords(study: Study, subset: str) -> None:
    study.write(f"subwords-{subset}", {"name": "subwords", subset: study.ranks(subset, None)})


def _test(study: Study, name: str) -> None:
    embeddings = study.targets(name)
    found = {placement: study.ranks("test", embeddings, placement) for placement in ("replace", "append")}
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
