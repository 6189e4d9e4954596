"""Kills, full disks, visitors and memory: how much the commands and the page bear.

Run from the root of the repository:
    python -m benchmarks.reliability kills --count 50 [--commands "corpus build" ota]
    python -m benchmarks.reliability disk [--sizes 20]
    python -m benchmarks.reliability page [--requests 2000]
    python -m benchmarks.reliability memory TEXT... [--workers 2]

The commands run on small inputs with a small model of random weights, as in ``tests/test_faults.py``. A line
that comes out wrong is an AssertionError with what the command said.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import threading
import time
from http.client import HTTPConnection
from pathlib import Path

from tests import faults
from tests.fuzz.bench import Bench


def kills(commands: list[str], count: int) -> None:
    """Kill each command at random moments and run it again: the same files, nothing left beside them."""
    with tempfile.TemporaryDirectory() as place:
        bench = faults.prepare(Bench(Path(place)))
        for name in commands:
            whole = faults.undisturbed(name, bench, Path(place) / f"{name} whole")
            early = 0
            for number, moment in enumerate(faults.moments(count)):
                folder = Path(place) / f"{name} {number}"
                early += faults.killed_then_resumed(name, bench, folder, whole, moment)
            print(f"{name}: {count} kills, {early} before the end; same files every time", flush=True)


def disk(commands: list[str], sizes: int) -> None:
    """Refuse files above a size, up to that of the output's largest file, and run again with room."""
    with tempfile.TemporaryDirectory() as place:
        bench = faults.prepare(Bench(Path(place)))
        for name in commands:
            first = Path(place) / f"{name} whole"
            whole = faults.undisturbed(name, bench, first)
            largest = max(path.stat().st_size for path in first.rglob("*") if path.is_file())
            draw, met = random.Random(0), 0
            for number in range(sizes):
                size = 1000 + int(largest * draw.random() ** 2)  # what the command says must fit
                met += faults.out_of_disk(name, bench, Path(place) / f"{name} {number}", whole, size)
            print(
                f"{name}: {sizes} limits, {met} met; one line, nothing damaged, then the same files",
                flush=True,
            )


def page(requests: int) -> None:
    """Ask the page many questions from 8 visitors at a time, good and bad ones, and watch its memory."""
    command = [sys.executable, "-m", "rarewords", "serve", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline().split(":")[2].split("/")[0])
        found: dict[int, int] = {}
        memory: list[int] = []
        left = iter(range(requests))
        lock = threading.Lock()

        def visit() -> None:
            for number in left:
                sentence = f"A blimpet of number {number} is sweeter than a plum."
                good = {"word": "blimpet", "sentences": [sentence]}
                sent = good if number % 4 else {"word": "<b>", "sentences": [sentence]}
                connection = HTTPConnection("127.0.0.1", port, timeout=300)
                connection.request(
                    "POST", "/api/study", json.dumps(sent), {"Content-Type": "application/json"}
                )
                status = connection.getresponse().status
                connection.close()
                with lock:
                    found[status] = found.get(status, 0) + 1
                    if sum(found.values()) % max(1, requests // 10) == 0:
                        memory.append(_resident(process.pid))

        visitors = [threading.Thread(target=visit) for _ in range(8)]
        started = time.perf_counter()
        for visitor in visitors:
            visitor.start()
        for visitor in visitors:
            visitor.join()
        seconds = time.perf_counter() - started
        process.terminate()
    shown = ", ".join(f"{count} with status {status}" for status, count in sorted(found.items()))
    print(f"{requests} requests in {seconds:.0f} s: {shown}")
    print(f"memory after each tenth, MB: {', '.join(str(one >> 20) for one in memory)}")


def _resident(process: int) -> int:
    """Bytes of memory that a process has now (Linux)."""
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def memory(texts: list[str], workers: int) -> None:
    """Build a store in a new process and report the peak memory of its largest process."""
    size = sum(Path(text).stat().st_size for text in texts)
    with tempfile.TemporaryDirectory() as place:
        command = [sys.executable, "-m", "rarewords", "-q", "corpus", "build", *texts]
        started = time.perf_counter()
        subprocess.run([*command, "--out", f"{place}/store", "--workers", str(workers)], check=True)
        seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(
        f"{size / 1e9:.2f} GB in {seconds:.0f} s, peak memory of a process {peak:,.0f} MB, {workers} workers"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trial", choices=["kills", "disk", "page", "memory"])
    parser.add_argument("texts", nargs="*", help="for memory: files of text")
    parser.add_argument("--commands", nargs="+", default=list(faults.COMMANDS), choices=faults.COMMANDS)
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--sizes", type=int, default=20)
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    if given.trial == "kills":
        kills(given.commands, given.count)
    elif given.trial == "disk":
        disk([name for name in given.commands if name != "reproduce"], given.sizes)
    elif given.trial == "page":
        page(given.requests)
    else:
        memory(given.texts, given.workers)


if __name__ == "__main__":
    main()
