"""Run one function over many items: in threads, in local processes, or on a Ray cluster with shared storage.

>>> with engine_for("local", workers=1) as engine:
...     sorted(engine.map(abs, [-3, 2]))
[(0, 3), (1, 2)]
"""

import logging
import os
import random
import signal
import sys
import threading
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager
from multiprocessing import get_context, parent_process
from types import ModuleType
from typing import Any, TypeVar

from rarewords.errors import InputError

T = TypeVar("T")
R = TypeVar("R")

_RETRIES, _RAY_RETRIES = 3, 5
_MOST_WORKERS = 10_000  # more than any cluster has; the operating system refuses some larger numbers
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
        running: deque[Future[R]] = deque()
        for item in items:
            running.append(pool.submit(function, item))
            if len(running) > 2 * pool._max_workers:
                yield running.popleft().result()
        while running:
            yield running.popleft().result()


def batches_by_length(lengths: Sequence[int], tokens: int) -> list[list[int]]:
    """Batches of indices of one length, at most ``tokens`` tokens; mixed, for an even pace."""
    groups: dict[int, list[int]] = {}
    for index, length in enumerate(lengths):
        groups.setdefault(length, []).append(index)
    sizes = {length: max(1, tokens // length) for length in groups}
    batches = [own[i : i + sizes[n]] for n, own in groups.items() for i in range(0, len(own), sizes[n])]
    return random.Random(0).sample(batches, len(batches))


class Engine(AbstractContextManager["Engine"]):
    """Something that can run a function over items; use it in a ``with`` block."""

    workers: int

    def map(self, function: Callable[[T], R], items: Sequence[T]) -> Iterator[tuple[int, R]]:
        """Yield (place of the item, result) as results come in, in any order.

        The function must be importable and items and results must pickle. A task that is lost with its
        process or machine is run again; an :class:`InputError` ends the work at once.
        """
        waiting, running = list(enumerate(items))[::-1], dict[Future[Any], int]()
        while waiting or running:
            while waiting and len(running) < 2 * self.workers:
                place, item = waiting.pop()
                running[self._submit(function, item)] = place
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                mistake, result = future.result()
                if mistake is not None:
                    raise mistake
                yield running.pop(future), result

    @abstractmethod
    def _submit(self, function: Callable[[T], R], item: T) -> "Future[tuple[InputError | None, R | None]]":
        """Have :func:`_run` called somewhere."""


def engine_for(name: str = "local", workers: int | None = None) -> Engine:
    """The engine called ``local`` or ``ray``."""
    if workers is not None and not 1 <= workers <= _MOST_WORKERS:
        raise InputError(f"workers must be from 1 to {_MOST_WORKERS:,}, not {workers}", code="engine")
    if name == "local":
        return LocalEngine(workers or cores())
    if name == "ray":
        return RayEngine(workers)
    raise InputError(f"no engine called {name!r}; there are local and ray", code="engine")


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _share_of_threads(workers: int) -> int:
    """How many of this process's threads each of its workers may use."""
    torch = sys.modules.get("torch")
    return max(1, (torch.get_num_threads() if torch else cores()) // workers)


def _use_threads(threads: int) -> None:
    os.environ["OMP_NUM_THREADS"] = str(threads)  # torch and numpy read it when they are imported
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(threads)


def _run(function: Callable[[T], R], item: T, threads: int) -> tuple[InputError | None, R | None]:
    """Call a function in a worker. A mistake in the input is an answer: it must not be tried again."""
    _use_threads(threads)
    try:
        return None, function(item)
    except InputError as mistake:
        return mistake, None


class LocalEngine(Engine):
    """Processes on this machine; with one worker everything runs in this process."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._pool: ProcessPoolExecutor | None = None

    def map(self, function: Callable[[T], R], items: Sequence[T]) -> Iterator[tuple[int, R]]:
        if self.workers == 1 or len(items) == 1:
            yield from ((place, function(item)) for place, item in enumerate(items))
            return
        left, failures = dict(enumerate(items)), 0
        while left:
            places = list(left)
            try:
                for place, result in super().map(function, list(left.values())):
                    del left[places[place]]
                    failures = 0
                    yield places[place], result
            except BrokenProcessPool:
                # A worker was killed, perhaps because memory ran out; the task it ran is not known.
                self._stop()
                failures += 1
                if failures > _RETRIES:
                    raise InputError(
                        "a worker process ended again and again, probably because memory ran out; use fewer workers",
                        code="memory",
                    ) from None

    def _submit(self, function: Callable[[T], R], item: T) -> "Future[tuple[InputError | None, R | None]]":
        with _other_main():
            return self._started().submit(_run, function, item, _share_of_threads(self.workers))

    def _started(self) -> ProcessPoolExecutor:
        if self._pool is None:
            # Not forked: the parent may hold threads and locks of other libraries.
            spawn, share = get_context("spawn"), _share_of_threads(self.workers)
            self._pool = ProcessPoolExecutor(self.workers, spawn, _start_worker, (share,))
        return self._pool

    def _stop(self) -> None:
        if self._pool is not None:
            processes = list((getattr(self._pool, "_processes", None) or {}).values())
            self._pool.shutdown(wait=False, cancel_futures=True)
            for process in processes:
                process.terminate()
            self._pool = None

    def __exit__(self, kind: object, *_: object) -> None:
        if self._pool is not None and kind is None:
            self._pool.shutdown()
        self._stop()


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


def _start_worker(threads: int) -> None:
    _use_threads(threads)
    # Ctrl-C reaches the whole group; the parent decides, a worker does not print a traceback of its own.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()

    def follow() -> None:
        # A parent killed by force cannot stop its workers; they must not outlive it.
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=follow, daemon=True).start()


class RayEngine(Engine):
    """Tasks on the Ray cluster at RAY_ADDRESS; without it, on one started here and stopped at the end."""

    def __init__(self, workers: int | None = None) -> None:
        try:
            import ray
        except ImportError:
            problem = "the engine ray needs Ray: pip install 'rarewords[ray]'"
            raise InputError(problem, code="missing-extra") from None
        self._ray: Any = ray
        self._own = not ray.is_initialized()
        if self._own:
            address = os.environ.get("RAY_ADDRESS", "local")
            new = {"num_cpus": workers, "include_dashboard": False} if address == "local" else {}
            try:
                ray.init(address, log_to_driver=False, logging_level=logging.ERROR, **new)
            except (ConnectionError, ValueError, RuntimeError) as error:
                reason = str(error).splitlines()[0]
                problem = f"no Ray cluster at RAY_ADDRESS={address}: {reason}"
                raise InputError(problem, code="engine") from None
        # Ray itself runs a task again whose worker or node is lost; it waits for a node that has room.
        self._task = ray.remote(num_cpus=1, max_retries=_RAY_RETRIES)(_run)
        self.workers = workers or max(1, int(ray.cluster_resources().get("CPU", 1)))

    def _submit(self, function: Callable[[T], R], item: T) -> "Future[tuple[InputError | None, R | None]]":
        future: Future[Any] = self._task.remote(function, item, _share_of_threads(self.workers)).future()
        return future

    def __exit__(self, *_: object) -> None:
        if self._own:
            self._ray.shutdown()
