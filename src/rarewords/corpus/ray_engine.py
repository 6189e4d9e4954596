"""The engine on a Ray cluster. Input and output must be on storage that every node sees."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

from rarewords.errors import InputError

T = TypeVar("T")
R = TypeVar("R")

_RETRIES = 5


class RayEngine:
    """Tasks on a Ray cluster; without an address, on a cluster started here and stopped at the end."""

    def __init__(self, workers: int | None = None, address: str | None = None) -> None:
        try:
            import ray
        except ImportError:
            raise InputError("the engine ray needs Ray: pip install 'rarewords[ray]'") from None
        self._ray: Any = ray
        self._own = not ray.is_initialized()
        if self._own:
            try:
                ray.init(
                    address=address,
                    num_cpus=None if address else workers,
                    log_to_driver=False,
                    logging_level=logging.ERROR,
                    include_dashboard=None if address else False,
                )
            except (ConnectionError, ValueError, RuntimeError) as error:
                where = address or "this machine"
                raise InputError(f"no Ray cluster at {where}: {str(error).splitlines()[0]}") from None
        self.workers = workers or max(1, int(ray.cluster_resources().get("CPU", 1)))

    def map(self, function: Callable[[T], R], items: Sequence[T]) -> Iterator[tuple[int, R]]:
        ray = self._ray
        # Ray itself runs a task again whose worker or node is lost; it waits for a node that has room.
        task = ray.remote(num_cpus=1, max_retries=_RETRIES)(_run)
        waiting = list(range(len(items)))[::-1]
        failures = [0] * len(items)
        running: dict[Any, int] = {}
        while waiting or running:
            while waiting and len(running) < 2 * self.workers:
                place = waiting.pop()
                running[task.remote(function, items[place])] = place
            for reference in ray.wait(list(running), num_returns=1)[0]:
                place = running.pop(reference)
                try:
                    mistake, result = ray.get(reference)
                except ray.exceptions.RayError:
                    failures[place] += 1
                    if failures[place] > _RETRIES:
                        raise
                    waiting.append(place)
                    continue
                if mistake is not None:
                    raise InputError(mistake)
                yield place, result

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._own:
            self._ray.shutdown()


def _run(function: Callable[[T], R], item: T) -> tuple[str | None, R | None]:
    # A mistake in the input is an answer, not a failure: it must not be tried again.
    try:
        return None, function(item)
    except InputError as mistake:
        return str(mistake), None
