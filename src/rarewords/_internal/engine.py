"""One function over many items: in threads, for a model on a CPU, or in processes, for text."""

import os
import random
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context, parent_process
from types import ModuleType
from typing import Protocol, TypeVar

from rarewords.errors import InputError

T = TypeVar("T")
R = TypeVar("R")

_MOST_WORKERS = 10_000  # the operating system refuses some larger numbers
_threads: int | None = None  # how many threads there were before one_thread


@contextmanager
def one_thread() -> Iterator[None]:
    """Let torch compute each operation in one thread, so that sums have one order on any number of cores."""
    import torch  # takes seconds, which processes that only count words need not spend

    global _threads
    if _threads is not None:  # inside another such block
        yield
        return
    _threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(_threads)
        _threads = None


def in_threads(function: Callable[[T], R], items: Iterable[T], device: str) -> Iterator[R]:
    """The results of a function, in order; on a CPU in several threads, each item in one of them.

    Batches side by side use the cores better than one batch split over threads, and no result depends on
    the number of threads.
    """
    if device != "cpu":
        yield from map(function, items)
        return
    import torch  # as above

    with one_thread(), ThreadPoolExecutor(_threads, initializer=torch.set_num_threads, initargs=(1,)) as pool:
        running = deque[Future[R]]()
        for item in items:  # few at once: results take memory, and an interruption waits for those that run
            running.append(pool.submit(function, item))
            if len(running) > 2 * pool._max_workers:
                yield running.popleft().result()
        yield from (future.result() for future in running)


def batches_by_length(lengths: Sequence[int], tokens: int) -> list[list[int]]:
    """Batches of indices of one length, at most ``tokens`` tokens; mixed, for an even pace."""
    groups: dict[int, list[int]] = {}
    for index, length in enumerate(lengths):
        groups.setdefault(length, []).append(index)
    sizes = {length: max(1, tokens // length) for length in groups}
    batches = [own[i : i + sizes[n]] for n, own in groups.items() for i in range(0, len(own), sizes[n])]
    return random.Random(0).sample(batches, len(batches))


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class ProcessMap(Protocol):
    """Maps a function, which must be importable, over items: (place of the item, result), in any order."""

    def __call__(self, function: Callable[[T], R], items: Iterable[T], /) -> Iterator[tuple[int, R]]: ...


@contextmanager
def processes(workers: int) -> Iterator[ProcessMap]:
    """Map functions over items in this many processes.

    >>> with processes(1) as in_processes:
    ...     list(in_processes(abs, [-3, 2]))
    [(0, 3), (1, 2)]
    """
    if not 1 <= workers <= _MOST_WORKERS:
        raise InputError(f"workers must be from 1 to {_MOST_WORKERS:,}, not {workers}", code="settings")
    # Not forked: the parent may hold threads and locks of other libraries.
    pool = ProcessPoolExecutor(workers, get_context("spawn"), _start_worker) if workers > 1 else None

    def in_processes(function: Callable[[T], R], items: Iterable[T], /) -> Iterator[tuple[int, R]]:
        if pool is None:
            yield from enumerate(map(function, items))
            return
        running: dict[Future[R], int] = {}
        for place, item in enumerate(items):  # few at once: items take memory
            with _other_main():
                running[pool.submit(function, item)] = place
            if len(running) > 2 * workers:
                done = next(as_completed(running))
                yield running.pop(done), done.result()
        for done in as_completed(running):
            yield running[done], done.result()

    try:
        yield in_processes
    except BrokenProcessPool:
        problem = "a worker process was killed, probably because memory ran out"
        raise InputError(f"{problem}; run it again with fewer workers", code="memory") from None
    finally:  # after an error or Ctrl-C, what runs is not waited for
        running = list((pool._processes or {}).values()) if pool else []
        if pool:
            pool.shutdown(wait=False, cancel_futures=True)
        for process in running:
            process.terminate()


@contextmanager
def _other_main() -> Iterator[None]:
    """Start workers that do not import the program's main module.

    They need nothing of it, its imports may take seconds, and a script without ``if __name__ == "__main__"``
    would run again in each of them.
    """
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def _start_worker() -> None:
    # Ctrl-C reaches the whole group; the parent decides, a worker does not print a traceback of its own.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()

    def follow() -> None:
        # A parent killed by force cannot stop its workers; they must not outlive it.
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=follow, daemon=True).start()
