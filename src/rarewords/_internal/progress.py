"""Progress of long work and messages about it.

The library is silent unless a program asks for more: messages go to the logger ``rarewords``, progress is
shown after :func:`enable`. On a terminal it is a bar, elsewhere (a log file, CI) a line every few seconds.
"""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

LOG = logging.getLogger("rarewords")
_SECONDS_BETWEEN_LINES = 10.0
_SECONDS_WORTH_A_LINE = 3.0
_console: Console | None = None  # where progress is shown; None until a program asks for it
_shown: list["Bar"] = []
_live: Progress | None = None


class Bar:
    """What long work reports to. ``total``: how many units there are; None if nobody knows."""

    def __init__(self, title: str, total: float | None, unit: str) -> None:
        self.title, self.total, self.unit, self.done = title, total, unit, 0.0
        self.started = self._printed = time.monotonic()
        self.task = None if _live is None else _live.add_task(title, total=total, amount="")

    def advance(self, amount: float = 1.0) -> None:
        """Say that ``amount`` more units are done."""
        self.done += amount
        if _live is not None and self.task is not None:
            _live.update(self.task, completed=self.done, amount=self._amount())
        elif _console and _shown[0] is self and time.monotonic() > self._printed + _SECONDS_BETWEEN_LINES:
            self._printed = time.monotonic()
            LOG.info(self.line())

    def line(self, *, final: bool = False) -> str:
        """The progress as text: ``Reading: 20 of 259 MB, 10.0 MB/s, 24 s left``."""
        seconds = max(1e-9, time.monotonic() - self.started)
        parts = [f"{self.title}: {self._amount()}"]
        if self.done:
            parts.append(f"{self.done / seconds:,.1f} {self.unit}/s")
        if final:
            parts.append(f"{duration(seconds)} in all")
        elif self.done and self.total:
            parts.append(f"{duration(max(0.0, seconds * (self.total / self.done - 1)))} left")
        return ", ".join(parts)

    def _amount(self) -> str:
        of = f" of {self.total:,.0f}" if self.total else ""
        return f"{self.done:,.0f}{of} {self.unit}".rstrip()


def enable(on: bool = True) -> None:
    """Show progress and messages on stderr, for the whole process; or stop it."""
    global _console
    _console = Console(stderr=True, highlight=False, markup=False, soft_wrap=True) if on else None
    LOG.handlers = [_ToConsole()] if on else []
    LOG.setLevel(logging.INFO if on else logging.NOTSET)
    LOG.propagate = not on


class _ToConsole(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        if _console is not None:
            _console.print(record.getMessage())


def message(text: str) -> None:
    """Say what has been done, in one line."""
    LOG.info(text)


@contextmanager
def progress(title: str, total: float | None = None, unit: str = "") -> Iterator[Bar]:
    """Show the progress of a block of work.

    >>> with progress("Counting", total=259, unit="MB") as bar:
    ...     bar.advance(10)
    """
    global _live
    if not _shown and _console is not None and _console.is_terminal:
        text = (TextColumn("{task.description}"), BarColumn(20), TextColumn("{task.fields[amount]}"))
        _live = Progress(*text, TimeElapsedColumn(), TimeRemainingColumn(), console=_console, transient=True)
        _live.start()
    bar = Bar(title, total, unit)
    _shown.append(bar)
    try:
        yield bar
        # What took long is worth a line, if it is not part of other work.
        if len(_shown) == 1 and time.monotonic() - bar.started > _SECONDS_WORTH_A_LINE:
            LOG.info(bar.line(final=True))
    finally:
        _shown.remove(bar)
        if _live is not None and bar.task is not None:
            _live.remove_task(bar.task)
        if _live is not None and not _shown:
            _live.stop()
            _live = None


def duration(seconds: float) -> str:
    """Seconds for people: ``75 -> '1 min 15 s'``."""
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 1:
        return f"{rest} s"
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"
