"""Run the command line as a user does: arguments in, exit code, stdout and stderr out.

In this process, because importing torch for every call would take most of the suite's time.
"""

import io
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass

from rarewords.cli.app import main


@dataclass(frozen=True)
class Done:
    stdout: str
    stderr: str


def rarewords(*arguments, code=0):
    """Run ``rarewords ARGUMENTS``; fails the test when the exit code is another than ``code``."""
    out, err, found = io.StringIO(), io.StringIO(), 0
    before = sys.argv
    sys.argv = ["rarewords", *map(str, arguments)]
    try:
        with redirect_stdout(out), redirect_stderr(err):
            main()
    except SystemExit as stop:
        found = stop.code or 0
    finally:
        sys.argv = before
    assert found == code, f"exit code {found}\n{out.getvalue()}\n{err.getvalue()}"
    return Done(out.getvalue(), err.getvalue())


def refused(*arguments):
    """Run a command that must be refused: exit code 2, one line on stderr. Returns that line."""
    lines = [line for line in rarewords(*arguments, code=2).stderr.splitlines() if line.strip()]
    assert len(lines) == 1, lines
    return lines[0]
