"""Commands that are killed, run side by side or run out of disk, and what must be true afterwards.

A command runs in a fork of a process that has only imported torch, so that a trial does not spend its time on
imports and a kill lands in the work itself.
"""

import hashlib
import json
import multiprocessing
import os
import random
import resource
import signal
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from rarewords.cli.app import main
from tests.cli.run import rarewords

_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(["tests.imports"])
COMMANDS = ("corpus build", "ota", "mimic train", "teach", "inject", "forget")


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit code, negative for a signal, and what it said on stderr."""

    code: int
    said: str


class Task:
    """A command on small inputs of a bench (:class:`tests.fuzz.bench.Bench`), run in a folder of its own."""

    def __init__(self, name, bench, folder):
        self.name, self.bench, self.folder = name, bench, folder
        self.out = folder / "out"
        folder.mkdir()

    @property
    def arguments(self):
        bench, model = self.bench, ("--model", self.bench["model"])
        out, words = ("--out", self.out), ("--words", bench["many.txt"])
        given = {
            "corpus build": (bench["large.txt"], *out, "--workers", 1),
            "ota": (*words, *out, *model, "--steps", 10),
            "mimic train": ("--corpus", bench["corpus"], *out, *model, "--settings", bench["longer.toml"]),
            "inject": ("--embeddings", bench["v.safetensors"], *out, *model, "--placement", "append"),
            "forget": (bench["taught"], "kumquat", *out),
            "teach": (bench["corpus"], *words, *out, *model, "--set", "keep_all=true"),
        }
        return [*self.name.split(), *map(str, given[self.name])]

    def start(self, *, largest_file=None):
        """Run the command in a new process."""
        started = _FORKS.Process(target=_command, args=(self.arguments, self._log, largest_file), daemon=True)
        started.start()
        return started

    def end(self, process):
        """Wait for a started command."""
        process.join()
        return Ended(process.exitcode, self._log.read_text() if self._log.exists() else "")

    def run(self, **limits):
        return self.end(self.start(**limits))

    def run_until(self, seconds):
        """Run a command and kill it after some seconds."""
        process = self.start()
        process.join(seconds)
        process.kill()
        return self.end(process)

    @property
    def _log(self):
        return self.folder.with_suffix(".log")

    @property
    def made(self):
        """The digest of every file of the output, without the times in it."""
        if self.out.is_file():
            return {"": _digest(self.out.read_bytes())}
        return {
            str(path.relative_to(self.out)): _digest(_timeless(path))
            for path in sorted(self.out.rglob("*"))
            if path.is_file()
        }

    @property
    def left(self):
        """What else is in the folder of the output."""
        return sorted(path.name for path in self.folder.iterdir() if path != self.out)


def _command(arguments, log, largest_file):
    """Run the command line in this process, as a shell would, and end the process."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
    sys.stdout, sys.stderr = os.fdopen(1, "w", closefd=False), os.fdopen(2, "w", closefd=False)
    if largest_file is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))
    sys.argv = ["rarewords", "-q", *arguments]
    main()


def _digest(raw):
    return hashlib.sha256(raw).hexdigest()


def _timeless(path):
    if path.suffix != ".json":
        return path.read_bytes()
    return json.dumps(_without_times(json.loads(path.read_text("utf-8"))), sort_keys=True).encode()


def _without_times(value):
    if isinstance(value, dict):
        timed = ("seconds", "examples_per_second")
        return {name: _without_times(one) for name, one in value.items() if name not in timed}
    return [_without_times(one) for one in value] if isinstance(value, list) else value


@dataclass(frozen=True)
class Whole:
    """A run that nothing disturbed."""

    made: dict
    seconds: float


def undisturbed(name, bench, folder):
    """Run a command to its end, twice; everything else is compared with this."""
    times = []
    for attempt in range(2):  # the first may have to load from the disk what the second has in memory
        task, started = Task(name, bench, folder.with_name(f"{folder.name}-{attempt}")), time.perf_counter()
        ended = task.run()
        times.append(time.perf_counter() - started)
        assert ended.code == 0, ended.said
        assert not task.left
    return Whole(task.made, min(times))


def killed_then_resumed(name, bench, folder, whole, moment):
    """Kill a command at a moment, from 0 to 1, of its time; the same command then ends with the same files.

    Returns whether the kill came before the end.
    """
    task = Task(name, bench, folder)
    first = task.run_until(moment * whole.seconds)
    assert first.code in (0, -signal.SIGKILL), first.said
    _resumed(task, whole)
    return first.code != 0


def _resumed(task, whole):
    again = task.run()
    # Killed after its last step, it has nothing left to do: it says that the output exists.
    done = again.code == 2 and again.said.endswith("[output]\n")
    assert again.code == 0 or done, again.said
    assert task.made == whole.made
    assert not task.left


def two_at_once(name, bench, folder, whole):
    """Start a command twice at the same time: one makes the output, the other is refused in one line."""
    folder.mkdir()
    for attempt in range(20):  # on a busy machine a short command may end before it is seen to have begun
        task = Task(name, bench, folder / str(attempt))
        first = task.start()
        while first.is_alive() and not any(map(_held, task.folder.glob(".*.work/lock"))):
            time.sleep(0.001)
        with suppress(ProcessLookupError):
            os.kill(first.pid, signal.SIGSTOP)
            if any(map(_held, task.folder.glob(".*.work/lock"))):  # stopped while it holds the lock
                break
            os.kill(first.pid, signal.SIGCONT)
        task.end(first)
    second = task.run()
    os.kill(first.pid, signal.SIGCONT)
    assert task.end(first).code == 0
    assert second.code == 2, second.said
    assert second.said.endswith("[busy]\n")
    assert second.said.count("\n") == 1
    assert task.made == whole.made


def _held(lock):
    """Whether a process holds a lock file; it exists a moment before that."""
    locks = Path("/proc/locks")
    return not locks.exists() or f":{lock.stat().st_ino} " in locks.read_text()


def out_of_disk(name, bench, folder, whole, largest_file):
    """Refuse files above a size, as a full disk does; with room again, the same command ends well.

    The size must leave room for what the command says. Returns whether the limit was met.
    """
    task = Task(name, bench, folder)
    before = task.made if task.out.exists() else None
    first = task.run(largest_file=largest_file)
    assert first.code in (0, 2), first.said
    if first.code == 2:
        assert first.said.count("\n") == 1, first.said
        assert first.said.endswith("[disk-full]\n"), first.said
        assert (task.made if task.out.exists() else None) == before
        again = task.run()
        assert again.code == 0, again.said
    assert task.made == whole.made
    assert not task.left
    return first.code == 2


def moments(count, seed=0):
    """Random moments of a run, from 0 to 1, one in each of as many equal parts of it."""
    draw = random.Random(seed)
    return [(part + draw.random()) / count for part in range(count)]


def prepare(bench):
    """Add to a bench what these trials need: more text, more words, a longer training."""
    text = Path(bench["text.txt"]).read_text("utf-8")
    lines = [line for line in text.splitlines() if line.strip()]
    bench["large.txt"].write_text("\n".join(f"{line} {n}" for n in range(60) for line in lines), "utf-8")
    found = sorted({word for word in text.lower().split() if word.isalpha() and len(word) > 8})
    bench["many.txt"].write_text("\n".join(found[:20]), "utf-8")
    bench["longer.toml"].write_text("min_count = 2\nepochs = 6\n")
    rarewords(
        *("-q", "inject", "--embeddings", bench["v.safetensors"], "--model", bench["model"]),
        *("--out", bench["taught"]),
    )
    first = _FORKS.Process(target=int)  # the server of forks starts with it
    first.start()
    first.join()
    return bench
