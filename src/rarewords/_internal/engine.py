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
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context, parent_process
from types import ModuleType
from typing import Any, TypeVar

from rarewords.errors import InputError

T = TypeVar("T")
R = TypeVar("R")

_RAY_RETRIES = 5
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


class Engine:
    """Runs a function over items: in this process, or by ``submit``, which has :func:`_run` called elsewhere."""

    def __init__(self, workers: int = 1, submit: Callable[..., Future[Any]] | None = None) -> None:
        self.workers, self._submit = workers, submit

    def map(self, function: Callable[[T], R], items: Sequence[T]) -> Iterator[tuple[int, R]]:
        """Yield (place of the item, result) as results come in, in any order.

        The function must be importable and items and results must pickle. An :class:`InputError` ends the
        work at once.
        """
        if self._submit is None or len(items) == 1:
            yield from ((place, function(item)) for place, item in enumerate(items))
            return
        threads = _share_of_threads(self.workers)
        waiting, running = list(enumerate(items))[::-1], dict[Future[Any], int]()
        while waiting or running:
            while waiting and len(running) < 2 * self.workers:
                place, item = waiting.pop()
                running[self._submit(function, item, threads)] = place
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                mistake, result = future.result()
                if mistake is not None:
                    raise mistake
                yield running.pop(future), result


@contextmanager
def engine_for(name: str, workers: int | None) -> Iterator[Engine]:
    """The engine called ``local``, processes on this machine, or ``ray``, tasks on a cluster."""
    if workers is not None and not 1 <= workers <= _MOST_WORKERS:
        raise InputError(f"workers must be from 1 to {_MOST_WORKERS:,}, not {workers}", code="engine")
    engines = {"local": _local_engine, "ray": _ray_engine}
    if name not in engines:
        raise InputError(f"no engine called {name!r}; there are {' and '.join(engines)}", code="engine")
    with engines[name](workers) as engine:
        yield engine


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _run(function: Callable[[T], R], item: T, threads: int) -> tuple[InputError | None, R | None]:
    """Call a function in a worker. A mistake in the input is an answer: it must not be tried again."""
    _use_threads(threads)
    try:
        return None, function(item)
    except InputError as mistake:
        return mistake, None


def _use_threads(threads: int) -> None:
    os.environ["OMP_NUM_THREADS"] = str(threads)  # torch and numpy read it when they are imported
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(threads)


def _share_of_threads(workers: int) -> int:
    """How many of this process's threads each of its workers may use."""
    torch = sys.modules.get("torch")
    return max(1, (torch.get_num_threads() if torch else cores()) // workers)


@contextmanager
def _local_engine(workers: int | None) -> Iterator[Engine]:
    workers = workers or cores()
    if workers == 1:
        yield Engine()
        return
    # Not forked: the parent may hold threads and locks of other libraries.
    pool = ProcessPoolExecutor(workers, get_context("spawn"), _start_worker, (_share_of_threads(workers),))

    def submit(*task: Any) -> Future[Any]:
        with _other_main():
            return pool.submit(_run, *task)

    try:
        yield Engine(workers, submit)
        pool.shutdown()
    except BrokenProcessPool:
        problem = "a worker process was killed, probably because memory ran out"
        raise InputError(f"{problem}; run it again with fewer workers", code="memory") from None
    finally:  # after an error or Ctrl-C, what runs is not waited for
        processes = list((pool._processes or {}).values())
        pool.shutdown(wait=False, cancel_futures=True)
        for process in processes:
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


@contextmanager
def _ray_engine(workers: int | None) -> Iterator[Engine]:
    """Tasks on the Ray cluster at RAY_ADDRESS; without it, on one started here and stopped at the end."""
    try:
        import ray
    except ImportError:
        problem = "the engine ray needs Ray: pip install 'rarewords[ray]'"
        raise InputError(problem, code="missing-extra") from None
    own = not ray.is_initialized()
    if own:
        address = os.environ.get("RAY_ADDRESS", "local")
        new: dict[str, Any] = {"num_cpus": workers, "include_dashboard": False} if address == "local" else {}
        try:
            ray.init(address, log_to_driver=False, logging_level=logging.ERROR, **new)
        except (ConnectionError, ValueError, RuntimeError) as error:
            problem = f"no Ray cluster at RAY_ADDRESS={address}: {str(error).splitlines()[0]}"
            raise InputError(problem, code="engine") from None
    # Ray itself runs a task again whose worker or node is lost; it waits for a node that has room.
    run = ray.remote(num_cpus=1, max_retries=_RAY_RETRIES)(_run)

    def submit(*task: Any) -> Future[Any]:
        future: Future[Any] = run.remote(*task).future()
        return future

    try:
        yield Engine(workers or max(1, int(ray.cluster_resources().get("CPU", 1))), submit)
    finally:
        if own:
            ray.shutdown()
