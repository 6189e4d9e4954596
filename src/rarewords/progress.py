"""Progress of long work, on stderr, with rate and time left.

A library call is silent; the command line turns progress on with :func:`enable`. On a terminal it is a live
bar, elsewhere (a log file, CI) one line every few seconds.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

_SECONDS_BETWEEN_LINES = 10.0
_SECONDS_WORTH_A_LINE = 3.0
_SECONDS_BETWEEN_NOTES = 0.5
_enabled = False
_shown: list[Bar] = []


class Bar:
    """What long work reports to. This one is silent."""

    def advance(self, amount: float = 1.0) -> None:
        """Say that ``amount`` more units are done."""

    def note(self, text: str) -> None:
        """Show a short note beside the bar, such as the current loss."""

    def total(self, total: float) -> None:
        """Set the number of units once it is known."""


def enable(on: bool = True) -> None:
    """Turn progress on or off for the whole process."""
    global _enabled
    _enabled = on


def message(text: str) -> None:
    """Print one line on stderr if progress is on."""
    if _enabled:
        print(text, file=sys.stderr, flush=True)


@contextmanager
def progress(title: str, total: float | None = None, unit: str = "") -> Iterator[Bar]:
    """Show the progress of a block of work.

    >>> with progress("Counting", total=259, unit="MB") as bar:
    ...     bar.advance(10)
    """
    if not _enabled:
        yield Bar()
    elif _shown:  # work inside other work is a note beside the outer bar
        try:
            yield _Inner(_shown[-1], title, total, unit)
        finally:
            _shown[-1].note("")
    else:
        with _live(title, total, unit) if sys.stderr.isatty() else _lines(title, total, unit) as bar:
            _shown.append(bar)
            try:
                yield bar
            finally:
                _shown.pop()


class _Inner(Bar):
    def __init__(self, outer: Bar, title: str, total: float | None, unit: str) -> None:
        self._outer, self._title, self._total, self._unit = outer, title, total, unit
        self._done, self._told = 0.0, 0.0

    def advance(self, amount: float = 1.0) -> None:
        self._done += amount
        if time.monotonic() - self._told >= _SECONDS_BETWEEN_NOTES:
            self._told = time.monotonic()
            of = f" of {self._total:,.0f}" if self._total else ""
            self._outer.note(f"{self._title.lower()} {self._done:,.0f}{of} {self._unit}".rstrip())

    def total(self, total: float) -> None:
        self._total = total


class _Lines(Bar):
    def __init__(self, title: str, total: float | None, unit: str) -> None:
        self._title, self._total, self._unit = title, total, f" {unit}" if unit else ""
        self._done, self._note, self._spoken = 0.0, "", False
        self._started = self._printed = time.monotonic()

    def advance(self, amount: float = 1.0) -> None:
        self._done += amount
        self._print_sometimes()

    def note(self, text: str) -> None:
        self._note = text
        if text:
            self._print_sometimes()

    def total(self, total: float) -> None:
        self._total = total

    def finish(self) -> None:
        if self._spoken or time.monotonic() - self._started > _SECONDS_WORTH_A_LINE:
            self._print(final=True)

    def _print_sometimes(self) -> None:
        if time.monotonic() - self._printed >= _SECONDS_BETWEEN_LINES:
            self._print(final=False)

    def _print(self, *, final: bool) -> None:
        self._printed, self._spoken = time.monotonic(), True
        seconds = self._printed - self._started
        rate = self._done / seconds if seconds > 0 else 0.0
        of = f" of {self._total:,.0f}" if self._total else ""
        parts = [f"{self._title}: {self._done:,.0f}{of}{self._unit}", f"{rate:,.1f}{self._unit}/s"]
        if final:
            parts.append(f"{duration(seconds)} in all")
        elif self._total and rate > 0:
            parts.append(f"{duration((self._total - self._done) / rate)} left")
        print(", ".join([*parts, *([self._note] if self._note else [])]), file=sys.stderr, flush=True)


@contextmanager
def _lines(title: str, total: float | None, unit: str) -> Iterator[Bar]:
    lines = _Lines(title, total, unit)
    yield lines
    lines.finish()


@contextmanager
def _live(title: str, total: float | None, unit: str) -> Iterator[Bar]:
    from rich.console import Console  # rich takes a while to import, and only a terminal needs it
    from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: Task) -> Text:
            of = f"/{task.total:,.0f}" if task.total else ""
            rate = f" {task.speed:,.1f}/s" if task.speed else ""
            return Text(f"{task.completed:,.0f}{of} {unit}{rate}".rstrip())

    columns = [TextColumn("{task.description}"), BarColumn(), Rate(), TimeRemainingColumn()]
    with Progress(*columns, TextColumn("{task.fields[note]}"), console=Console(stderr=True)) as shown:
        task = shown.add_task(title, total=total, note="")

        class Live(Bar):
            def advance(self, amount: float = 1.0) -> None:
                shown.advance(task, amount)

            def note(self, text: str) -> None:
                shown.update(task, note=text)

            def total(self, total: float) -> None:
                shown.update(task, total=total)

        yield Live()


def duration(seconds: float) -> str:
    """Seconds for a reader: ``75 -> '1 min 15 s'``."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"
