"""Two ways to see it work: ``demo`` on the bundled model and text, ``serve`` as a page to try words on."""

import logging
from importlib.resources import as_file, files
from pathlib import Path
from tempfile import TemporaryDirectory

import typer

import rarewords  # its names load torch when they are used, which takes seconds
from rarewords.cli import options
from rarewords.probe.dataset import Dataset
from rarewords.teaching.settings import TeachSettings
from rarewords.vectors import read_words

_SHOWN = 8
_ANSWERS = 3


def demo(out: Path | None = None, as_json: bool = False) -> None:
    """Teach the bundled model rare words from sentences of Wikipedia, in less than a minute.

    The sentences ship with the package. The words were drawn by a rule, not by how well they turn out, so
    some of them fail.
    """
    with as_file(files("rarewords") / "assets" / "demo") as data, TemporaryDirectory() as temporary:
        lm = rarewords.LanguageModel.from_pretrained()
        words = read_words(data / "words.txt")
        if not as_json:
            pieces = " ".join(lm.tokens.piece_strings(lm.pieces(words[0])))
            typer.echo(f"The bundled model reads rare words in pieces ({words[0]}: {pieces}).")
            typer.echo(f"Teaching it {len(words)} of them, at most 20 sentences of Wikipedia each …")
        settings = TeachSettings(question="a <W> is a kind of _.")
        folder = out or Path(temporary) / "taught"
        taught = rarewords.teach(
            [data / "text.txt"], folder, words=words, model=lm, workers=1, settings=settings
        )
        asked = Dataset(tuple(entry for entry in Dataset.load() if entry.word.text in set(words)), "the demo")
        models = (lm, rarewords.LanguageModel.from_pretrained(folder))
        before, after = (rarewords.evaluate(one, asked) for one in models)
    if as_json:
        options.show(True, {**taught.as_json(), "mrr": {"before": before.mrr, "after": after.mrr}})
        return
    kinds = [entry for entry in asked if entry.relation == "hypernym"]
    right = {entry.word.text: {one.text for one in entry.targets} for entry in kinds}
    step = -(-len(words) // _SHOWN)
    typer.echo(f"\na … is a kind of _      (* right by WordNet; 1 word in {step}, by the alphabet)\n")
    typer.echo(f"{'word':<13}{'before':<31}after")
    for one in sorted([*taught.words, *taught.worse], key=lambda one: one.word)[::step]:
        known = right.get(one.word, set())
        then, now = (
            ", ".join(f"{name}*" if name in known else name for name in answers[:_ANSWERS])
            for answers in (one.before, one.after)
        )
        typer.echo(f"{one.word:<13}{then:<31}{'left alone' if one.verdict == 'worse' else now}")
    number, mrr = len(taught.words), f"{before.mrr:.3f} before, {after.mrr:.3f} after"
    typer.echo(f"\n{number} words taught, {len(words) - number} left alone because no gain is expected.")
    typer.echo(f"Mean reciprocal rank of a right answer, all {len(words)} words: {mrr}.")
    typer.echo("\nNow your own text:  rarewords teach FILES --out FOLDER")


def serve(
    model: str = "default",
    learner: str | None = None,
    port: int = 8765,
    open_browser: bool = False,
    device: str = "auto",
) -> None:
    """Open a page on 127.0.0.1: type a word and some sentences, see the answers before and after.

    Only this machine can open the page. End it with Ctrl-C.
    """
    from rarewords.app.server import Server
    from rarewords.app.study import Request, Study, samples
    from rarewords.teaching.learners import open_learner

    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(message)s")
    lm = rarewords.LanguageModel.from_pretrained(model, device=device)
    study = Study(lm, open_learner(lm, learner)[0])
    study.answer(Request.parse(samples()[0]))  # the first answer is the slow one
    try:
        with Server(study, port) as server:
            typer.echo(f"{server.url} (Ctrl-C ends it)")
            if open_browser:
                typer.launch(server.url)
            server.serve_forever()
    except KeyboardInterrupt:
        typer.echo("stopped", err=True)
