"""The command ``rarewords``: its commands, and how it speaks of mistakes.

A command's file parses, calls the library and prints; heavy imports happen inside the command so that
``--help`` answers at once.
"""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from rarewords.cli import corpus, mimic
from rarewords.cli.ask import ask
from rarewords.cli.demo import demo
from rarewords.cli.inject import inject
from rarewords.cli.ota import ota
from rarewords.cli.reproduce import reproduce
from rarewords.cli.scan import scan
from rarewords.cli.serve import serve
from rarewords.cli.teach import teach
from rarewords.cli.wnlampro import app as wnlampro
from rarewords.errors import InputError

_INTERRUPTED = 130

app = typer.Typer(
    name="rarewords",
    help="Teach a pretrained language model the words it never learned.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(asked: bool) -> None:
    if asked:
        from rarewords import __version__

        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[  # noqa: ARG001 - handled by its callback
        bool,
        typer.Option("--version", help="Print the version and stop.", is_eager=True, callback=_print_version),
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress on stderr.")] = False,
) -> None:
    from rarewords import progress

    progress.enable(not quiet)


app.command("teach")(teach)
app.command("scan")(scan)
app.add_typer(corpus.app, name="corpus")
app.add_typer(mimic.app, name="mimic")
app.command("ask")(ask)
app.command("inject")(inject)
app.command("demo")(demo)
app.command("serve")(serve)
app.add_typer(wnlampro, name="wnlampro")
app.add_typer(ota, name="ota")
app.command("reproduce")(reproduce)


def main() -> None:
    """Run the command line; a mistake in the input is one line and exit code 2."""
    # Warnings of the libraries underneath are not the user's business unless asked for.
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    try:
        code = app(prog_name="rarewords", standalone_mode=False)
    except InputError as error:
        _fail(str(error))
    except (KeyboardInterrupt, typer.Abort):
        code = _INTERRUPTED
    except BrokenPipeError:
        # The reader (head, less) has gone; that is not an error of ours.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except OSError as error:
        from rarewords.files import explain_os_error

        _fail(str(explain_os_error(error, error.filename or "output")))
    except Exception as error:
        # A wrong option or argument: the class depends on typer's version, the method does not.
        if not hasattr(error, "format_message"):
            raise
        if not error.format_message():  # no arguments at all: the help has been shown
            sys.exit(2)
        context = getattr(error, "ctx", None)
        command = context.command_path if context is not None else "rarewords"
        _fail(f"{error.format_message()} (see {command} --help)")
    if code == _INTERRUPTED:  # typer turns an interruption into this code without a word
        print("rarewords: interrupted", file=sys.stderr)
    sys.exit(code if isinstance(code, int) else 0)


def _fail(text: str) -> None:
    print("rarewords: " + " ".join(text.split()), file=sys.stderr)
    sys.exit(2)
