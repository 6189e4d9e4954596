"""``rarewords serve``: a page on this machine to try words on."""

from typing import Annotated

import typer

from rarewords.cli import options


def serve(
    model: options.Model = "default",
    learner: options.Learner = None,
    port: Annotated[int, typer.Option(help="The port; 0 takes any free one.", min=0, max=65535)] = 8765,
    host: Annotated[str, options.advanced(help="A loopback address.")] = "127.0.0.1",
    open_browser: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    device: options.Device = "auto",
) -> None:
    """Open a page on 127.0.0.1: type a word and some sentences, see the answers before and after.

    Only this machine can open the page. End it with Ctrl-C.
    """
    import logging

    from rarewords.app.server import Server
    from rarewords.app.study import Request, Study, samples
    from rarewords.lm import LanguageModel
    from rarewords.teaching.learners import open_learner

    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(message)s")
    lm = LanguageModel.from_pretrained(model, device=device)
    study = Study(lm, open_learner(lm, learner)[0])
    study.answer(Request.parse(samples()[0]))  # the first answer is the slow one
    try:
        with Server(study, host=host, port=port) as server:
            typer.echo(f"{server.url} (Ctrl-C ends it)")
            if open_browser:
                typer.launch(server.url)
            server.serve_forever()
    except KeyboardInterrupt:
        typer.echo("stopped", err=True)
