"""Pieces of work that several processes share: each is done once, after what it needs, and never again."""

import os
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

_WAIT = 1.0  # seconds, while another process makes what is needed


@dataclass(frozen=True)
class Job:
    """A piece of work with the names of those it needs."""

    name: str
    run: Callable[[], object]
    needs: tuple[str, ...] = ()


def work_off(jobs: Sequence[Job], folder: Path) -> list[str]:
    """Do the jobs that no other process does, in their order, and wait for what they need.

    A finished job leaves a file with its seconds, a failed one a file with its error; what needs it is left out.
    Remove the claims of a killed process, ``*.claim`` and ``*.failed``, to let another do its jobs.

    :return: the names of the failed jobs.
    """
    folder.mkdir(parents=True, exist_ok=True)
    left = list(jobs)
    while left:
        for job in left:
            if _exists(folder, job.name, "done", "failed"):
                break
            if any(_exists(folder, name, "failed") for name in job.needs):
                _write(folder / f"{job.name}.failed", "what it needs has failed")
                break
            if all(_exists(folder, name, "done") for name in job.needs) and _claim(folder / f"{job.name}.claim"):
                _do(job, folder)
                break
        else:
            time.sleep(_WAIT)
            continue
        left.remove(job)
    return [job.name for job in jobs if _exists(folder, job.name, "failed")]


def _do(job: Job, folder: Path) -> None:
    began = time.time()
    try:
        job.run()
    except Exception:
        _write(folder / f"{job.name}.failed", traceback.format_exc())
    else:
        _write(folder / f"{job.name}.done", f"{time.time() - began:.1f}")


def _exists(folder: Path, name: str, *endings: str) -> bool:
    return any((folder / f"{name}.{ending}").exists() for ending in endings)


def _claim(path: Path) -> bool:
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


def _write(path: Path, text: str) -> None:
    path.with_suffix(".part").write_text(text, "utf-8")
    path.with_suffix(".part").replace(path)
