"""The stages of the reproduction: folders of the cache, each with a note of what it took."""

import re
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock

from rarewords._internal.cache import Cache, key_of
from rarewords._internal.files import read_json, whole_folder, write_json
from rarewords._internal.progress import duration, message

_NOTE = "stage.json"


@dataclass(frozen=True)
class Cost:
    """What a stage took.

    :param seconds: without the stages it asked for on its way.
    :param reused: an earlier run made it; the seconds are that run's.
    :param resumed: an earlier run began it, so the seconds are not all of them.
    """

    stage: str
    seconds: float
    reused: bool = False
    resumed: bool = False


class Stages(Cache):
    """A cache that knows the cost of every stage that was asked for, by the stage's folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.spent: dict[str, Cost] = {}
        self._began = time.time()
        self._inside = 0.0  # seconds of the stages inside the current one

    @contextmanager
    def stage(self, title: str, name: str = "", *, resumed: bool = False) -> Iterator[None]:
        """Note the cost of a block of work, under its title if no other name is given."""
        began, before = time.perf_counter(), self._inside
        self._inside = 0.0
        yield
        passed = time.perf_counter() - began
        self.spent[name or title] = Cost(title, passed - self._inside, resumed=resumed)
        self._inside = before + passed

    def folder(self, title: str, recipe: Mapping[str, Any], make: Callable[[Path, Path], None]) -> Path:
        """A folder made by a stage or found from an earlier run, with a note of what it took to make it.

        :param recipe: everything the stage depends on, as JSON can hold it.
        :param make: gets the new folder, and a folder for unfinished work that outlives a kill.
        """

        def noted(target: Path, work: Path) -> None:
            name = work.name.removeprefix(".").removesuffix(".work")
            with self.stage(title, name, resumed=work.is_dir()):
                make(target, work)
            seconds = self.spent[name].seconds
            write_json(target / _NOTE, {"title": title, "recipe": dict(recipe), "seconds": seconds})

        found = self._made(title, recipe, noted)
        note = found / _NOTE
        if found.name not in self.spent:
            earlier = note.stat().st_mtime < self._began
            self.spent[found.name] = Cost(title, float(read_json(note)["seconds"]), reused=earlier)
            message(f"{title}: {'found from an earlier run' if earlier else 'made by another process'}")
        elif not self.spent[found.name].reused:
            message(f"{title}: {duration(self.spent[found.name].seconds)}")
        return found

    def _made(self, title: str, recipe: Mapping[str, Any], make: Callable[[Path, Path], None]) -> Path:
        """A folder made by a stage; of several processes that need it at the same time one makes it."""
        slug = re.sub(r"[^a-z0-9+]+", "-", title.lower().replace("−", "minus ")).strip("-")
        target = self.path / f"{slug}-{key_of(dict(recipe))}"
        if target.is_dir():
            return target
        self.path.mkdir(parents=True, exist_ok=True)
        with FileLock(self.path / f".{target.name}.lock"):
            if not target.is_dir():
                work = self.path / f".{target.name}.work"
                message(f"{title}: {'resuming' if work.is_dir() else 'starting'}")
                with whole_folder(target) as temporary:
                    make(temporary, work)
                shutil.rmtree(work, ignore_errors=True)
                message(f"{title}: done")
        return target
