"""``rarewords serve``: a page on this machine to try words on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rarewords.cli.options import Device, Model


def serve(
    model: Model = "default",
    port: Annotated[int, typer.Option(help="0 takes any free one.", min=0, max=65535)] = 8765,
    host: Annotated[
        str, typer.Option(help="A loopback address; other machines are never answered.")
    ] = "127.0.0.1",
    results: Annotated[
        list[Path] | None,
        typer.Option(help="Results of `rarewords wnlampro eval`, or a folder of them. May repeat."),
    ] = None,
    mimic: Annotated[
        Path | None, typer.Option(help="Make vectors with this mimic model (`rarewords mimic train`).")
    ] = None,
    open_browser: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    device: Device = "auto",
) -> None:
    """Open a page on 127.0.0.1: type a word and some sentences, see the answers before and after.

    Ends with Ctrl-C.
    """
    import logging

    from rarewords import LanguageModel
    from rarewords.app.results import result_files, results_json
    from rarewords.app.server import Server
    from rarewords.app.study import Request, Study, samples
    from rarewords.mimic.learner_files import is_learner
    from rarewords.teaching import TeachSettings
    from rarewords.teaching.learning import open_learner

    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(message)s")
    shown = results_json(result_files(results or []))
    lm = LanguageModel.from_pretrained(model, device=device)
    method = "am" if mimic and not is_learner(mimic) else "auto"
    learner, _ = open_learner(lm, TeachSettings(method=method), mimic)
    study = Study(lm, learner)
    first = samples()[0]
    study.answer(Request(first["word"], tuple(first["sentences"]), ""))  # the first answer is the slow one
    try:
        with Server(study, shown, host=host, port=port) as server:
            typer.echo(f"{server.url} (Ctrl-C ends it)")
            if open_browser:
                typer.launch(server.url)
            server.serve_forever()
    except KeyboardInterrupt:
        typer.echo("stopped", err=True)
