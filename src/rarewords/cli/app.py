"""The command ``rarewords``: its commands, and how it reports mistakes.

A command's file parses, calls the library and prints; heavy imports happen inside the command so that
``--help`` answers at once.
"""

import io
import os
import sys
import warnings
from collections.abc import Callable
from typing import Annotated, Any

import typer

from rarewords import __version__
from rarewords._internal.files import explain_os_error
from rarewords._internal.progress import enable
from rarewords.cli import wnlampro
from rarewords.cli.embeddings import corpora, mimic, ota
from rarewords.cli.models import affected, ask, forget, inject, words
from rarewords.cli.options import printable
from rarewords.cli.teach import demo, scan, serve, teach
from rarewords.errors import InputError

_INTERRUPTED, _NOBODY_READS = 130, 141
_QUIET = ("--quiet", "-q")

app = typer.Typer(
    name="rarewords",
    help="Add new words to a pretrained Hugging Face model from a few sentences or a definition.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(__version__)
        raise typer.Exit


_VERSION = typer.Option("--version", help="Print the version and exit.", is_eager=True, callback=_print_version)


@app.callback()
def _common(
    version: Annotated[bool, _VERSION] = False,  # noqa: ARG001 - handled by its callback
    quiet: Annotated[bool, typer.Option(*_QUIET, help="Show no progress; works anywhere in the command.")] = False,
) -> None:
    enable(not quiet)


_PANELS: dict[str, tuple[Callable[..., None], ...]] = {
    "Teach": (teach, scan, demo, serve),
    "Inspect": (ask, words, forget, affected, inject),
    "Research": (ota,),
}
for panel, commands in _PANELS.items():
    for command in commands:
        app.command(rich_help_panel=panel)(command)
for name, group in (("corpus", corpora), ("mimic", mimic), ("wnlampro", wnlampro.app)):
    app.add_typer(group, name=name, rich_help_panel="Research")


def main() -> None:
    """Run ``rarewords``."""
    run_program(typer.main.get_command(app), "rarewords")


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
                problem = f"{argument!r} is not UTF-8; rename the file or choose another name"
                raise InputError(problem, code="unreadable")
        end = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)  # behind it, -q is text
        options = sorted(sys.argv[1:end], key=_QUIET.__contains__, reverse=True)  # -q may stand anywhere
        code = command([*options, *sys.argv[end:]], prog_name=name, standalone_mode=False)
    except (KeyboardInterrupt, typer.Abort):
        code = _INTERRUPTED
    except BrokenPipeError:  # whoever reads the output (head, less) has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = _NOBODY_READS
    except Exception as error:
        text = _explained(error, name)
        if text is None:
            raise
        if text:
            print(printable(f"{name}: " + " ".join(text.split())), file=sys.stderr)
        code = 2
    if code == _INTERRUPTED:  # typer itself turns an interruption into this code without a message
        print(f"{name}: interrupted", file=sys.stderr)
    sys.exit(code if isinstance(code, int) else 0)


def _explained(error: Exception, program_name: str) -> str | None:
    """What to tell the user about an error; None if it is a fault of the program."""
    if isinstance(error, OSError):
        error = explain_os_error(error, error.filename or "output")
    if isinstance(error, InputError):
        return f"{error} [{error.code}]"
    # A wrong option or argument: the class depends on typer's version, the method does not.
    if not hasattr(error, "format_message"):
        return None
    context = getattr(error, "ctx", None)
    command = program_name if context is None else context.command_path
    # Empty if there were no arguments: then the help has been shown.
    said = str(error.format_message()).replace("Value error, ", "").rstrip(".")
    return said and f"{said} (see {command} --help)"
