"""The command ``rarewords``: its commands, and how it speaks of mistakes.

A command's file parses, calls the library and prints; heavy imports happen inside the command so that
``--help`` answers at once.
"""

import io
import os
import sys
import warnings
from typing import Annotated, Any

import typer

from rarewords import __version__, progress
from rarewords.cli import corpus, options, paper, vectors
from rarewords.cli.demo import demo, serve
from rarewords.cli.models import affected, ask, forget, inject, words
from rarewords.cli.teach import scan, teach
from rarewords.cli.vectors import ota
from rarewords.errors import InputError
from rarewords.files import explain_os_error
from rarewords.settings import LARGEST_NUMBER

_INTERRUPTED = 130
_HELP = ["-h", "--help"]

app = typer.Typer(
    name="rarewords",
    help="Teach a pretrained language model the words it never learned.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": _HELP},
)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[  # noqa: ARG001 - handled by its callback
        bool,
        typer.Option("--version", help="Print the version and exit.", is_eager=True, callback=_print_version),
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Show no progress on stderr; may stand anywhere.")
    ] = False,
) -> None:
    progress.enable(not quiet)


for command in (teach, scan, ask, inject, words, forget, affected, demo, serve, ota):
    app.command()(command)
for name, group in (("corpus", corpus), ("mimic", vectors), ("wnlampro", paper)):
    app.add_typer(group.app, name=name)
options.describe(app)


def program() -> Any:
    """The whole program as a tree of commands; help shows neither values of flags nor the largest number."""
    found: list[Any] = [typer.main.get_command(app)]
    for command in found:  # grows on the way
        context = typer.Context(command, help_option_names=_HELP)
        for one in command.get_params(context):
            one.metavar = "" if getattr(one, "is_flag", False) else one.metavar
            if getattr(one, "max", None) == LARGEST_NUMBER:
                one._get_number_range_help_str = lambda: ""
                one.metavar = one.metavar or "N"
        found += getattr(command, "commands", {}).values()
    return found[0]


def main() -> None:
    """Run ``rarewords``."""
    run_program(program(), "rarewords")


def run_program(command: Any, name: str) -> None:
    """Run a tree of commands; a mistake in the input is one line and exit code 2."""
    # Warnings of the libraries underneath are not the user's business unless asked for.
    if not sys.warnoptions:
        warnings.simplefilter("ignore")
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    if isinstance(sys.stdout, io.TextIOWrapper):  # a terminal may not have the letters of a word
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        for argument in sys.argv:
            if any("\udc80" <= letter <= "\udcff" for letter in argument):
                raise InputError(f"{argument!r} is not UTF-8; rename the file or choose another name")
        code = command(_quiet_first(sys.argv[1:]), prog_name=name, standalone_mode=False)
    except (KeyboardInterrupt, typer.Abort):
        code = _INTERRUPTED
    except BrokenPipeError:  # the reader (head, less) has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 141
    except Exception as error:
        text = _explained(error, name)
        if text is None:
            raise
        if text:
            print(f"{name}: " + " ".join(text.split()), file=sys.stderr)
        code = 2
    if code == _INTERRUPTED:  # typer itself turns an interruption into this code without a message
        print(f"{name}: interrupted", file=sys.stderr)
    sys.exit(code if isinstance(code, int) else 0)


def _quiet_first(given: list[str]) -> list[str]:
    """The arguments with ``-q`` at the front, wherever it stands; behind ``--`` it is text.

    >>> _quiet_first(["ask", "a _", "-q"])
    ['-q', 'ask', 'a _']
    """
    end = given.index("--") if "--" in given else len(given)
    quiet = [one for one in given[:end] if one in ("-q", "--quiet")]
    return [*quiet[:1], *(one for one in given[:end] if one not in quiet), *given[end:]]


def _explained(error: Exception, program_name: str) -> str | None:
    """What to tell the user about an error; None if it is a fault of the program."""
    if isinstance(error, InputError):
        return str(error)
    if isinstance(error, OSError):
        return str(explain_os_error(error, error.filename or "output"))
    # A wrong option or argument: the class depends on typer's version, the method does not.
    if not hasattr(error, "format_message"):
        return None
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else program_name
    said = str(error.format_message())  # empty if there were no arguments; then the help has been shown
    return said and f"{said} (see {command} --help)"
