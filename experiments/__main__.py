"""Every result that the documents quote, at one version of the code.

    python -m experiments --data DATA [--jobs 8] [--only gpu] [PART ...]      # make results DATA=DATA
    python -m experiments --data DATA --show

``parts.toml`` has the commands behind each results file, whether they need a GPU, about how many minutes they take
on one H200 beside others, and the files they are made from. A part whose file is of this code is done; the others run
in their order, each in processes of its own with a log in ``logs/``, so that the same command goes on where it was
stopped. PART is the start of a file's name, such as ``glossary``; what it needs is made, too.
"""

import os
import shlex
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from experiments.code import made_by_this_code, read_about
from rarewords._internal.tables import markdown_table

HERE = Path(__file__).parent
LOGS, WORK = HERE / "logs", "work/"
_KINDS = ("cpu", "gpu")


@dataclass(frozen=True)
class Part:
    """A results file and what makes it.

    :param run: modules below ``experiments`` with their arguments, one after the other.
    :param on: ``gpu``, or ``cpu`` for what takes no longer without one.
    :param minutes: about how long it takes.
    :param needs: the files of other parts that it reads.
    """

    file: str
    run: tuple[str, ...]
    on: str
    minutes: float
    needs: tuple[str, ...] = ()

    def commands(self, data: Path) -> list[list[str]]:
        """The commands with their paths."""
        out = HERE / self.file
        paths = {"data": data, "out": out, "results": out.parent, "work": HERE / WORK}
        words = [[one.format(**paths) for one in shlex.split(line)] for line in self.run]
        return [[sys.executable, "-m", f"experiments.{module}", *arguments] for module, *arguments in words]

    def state(self, data: Path) -> str:
        """Whether it is done, or what is in its way."""
        if made_by_this_code(HERE / self.file):
            return "done"
        named = (word for line in self.run for word in shlex.split(line) if word.startswith("{data}"))
        if not all(Path(word.format(data=data)).exists() for word in named):
            return "data missing"
        version = read_about(HERE / self.file).get("version")
        return f"of version {version}, other code" if version else "missing"


def read_parts(path: Path = HERE / "parts.toml") -> dict[str, Part]:
    """All parts by their files."""
    found = tomllib.loads(path.read_text("utf-8"))
    return {
        file: Part(file, tuple(own["run"]), own["on"], own["minutes"], tuple(own.get("needs", ())))
        for file, own in found.items()
    }


def chosen_parts(every: Mapping[str, Part], starts: Iterable[str], only: str | None, data: Path) -> list[Part]:
    """The parts whose files' names begin so, on one kind of machine, and what those need that are not done."""
    begins, wanted = tuple(starts) or tuple(every), set[str]()
    for file, part in reversed(every.items()):  # what a part needs stands before it
        if only in (None, part.on) and file.startswith(begins) and not file.startswith(WORK):
            wanted.add(file)
        if file in wanted and part.state(data) not in ("done", "data missing"):
            wanted |= {need for need in part.needs if need.startswith(WORK) or only in (None, every[need].on)}
    return [part for file, part in every.items() if file in wanted]


def main(
    parts: Annotated[list[str] | None, typer.Argument(help="The start of a results file's name.")] = None,
    data: Annotated[Path, typer.Option(help="The folder of texts, data sets and models.")] = Path("data"),
    jobs: Annotated[int, typer.Option(min=1, help="So many parts side by side.")] = 1,
    only: Annotated[str | None, typer.Option(help="cpu or gpu.")] = None,
    show: Annotated[bool, typer.Option("--show", help="Only show what is done.")] = False,
) -> None:
    """Make the results that are missing or of other code."""
    if only not in (None, *_KINDS):
        raise typer.BadParameter(f"use {' or '.join(_KINDS)}, not {only}", param_hint="--only")
    every = read_parts()
    chosen = chosen_parts(every, parts or (), only, data)
    failed = [] if show else work_off(chosen, every, data, jobs)
    rows = [
        [part.file, part.on, f"{part.minutes:g}", "failed" if part in failed else part.state(data)] for part in chosen
    ]
    print(markdown_table(["file", "on", "minutes", "state"], rows, left=2))
    if failed:
        raise SystemExit(f"failed: {', '.join(part.file for part in failed)}; {LOGS} has what they printed")


def work_off(chosen: Iterable[Part], every: Mapping[str, Part], data: Path, jobs: int) -> list[Part]:
    """Run the parts that are not done, as soon as what they need is there; return those that failed.

    However this ends, no process of a part is left.
    """
    waiting = [part for part in chosen if part.state(data) not in ("done", "data missing")]
    running: dict[Part, subprocess.Popen[bytes]] = {}
    failed: list[Part] = []
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # as Ctrl-C: by way of "finally"
    try:
        while waiting or running:
            for part in [part for part in running if running[part].poll() is not None]:
                process = running.pop(part)
                good = process.returncode == 0 and part.state(data) == "done"
                print(f"== {part.file}: {'done' if good else 'failed'}", flush=True)
                failed += [] if good else [part]
            for part in list(waiting):
                missing = [every[file] for file in part.needs if every[file].state(data) != "done"]
                if missing and not any(one in running or one in waiting for one in missing):
                    waiting.remove(part)
                    failed.append(part)
                    print(f"== {part.file}: left out without {missing[0].file}", flush=True)
                elif not missing and len(running) < jobs:
                    waiting.remove(part)
                    running[part] = _start(part, data, jobs)
            time.sleep(0.2)
    finally:
        for process in running.values():
            os.killpg(process.pid, signal.SIGTERM)
        for process in running.values():
            process.wait()
    return failed


def _start(part: Part, data: Path, jobs: int) -> "subprocess.Popen[bytes]":
    """The commands of a part, as a group of processes."""
    print(f"== {part.file}: started, about {part.minutes:g} minutes", flush=True)
    (HERE / part.file).parent.mkdir(parents=True, exist_ok=True)
    LOGS.mkdir(exist_ok=True)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    threads = {"OMP_NUM_THREADS": str(max(1, cores // jobs))} | dict(os.environ)
    line = " && ".join(map(shlex.join, part.commands(data)))
    with (LOGS / f"{part.file.replace('/', '-')}.log").open("wb") as log:
        return subprocess.Popen(
            ["sh", "-c", line], stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=threads, start_new_session=True
        )


if __name__ == "__main__":
    typer.run(main)
