"""All tasks: stores and the rarified set are made if they are missing, then everything is measured.

    python benchmarks/tasks/all.py DATA WORK [--jobs 10] [--quick]

DATA holds eval (its README says what is in it), the text in wikipedia, encyclopaedia and crw-dev, and, if it
is to be measured, the model mpnet-mlm. WORK gets stores, the rarified set, taught models, logs, and
tasks.jsonl. Jobs share one GPU (with NVIDIA's MPS they share it better), and a tagger's job fine-tunes two or
three models at a time. Costs are measured afterwards, one at a time for each model. `--only` takes the
beginning of names of jobs.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Job:
    """A command, in a process of its own; ``costs`` of this model are measured when the rest is done."""

    name: str
    command: list[str]
    costs: str = ""


def script(name: str, *arguments: object) -> list[str]:
    return [sys.executable, str(HERE / f"{name}.py"), *map(str, arguments)]


def preparations(data: Path, work: Path) -> Iterator[Job]:
    """The stores and the rarified set that are missing."""
    build = [sys.executable, "-m", "rarewords", "-q", "corpus", "build"]
    large, crw = work / "large.store", work / "crw.store"
    if not large.exists():
        yield Job("large.store", [*build, f"{data}/wikipedia", f"{data}/encyclopaedia", "--out", str(large)])
    if not crw.exists():
        yield Job("crw.store", [*build, f"{data}/crw-dev", "--out", str(crw)])
    if not (work / "topics").exists():
        articles = data / "wikipedia" / "wiki-vibhas.txt"
        yield Job("topics", script("rarify", articles, "--corpus", large, "--out", work / "topics"))


def measurements(data: Path, work: Path, quick: bool) -> Iterator[Job]:
    """Long ones first."""
    models = {"mpnet-mlm": str(data / "mpnet-mlm"), "gte-mlm": "default"}
    if quick or not (data / "mpnet-mlm").exists():
        del models["mpnet-mlm"]

    def jobs(name: str, program: str, *arguments: object, costs: bool = False) -> Iterator[Job]:
        """One for each model."""
        for model, place in models.items():
            own = ["--model", place, "--name", model, "--out", work / "tasks.jsonl", *["--quick"] * quick]
            yield Job(f"{name}-{model}", script(program, *arguments, *own), costs=model if costs else "")

    sets, large = data / "eval", ["--corpus", work / "large.store"]
    beside = {"ncbi-disease": 1} if quick else {"wnut17": 3, "bc5cdr": 2, "ncbi-disease": 2}
    for one, models_at_once in beside.items():
        own = ["--set", one, "--taught", work / "taught", "--jobs", models_at_once]
        yield from jobs(f"ner-{one}", "ner", sets / "ner", *own)
    yield from jobs("rarified", "rarified", work / "topics", *large)
    yield from jobs("nonces", "nonces", sets / "unseen" / "nonces", *large)
    yield from jobs("chimeras", "chimeras", sets / "unseen" / "chimeras", *large)
    for task, file, store in (("Stanford RW", "EN-RW-STANFORD", "large"), ("CRW-550", "CRW-550", "crw")):
        corpus = ["--task", task, "--corpus", work / f"{store}.store"]
        yield from jobs(f"similarity-{store}", "similarity", sets / "similarity" / f"{file}.txt", *corpus)
    text = data / "wikipedia" / "wiki-vital-csupika.txt"
    for way in ("teach", "row", "ota"):
        yield from jobs(f"cost-{way}", "cost", text, "--way", way, costs=True)


def run(job: Job, work: Path, beside: int = 1) -> bool:
    """Run a job, ``beside`` of them at a time, with its output in a log; whether it ended well."""
    started = time.perf_counter()
    threads = {"OMP_NUM_THREADS": str(max(1, len(os.sched_getaffinity(0)) // beside))}
    with (work / "logs" / f"{job.name}.log").open("w") as log:
        done = subprocess.run(
            job.command, stdout=log, stderr=subprocess.STDOUT, env={**os.environ, **threads}, check=False
        )
    said = "" if done.returncode == 0 else f", exit code {done.returncode}; see logs/{job.name}.log"
    print(f"{job.name}: {time.perf_counter() - started:.0f} s{said}", flush=True)
    return done.returncode == 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--jobs", type=int, default=1, help="how many run side by side")
    parser.add_argument("--only", nargs="+", default=[""], metavar="NAME")
    parser.add_argument("--quick", action="store_true", help="a small part of each, on the bundled model")
    asked = parser.parse_args()
    (asked.work / "logs").mkdir(parents=True, exist_ok=True)
    started = time.perf_counter()
    for job in preparations(asked.data, asked.work):
        if not run(job, asked.work):
            sys.exit(1)
    jobs = [
        job
        for job in measurements(asked.data, asked.work, asked.quick)
        if job.name.startswith(tuple(asked.only))
    ]
    with ThreadPoolExecutor(asked.jobs) as pool:
        shared = [job for job in jobs if not job.costs]
        well = list(pool.map(lambda job: run(job, asked.work, asked.jobs), shared))
        models = dict.fromkeys(job.costs for job in jobs if job.costs)
        for ended in pool.map(
            lambda model: [run(job, asked.work, len(models)) for job in jobs if job.costs == model], models
        ):
            well += ended
    print(f"all: {time.perf_counter() - started:.0f} s", flush=True)
    sys.exit(0 if all(well) else 1)


if __name__ == "__main__":
    main()
