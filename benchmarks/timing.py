"""What the benchmarks share: runs in turns or in processes of their own, one table and one JSON file each."""

import argparse
import gzip
import json
import multiprocessing
import os
import platform
import resource
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

import torch

from rarewords import __version__
from rarewords._internal.tables import markdown_table

R = TypeVar("R")
DATA = Path(__file__).resolve().parents[1] / "tests" / "data"
_SPAWN = multiprocessing.get_context("spawn")


@dataclass(frozen=True)
class Run:
    """Wall-clock seconds, processor seconds, and the peak memory in MB, which only :func:`apart` knows."""

    seconds: float
    processor: float | None = None
    memory: int | None = None


def options(description: str) -> argparse.ArgumentParser:
    """A parser with the options of every benchmark; none of them needs an argument."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--model", default="default", help="`default`, a folder or a hub name")
    parser.add_argument("--out", type=Path, default=Path("build/bench"), help="where the JSON file goes")
    return parser


def timed(work: Callable[[], R]) -> tuple[R, Run]:
    """The result of some work, and what it took."""
    wall, used = time.perf_counter(), time.process_time()
    result = work()
    return result, Run(time.perf_counter() - wall, time.process_time() - used)


def in_turns(ways: Mapping[str, Callable[[], Any]], rounds: int) -> tuple[dict[str, Any], dict[str, Run]]:
    """The last result of each way, and the median of its runs; the ways take turns, so that other work on the
    machine disturbs all alike."""
    results: dict[str, Any] = {}
    runs: dict[str, list[Run]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, work in ways.items():
            results[name], run = timed(work)
            runs[name].append(run)
    return results, {name: _median(own) for name, own in runs.items()}


def _median(runs: Sequence[Run]) -> Run:
    seconds, processor = ([getattr(run, name) for run in runs] for name in ("seconds", "processor"))
    return Run(statistics.median(seconds), statistics.median(processor))


def apart(work: Callable[..., R], *arguments: Any) -> tuple[R, Run]:
    """:func:`timed` in a process of its own, whose imports do not count, with its peak memory."""
    with ProcessPoolExecutor(1, _SPAWN) as pool:  # unlike Pool's, its processes may start others
        return pool.submit(_measured, work, arguments).result()


def _measured(work: Callable[..., R], arguments: tuple[Any, ...]) -> tuple[R, Run]:
    result, run = timed(lambda: work(*arguments))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return result, Run(run.seconds, run.processor, peak >> (20 if sys.platform == "darwin" else 10))


def sample_text(target: Path, megabytes: float) -> Path:
    """The text of the tests, a megabyte of Wikipedia, repeated until it is long enough."""
    text = gzip.decompress((DATA / "wikipedia.txt.gz").read_bytes())
    with target.open("wb") as stream:
        while stream.tell() < megabytes * 1e6:
            stream.write(text[: int(megabytes * 1e6) - stream.tell()])
    return target


def invented() -> list[tuple[str, list[str]]]:
    """The invented words of the tests with their sentences."""
    table = (DATA / "invented" / "words.tsv").read_text("utf-8").splitlines()
    lines = (DATA / "invented" / "text.txt").read_text("utf-8").splitlines()
    words = [line.split("\t")[0] for line in table if not line.startswith("#")]
    return [(word, [line for line in lines if word in line.lower()]) for word in words]


def report(out: Path, title: str, runs: Mapping[str, Run], **about: Any) -> None:
    """Print how the ways compare with the first, which is ours, and write ``OUT/TITLE.json``."""
    first = next(iter(runs.values()))
    rows = []
    for name, run in runs.items():
        cells = [name, f"{run.seconds:.3g}", f"{run.processor:.3g}" if run.processor else "–"]
        cells += [f"{run.memory:,}" if run.memory else "–", f"{run.seconds / first.seconds:.2f}"]
        rows.append(cells)
    said = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in about.items())
    print(f"{title}{': ' if said else ''}{said}")
    print(markdown_table([title, "seconds", "processor seconds", "MB", "times ours"], rows))
    cuda = torch.cuda.is_available()
    machine = {
        "device": torch.cuda.get_device_name() if cuda else f"{platform.machine()} CPU",
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "torch": torch.__version__,
    }
    values = {"benchmark": title, "version": __version__, **machine, **about}
    values["runs"] = {name: asdict(run) for name, run in runs.items()}
    out.mkdir(parents=True, exist_ok=True)
    (out / f"{title.replace(' ', '-')}.json").write_text(json.dumps(values, indent=1) + "\n", "utf-8")
