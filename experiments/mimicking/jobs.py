"""Pieces of work that several processes share: each is done once, after what it needs, and never again."""

import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

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
    The system frees the claims of a killed process.

    :return: the names of the failed jobs.
    """
    folder.mkdir(parents=True, exist_ok=True)
    left = list(jobs)
    while left:
        for job in left:
            if _exists(folder, job.name, "done", "failed") or _do(job, folder):
                left.remove(job)
                break
        else:
            time.sleep(_WAIT)
    return [job.name for job in jobs if _exists(folder, job.name, "failed")]


def forget_failures(folder: Path) -> None:
    """Let the next processes try again what has failed."""
    for path in folder.glob("*.failed"):
        path.unlink()


def _do(job: Job, folder: Path) -> bool:
    """Do a job if nothing is in its way; whether it is done or has failed."""
    if any(_exists(folder, name, "failed") for name in job.needs):
        _write(folder / f"{job.name}.failed", "what it needs has failed")
        return True
    if not all(_exists(folder, name, "done") for name in job.needs):
        return False
    try:
        with FileLock(folder / f"{job.name}.claim", blocking=False):
            if not _exists(folder, job.name, "done", "failed"):
                _run(job, folder)
    except Timeout:  # another process does it
        return False
    return True


def _run(job: Job, folder: Path) -> None:
    began = time.time()
    try:
        job.run()
    except Exception:
        _write(folder / f"{job.name}.failed", traceback.format_exc())
    else:
        _write(folder / f"{job.name}.done", f"{time.time() - began:.1f}")


def _exists(folder: Path, name: str, *endings: str) -> bool:
    return any((folder / f"{name}.{ending}").exists() for ending in endings)


def _write(path: Path, text: str) -> None:
    path.with_suffix(".part").write_text(text, "utf-8")
    path.with_suffix(".part").replace(path)
