"""``rarewords ota``: one vector for each word of several pieces."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rarewords.cli import options
from rarewords.errors import InputError
from rarewords.ota.settings import BASELINES, OtaSettings


def ota(
    words: options.Words,
    out: Annotated[Path, typer.Option(help="The file of vectors to write (.safetensors).")],
    model: options.Model = "default",
    preset: Annotated[
        str | None,
        typer.Option(help="`fast`, or `paper`: as the paper has it, 40 times slower.", show_default="fast"),
    ] = None,
    method: Annotated[str, typer.Option(help="`ota`, or a baseline: `first`, `last`, `avg`.")] = "ota",
    steps: Annotated[
        int | None, typer.Option(min=1, help="Number of steps; `fast` takes 100, `paper` 4000.")
    ] = None,
    keep_single: Annotated[
        bool, typer.Option("--keep-single", help="Give words of one piece the model's own embedding.")
    ] = False,
    settings: options.SettingsFile = None,
    workers: options.OneWorker = 1,
    engine: options.EngineName = "local",
    device: options.Device = "auto",
    as_json: options.AsJson = False,
) -> None:
    """Compute one vector for each word of several pieces, which acts in the model as its pieces do.

    Finished words are kept beside the output: after an interruption the same command resumes. `--settings`
    takes the fields of OtaSettings: frame, start, layers, rate, seed, ...
    """
    given = {"--preset": preset, "--steps": steps, "--settings": settings}
    idle = next((option for option, value in given.items() if value is not None), None)
    if method in BASELINES and idle is not None:
        raise InputError(f"{idle} has no effect with --method {method}; leave it out")
    changes = options.settings_values(settings, OtaSettings, steps=steps)
    chosen = OtaSettings.preset(preset or "fast", **changes)

    # torch takes seconds to import; --help and mistakes in the options need not wait for it.
    import torch

    from rarewords.lm import LanguageModel
    from rarewords.models import model_kind
    from rarewords.ota.approximate import approximate
    from rarewords.stages import work_beside
    from rarewords.vectors import read_words

    listed = read_words(words)
    torch.set_float32_matmul_precision("high")  # TF32 on a GPU
    lm = LanguageModel.from_pretrained(model, device=device, kind=model_kind(model))
    with options.engine_or_none(engine, workers) as runner, work_beside(out) as stages:
        result = approximate(
            lm, listed, chosen, method=method, keep_single=keep_single, stages=stages, engine=runner
        )
        result.vectors.save(out)
    if as_json:
        notes = [vars(note) for note in result.notes]
        options.print_json(
            {"out": str(out), "words": len(result.vectors), "resumed": result.resumed, "notes": notes}
        )
        return
    for note in result.notes:
        typer.echo(f"note: {note}", err=True)
    typer.echo(f"{out}: {len(result.vectors):,} vectors; {len(result.left_out):,} words left out")
