"""Run the command line as a user does: arguments in, exit code, stdout and stderr out.

In this process and with one copy of the bundled model, because importing torch and loading a model for every
call would take most of the suite's time.
"""

import io
import os
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache
from unittest.mock import patch

from rarewords._internal.progress import enable
from rarewords.cli.app import main
from rarewords.lm import LanguageModel
from rarewords.models import DEFAULT_MODEL, choose_device

_load = LanguageModel.from_pretrained
_CACHE = os.environ.get("RAREWORDS_CACHE")


@cache
def bundled(device="cpu"):
    """The bundled model, loaded once."""
    return _load(DEFAULT_MODEL, device=device)


def loaded(name=DEFAULT_MODEL, *, device="auto"):
    """``LanguageModel.from_pretrained``, but a copy of the bundled model, which is loaded once."""
    if (str(name), os.environ.get("RAREWORDS_CACHE")) == (DEFAULT_MODEL, _CACHE):
        return bundled(str(choose_device(device))).copy()  # teaching changes it
    return _load(name, device=device)


@dataclass(frozen=True)
class Done:
    stdout: str
    stderr: str


def rarewords(*arguments, code=0, program=main):
    """Run ``rarewords ARGUMENTS``; fails the test when the exit code is another than ``code``.

    :param program: the main function of another command line.
    """
    out, err, found = io.StringIO(), io.StringIO(), 0
    before = sys.argv
    sys.argv = ["rarewords", *map(str, arguments)]
    try:
        with redirect_stdout(out), redirect_stderr(err), patch.object(LanguageModel, "from_pretrained", loaded):
            program()
    except SystemExit as stop:
        found = stop.code or 0
    finally:
        sys.argv = before
        enable(False)
    assert found == code, f"exit code {found}\n{out.getvalue()}\n{err.getvalue()}"
    return Done(out.getvalue(), err.getvalue())


def refused(code, *arguments, program=main):
    """Run a command that must be refused: exit code 2, one line that ends in the error's code. Returns it."""
    said = rarewords(*arguments, code=2, program=program).stderr
    lines = [line for line in said.splitlines() if line.strip()]
    assert len(lines) == 1, lines
    assert lines[0].endswith(f"[{code}]"), lines[0]
    return lines[0]
