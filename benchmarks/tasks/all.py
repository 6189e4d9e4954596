"""All tasks: stores and the rarified set are made if they are missing, then everything is measured.

    python benchmarks/tasks/all.py DATA WORK [--jobs 6] [--quick]

DATA holds eval (its README says what is in it), the text in wikipedia, encyclopaedia and crw-dev, and, if it
is to be measured, the model mpnet-mlm. WORK gets stores, the rarified set, logs, and tasks.jsonl. Jobs share
one GPU; costs are measured afterwards, one at a time. `--only` takes the beginning of names of jobs.
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
    """A command, in a process of its own; ``alone``: nothing else may run beside it."""

    name: str
    command: list[str]
    alone: bool = False


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
    sets, large = data / "eval", ["--corpus", work / "large.store"]
    models = {"mpnet-mlm": str(data / "mpnet-mlm"), "gte-mlm": "default"}
    if quick or not (data / "mpnet-mlm").exists():
        del models["mpnet-mlm"]
    for name, model in models.items():
        own = ["--model", model, "--name", name, "--out", work / "tasks.jsonl", *["--quick"] * quick]
        for one in ("ncbi-disease", "bc5cdr", "wnut17")[: 1 if quick else 3]:
            yield Job(f"ner-{one}-{name}", script("ner", sets / "ner", "--set", one, *own))
        mimic = ["--mimic", "am"] if model == "default" else []
        yield Job(f"rarified-{name}", script("rarified", work / "topics", *large, *mimic, *own))
        yield Job(f"nonces-{name}", script("nonces", sets / "unseen" / "nonces", *large, *own))
        yield Job(f"chimeras-{name}", script("chimeras", sets / "unseen" / "chimeras", *large, *own))
        pairs = {"Stanford RW": ("EN-RW-STANFORD.txt", "large"), "CRW-550": ("CRW-550.txt", "crw")}
        for task, (file, store) in pairs.items():
            corpus = ["--task", task, "--corpus", work / f"{store}.store"]
            yield Job(
                f"similarity-{store}-{name}", script("similarity", sets / "similarity" / file, *corpus, *own)
            )
        text = data / "wikipedia" / "wiki-vital-csupika.txt"
        for way in ("teach", "row", "ota"):
            yield Job(f"cost-{way}-{name}", script("cost", text, "--way", way, *own), alone=True)


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
    for job in preparations(asked.data, asked.work):
        if not run(job, asked.work):
            sys.exit(1)
    jobs = [
        job
        for job in measurements(asked.data, asked.work, asked.quick)
        if job.name.startswith(tuple(asked.only))
    ]
    with ThreadPoolExecutor(asked.jobs) as pool:
        shared = [job for job in jobs if not job.alone]
        together = list(pool.map(lambda job: run(job, asked.work, asked.jobs), shared))
    one_by_one = [run(job, asked.work) for job in jobs if job.alone]
    sys.exit(0 if all([*together, *one_by_one]) else 1)


if __name__ == "__main__":
    main()
