"""``rarewords ota``: one vector for each word of several pieces."""

from pathlib import Path

import rarewords  # its names load torch when they are used, which takes seconds
from rarewords.cli import options
from rarewords.errors import InputError
from rarewords.models import model_kind
from rarewords.ota.settings import BASELINES, OtaSettings
from rarewords.stages import work_beside
from rarewords.vectors import read_words


def ota(
    words: Path,
    out: Path,
    model: str = "default",
    preset: str | None = None,
    method: str = "ota",
    steps: int | None = None,
    keep_single: bool = False,
    settings: Path | None = None,
    workers: int = 1,
    engine: str = "local",
    device: str = "auto",
    as_json: bool = False,
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

    listed = read_words(words)

    import torch  # takes seconds; mistakes in the options need not wait for it

    torch.set_float32_matmul_precision("high")  # TF32 on a GPU
    lm = rarewords.LanguageModel.from_pretrained(model, device=device, kind=model_kind(model))
    with options.engine_or_none(engine, workers) as runner, work_beside(out) as stages:
        result = rarewords.approximate(
            lm, listed, chosen, method=method, keep_single=keep_single, stages=stages, engine=runner
        )
        options.save_vectors(out, result.vectors, result.refused)
    made, refused = len(result.vectors), result.refused
    about = {"out": str(out), "words": made, "refused": refused}
    options.show(as_json, about, f"{out}: {made:,} vectors, {len(refused):,} words refused")
