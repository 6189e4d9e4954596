"""Stages of a long run, kept by what they depend on, with what each of them cost."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from rarewords import __version__
from rarewords.files import read_json, whole_folder, write_json
from rarewords.progress import duration, message

_NOTE = "stage.json"


@dataclass(frozen=True)
class Cost:
    """What a stage took.

    :param seconds: without the stages it asked for on its way.
    :param reused: an earlier run made it; the seconds are that run's. What a helper made is not reused.
    :param resumed: an earlier run began it, so that its seconds are not all of them.
    """

    stage: str
    seconds: float
    reused: bool = False
    resumed: bool = False


class Workshop:
    """A folder of finished stages.

    A stage is named by a digest of everything it depends on, so that runs of other parts find it and runs
    with other settings do not. It appears whole or not at all; what it has done so far lies beside it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.costs: dict[str, Cost] = {}
        self._began = time.time()
        self._inner = [0.0]

    def stage(self, title: str, recipe: Mapping[str, Any], make: Callable[[Path, Path], None]) -> Path:
        """The folder of a stage, made where it is not there yet.

        Of several runs that need a stage at the same time one makes it, and the others wait.

        :param recipe: all that the stage depends on, as JSON can hold it.
        :param make: gets the stage's new folder, and a folder for unfinished work that outlives a kill.
        """
        spelt = title.lower().replace("+", " plus ").replace("−", " minus ")
        slug = re.sub(r"[^a-z0-9]+", "-", spelt).strip("-")
        name = f"{slug}-{digest({**recipe, 'version': __version__})[:12]}"
        target = self.folder / name
        if not self._found(name, title):
            locks = self.folder / ".locks"
            locks.mkdir(parents=True, exist_ok=True)
            with _only_one(locks / name, title):
                if not self._found(name, title):
                    self._make(target, title, recipe, make)
        return target

    def _found(self, name: str, title: str) -> bool:
        if not (self.folder / name / _NOTE).is_file():
            return False
        if name not in self.costs:
            note = self.folder / name / _NOTE
            seconds = float(read_json(note)["seconds"])
            earlier = note.stat().st_mtime < self._began
            self.costs[name] = Cost(title, seconds, reused=earlier)
            message(f"{title}: {'there from an earlier run' if earlier else 'made by another process'}")
        return True

    def _make(
        self, target: Path, title: str, recipe: Mapping[str, Any], make: Callable[[Path, Path], None]
    ) -> None:
        for left in self.folder.glob(f".{target.name}.*.part"):  # half-written by a run that was killed
            shutil.rmtree(left, ignore_errors=True)
        work = target.with_name(f".{target.name}.work")
        resumed = work.is_dir()
        message(f"{title}: {'going on' if resumed else 'beginning'}")
        clock = _Clock(self._inner)
        with whole_folder(target, replace=True) as temporary:
            make(temporary, work)
            seconds = clock.stop()
            write_json(temporary / _NOTE, {"title": title, "recipe": dict(recipe), "seconds": seconds})
        shutil.rmtree(work, ignore_errors=True)
        self.costs[target.name] = Cost(title, seconds, resumed=resumed)
        message(f"{title}: {duration(seconds)}")

    @contextmanager
    def timed(self, title: str) -> Iterator[None]:
        """Work that is not kept, but whose cost is to be known."""
        clock = _Clock(self._inner)
        yield
        self.costs[title] = Cost(title, clock.stop())


@contextmanager
def _only_one(path: Path, title: str) -> Iterator[None]:
    lock = FileLock(path)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        message(f"{title}: another run is making it; waiting")
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


class _Clock:
    """Seconds of a block without those of the blocks inside it."""

    def __init__(self, inner: list[float]) -> None:
        self._inner, self._began = inner, time.perf_counter()
        inner.append(0.0)

    def stop(self) -> float:
        passed = time.perf_counter() - self._began
        inside = self._inner.pop()
        self._inner[-1] += passed
        return passed - inside


def digest(recipe: Mapping[str, Any]) -> str:
    """A digest of anything JSON can hold."""
    return hashlib.sha256(json.dumps(recipe, sort_keys=True).encode()).hexdigest()
