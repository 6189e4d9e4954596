"""Two ways to see it work: ``demo`` on the bundled model and glossary, ``serve`` as a page to try words on."""

import runpy
from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated

import typer

import rarewords  # its names load torch when they are used, which takes seconds
from rarewords.cli import options
from rarewords.errors import InputError
from rarewords.teaching.glossary import read_glossary
from rarewords.teaching.settings import TeachSettings


def demo(
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Keep the new model in this folder.")] = None,
) -> None:
    """Add recent words to the bundled model, each from its definition, and compare its answers.

    Example:

        rarewords demo
    """
    settings = TeachSettings(question="a <W> is a kind of _.")
    with as_file(files("rarewords") / "assets" / "demo" / "glossary.csv") as glossary:
        definitions = read_glossary(glossary)
        result = rarewords.teach(glossary=glossary, settings=settings)
    if out is not None:
        result.save_pretrained(out)
    typer.echo(f"The bundled model gets {len(result.words)} recent words, each from one definition.\n")
    for word, entry in definitions.items():
        for text in entry.definitions:
            typer.echo(f"{word:<15}{text}")
    typer.echo("\na … is a kind of _\n")
    typer.echo(f"{'word':<15}{'before':<31}after")
    for one in result.words:
        typer.echo(f"{one.word:<15}{', '.join(one.before[:3]):<31}{', '.join(one.after[:3])}")
    typer.echo("\nNow your own:  rarewords teach --glossary FILE --out FOLDER")


def serve(
    model: options.Model = "default",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 takes any free one.")] = 8765,
    open_browser: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    device: options.Device = "auto",
) -> None:
    """Open a page on this machine: type a word and a definition, see the answers before and after.

    Press Ctrl-C to stop it.

    Example:

        rarewords serve --open
    """
    try:
        import gradio  # noqa: F401 - loaded by the page
    except ImportError:
        raise InputError("the page needs Gradio: pip install 'rarewords[page]'", code="missing-extra") from None
    installed = Path(str(files("rarewords") / "assets" / "space.py"))
    page = installed if installed.is_file() else Path(rarewords.__file__).parents[2] / "examples/space/app.py"
    build = runpy.run_path(str(page), run_name="rarewords_page")["build"]
    typer.echo(f"http://127.0.0.1:{port}/ (Ctrl-C ends it)")
    build(model, device).launch(server_name="127.0.0.1", server_port=port or None, inbrowser=open_browser, quiet=True)
