"""Two ways to see it work: ``demo`` on the bundled model and text, ``serve`` as a page to try words on."""

import runpy
from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated

import typer

import rarewords  # its names load torch when they are used, which takes seconds
from rarewords.cli import options
from rarewords.embeddings import read_words
from rarewords.errors import InputError
from rarewords.teaching.settings import TeachSettings

_SHOWN, _ANSWERS = 8, 3


def demo(
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Keep the taught model in this folder.")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Add rare words to the bundled model from sentences of Wikipedia, in less than a minute.

    The sentences ship with the package. The words were drawn by a rule, not by how well they turn out, so
    some of them fail.

    Example:

        rarewords demo
    """
    from rarewords.wnlampro.dataset import Dataset, load

    lm = rarewords.LanguageModel.from_pretrained()
    with as_file(files("rarewords") / "assets" / "demo") as data:
        words = read_words(data / "words.txt")
        if not as_json:
            subwords = " ".join(lm.tokens.subword_strings(lm.subwords(words[0])))
            typer.echo(f"The bundled model splits rare words into subwords ({words[0]}: {subwords}).")
            typer.echo(f"Adding {len(words)} of them, from at most 20 sentences of Wikipedia each …")
        settings = TeachSettings(question="a <W> is a kind of _.")
        result = rarewords.teach(lm, texts=data / "text.txt", words=words, workers=1, settings=settings)
    if out is not None:
        result.save_pretrained(out)
    asked = Dataset(tuple(entry for entry in load() if entry.word.text in set(words)), "the demo")
    before, after = (rarewords.wnlampro.evaluate(one, asked) for one in (lm, result.language_model))
    if as_json:
        options.show(True, {**result.as_json(), "mrr": {"before": before.mrr, "after": after.mrr}})
        return
    kinds = [entry for entry in asked if entry.relation == "hypernym"]
    right = {entry.word.text: {one.text for one in entry.targets} for entry in kinds}
    step = -(-len(words) // _SHOWN)
    typer.echo(f"\na … is a kind of _      (* right by WordNet; 1 word in {step}, by the alphabet)\n")
    typer.echo(f"{'word':<13}{'before':<31}after")
    for one in sorted(result.words, key=lambda one: one.word)[::step]:
        known = right.get(one.word, set())
        then, now = (
            ", ".join(f"{name}*" if name in known else name for name in answers[:_ANSWERS])
            for answers in (one.before, one.after)
        )
        typer.echo(f"{one.word:<13}{then:<31}{'skipped' if one.verdict == 'worse' else now}")
    number, mrr = len(result.taught), f"{before.mrr:.3f} before, {after.mrr:.3f} after"
    typer.echo(f"\n{number} words added, {len(words) - number} skipped because no gain is expected.")
    typer.echo(f"Mean reciprocal rank of a right answer, all {len(words)} words: {mrr}.")
    typer.echo("\nNow your own text:  rarewords teach FILES --out FOLDER")


def serve(
    model: options.Model = "default",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 takes any free one.")] = 8765,
    open_browser: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    device: options.Device = "auto",
) -> None:
    """Open a page on this machine: type a word and a definition, see the answers before and after.

    End it with Ctrl-C.

    Example:

        rarewords serve --open
    """
    try:
        import gradio  # noqa: F401 - loaded by the page
    except ImportError:
        raise InputError(
            "the page needs Gradio: pip install 'rarewords[page]'", code="missing-extra"
        ) from None
    installed = Path(str(files("rarewords") / "assets" / "space.py"))
    page = installed if installed.is_file() else Path(rarewords.__file__).parents[2] / "examples/space/app.py"
    build = runpy.run_path(str(page), run_name="rarewords_page")["build"]
    typer.echo(f"http://127.0.0.1:{port}/ (Ctrl-C ends it)")
    build(model, device).launch(
        server_name="127.0.0.1", server_port=port or None, inbrowser=open_browser, quiet=True
    )
