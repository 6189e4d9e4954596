"""Progress of long work, on stderr, with rate and time left.

A library call is silent; the command line turns progress on with :func:`enable`. On a terminal it is one line
that is written over, elsewhere (a log file, CI) a new line every few seconds.
"""

import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

_SECONDS_BETWEEN_LINES = 10.0
_SECONDS_BETWEEN_NOTES = 0.2  # on a terminal, and for the progress of work inside other work
_SECONDS_WORTH_A_LINE = 3.0
_enabled = False
_shown: list["Bar"] = []


class Bar:
    """What long work reports to.

    :param outer: the work that this work is a part of; its line shows this one's progress as a note.
    :param passes: how much the work inside will count, about. The time left then goes by that: it is known
        before the first unit is done, and units may differ in cost.
    """

    def __init__(
        self, title: str, total: float | None, unit: str, outer: "Bar | None", passes: float | None
    ) -> None:
        self._title, self._total, self._unit, self._outer = title, total, f" {unit}" if unit else "", outer
        self._done, self._note, self._spoken = 0.0, "", False
        self._passes, self._passed, self._inside, self._pace = passes, 0.0, 0.0, 1.0
        self._started = self._printed = time.monotonic()

    def advance(self, amount: float = 1.0, passes: float = 0.0) -> None:
        """Say that ``amount`` more units are done, which were ``passes`` of those expected."""
        self._done += amount
        if passes:
            self._pace = passes / self._inside if self._inside else self._pace
            self._passed, self._inside = self._passed + passes, 0.0
        if self._outer is not None and self._total:
            self._outer._inside += amount
        self._show()

    def note(self, text: str) -> None:
        """Show a short note beside the progress, such as the current loss."""
        self._note = text
        if text:
            self._show()

    def finish(self) -> None:
        """Print what the work took, if it took long and stands alone."""
        long = self._spoken or time.monotonic() - self._started > _SECONDS_WORTH_A_LINE
        if _enabled and long and self._outer is None:
            self._print(final=True)

    def _show(self) -> None:
        often = self._outer is not None or sys.stderr.isatty()
        pause = _SECONDS_BETWEEN_NOTES if often else _SECONDS_BETWEEN_LINES
        if not _enabled or time.monotonic() - self._printed < pause:
            return
        if self._outer is None:
            self._print(final=False)
        else:
            self._printed = time.monotonic()
            self._outer.note(f"{self._title.lower()} {self._amount()}")

    def _print(self, *, final: bool) -> None:
        self._printed, self._spoken = time.monotonic(), True
        seconds = self._printed - self._started
        rate = f"{self._done / seconds:,.1f}{self._unit}/s" if self._done and seconds else ""
        left = f"{duration(seconds / self.share - seconds)} left" if self.share else ""
        took = f"{duration(seconds)} in all" if final else left
        line = ", ".join(filter(None, [f"{self._title}: {self._amount()}", rate, took, self._note]))
        if sys.stderr.isatty():
            width = shutil.get_terminal_size().columns - 1
            print(f"\r\x1b[K{line[:width]}", end="\n" if final else "", file=sys.stderr, flush=True)
        else:
            print(line, file=sys.stderr, flush=True)

    @property
    def share(self) -> float:
        """How much of the work is done, about, from 0 to 1."""
        if self._passes:
            return min(1.0, (self._passed + self._pace * self._inside) / self._passes)
        return self._done / self._total if self._total else 0.0

    def _amount(self) -> str:
        of = f" of {self._total:,.0f}" if self._total else ""
        return f"{self._done:,.0f}{of}{self._unit}"


def enable(on: bool = True) -> None:
    """Turn progress on or off for the whole process."""
    global _enabled
    _enabled = on


def message(text: str) -> None:
    """Print one line on stderr if progress is on."""
    if _enabled:
        clear = "\r\x1b[K" if _shown and sys.stderr.isatty() else ""
        print(f"{clear}{text}", file=sys.stderr, flush=True)


@contextmanager
def progress(
    title: str, total: float | None = None, unit: str = "", passes: float | None = None
) -> Iterator[Bar]:
    """Show the progress of a block of work; ``passes`` is explained at :class:`Bar`.

    >>> with progress("Counting", total=259, unit="MB") as bar:
    ...     bar.advance(10)
    """
    bar = Bar(title, total, unit, _shown[0] if _shown else None, passes)
    _shown.append(bar)
    try:
        yield bar
        bar.finish()
    finally:
        _shown.remove(bar)
        if _shown:
            _shown[0].note("")
        elif _enabled and sys.stderr.isatty():
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)  # no half line before an error


def duration(seconds: float) -> str:
    """Seconds for a reader: ``75 -> '1 min 15 s'``."""
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 1:
        return f"{rest} s"
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"
