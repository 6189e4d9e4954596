"""``rarewords ota``: one vector for each word of several pieces; ``ota eval``: how good they are."""

from __future__ import annotations

import shutil
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from rarewords.cli.options import AsJson, Device, Model, print_json
from rarewords.errors import InputError

ota = typer.Typer(
    invoke_without_command=True, no_args_is_help=True, context_settings={"max_content_width": 110}
)

Preset = Annotated[str, typer.Option(help="`fast`, or `paper`: as the paper has it, and far slower.")]
Seed = Annotated[int, typer.Option(help="Of the random contexts.")]
Tf32 = Annotated[bool, typer.Option(help="On a GPU, multiply matrices in TF32.")]


@ota.callback()
def approximate_words(
    context: typer.Context,
    words: Annotated[Path | None, typer.Option(help="A file with one word or phrase a line.")] = None,
    out: Annotated[Path | None, typer.Option(help="The vectors (.safetensors).")] = None,
    model: Model = "default",
    preset: Preset = "fast",
    method: Annotated[str, typer.Option(help="ota, or a baseline: first, last, avg.")] = "ota",
    contexts: Annotated[str | None, typer.Option(help="random, static or masked.")] = None,
    start: Annotated[
        str | None, typer.Option(help="zero, mean, length, vocabulary or inverse; by the preset.")
    ] = None,
    layers: Annotated[str | None, typer.Option(help="Layers to compare, such as `1-6` or `2,4,6`.")] = None,
    side: Annotated[str | None, typer.Option(help="both, left or right.")] = None,
    iterations: Annotated[int | None, typer.Option(help="Steps; fast takes 100, paper 4000.")] = None,
    keep_single: Annotated[
        bool, typer.Option(help="Give words of one piece the model's own embedding.")
    ] = False,
    seed: Seed = 0,
    shard: Annotated[str, typer.Option(help="`2/8`: only the second of eight parts of the words.")] = "1/1",
    words_per_batch: Annotated[int | None, typer.Option(help="By the memory there is.")] = None,
    workers: Annotated[int, typer.Option(min=1, help="Processes that approximate.")] = 1,
    engine: Annotated[str, typer.Option(help="What runs the workers: local or ray.")] = "local",
    address: Annotated[str | None, typer.Option(help="The address of a running Ray cluster.")] = None,
    checkpoint_seconds: Annotated[float, typer.Option(help="How often finished words are written.")] = 120.0,
    device: Device = "auto",
    tf32: Tf32 = True,
    as_json: AsJson = False,
) -> None:
    """One vector for each word of several pieces, that acts in the model as its pieces do.

    Finished words are kept in a folder beside the output, so that a run that was cut off goes on from there
    when the same command is given again.
    """
    if context.invoked_subcommand is not None:
        return
    if words is None or out is None:
        raise InputError("give --words FILE and --out VECTORS (or the command `ota eval`)")
    from rarewords.corpus.engine import engine_for
    from rarewords.ota import OtaSettings, approximate
    from rarewords.vectors import read_words

    given = {"contexts": contexts, "start": start, "layers": _layers(layers), "side": side}
    # What is approximated here has several pieces, and those `fast` averages.
    steps = "averaging_steps" if preset == "fast" else "iterations"
    changes: dict[str, Any] = {steps: iterations, "seed": seed, **given}
    settings = OtaSettings.preset(
        preset, **{name: value for name, value in changes.items() if value is not None}
    )
    listed = read_words(words)
    work = out.with_name(f".{out.name}.work")
    alone = workers == 1 and engine == "local"
    with nullcontext() if alone else engine_for(engine, workers, address) as runner:
        result = approximate(
            _load(model, device, tf32),
            listed,
            settings,
            method=method,
            keep_single=keep_single,
            words_per_batch=words_per_batch,
            shard=_shard(shard),
            work=work,
            checkpoint_seconds=checkpoint_seconds,
            engine=runner,
        )
    result.vectors.save(out)
    shutil.rmtree(work, ignore_errors=True)
    if as_json:
        notes = [vars(note) for note in result.notes]
        print_json({"out": str(out), "words": len(result.vectors), "resumed": result.resumed, "notes": notes})
        return
    for note in result.notes:
        typer.echo(f"note: {note}", err=True)
    typer.echo(f"{out}: {len(result.vectors):,} vectors; {len(result.left_out):,} words left out")


@ota.command("eval")
def evaluate(
    out: Annotated[Path, typer.Option(help="A folder for table, figure and numbers.")] = Path("ota-eval"),
    model: Model = "default",
    words: Annotated[int, typer.Option(help="How many one-piece words.")] = 1000,
    iterations: Annotated[int, typer.Option(help="Of STATIC and RANDOM.")] = 5000,
    seed: Seed = 0,
    words_per_batch: Annotated[int, typer.Option(help="Words computed together.")] = 1000,
    device: Device = "auto",
    tf32: Tf32 = True,
    as_json: AsJson = False,
) -> None:
    """Approximate words whose right vector is known, and record how near the presets come.

    Writes `curves.json`, `.csv`, `.md`, `.png` and `.svg` into the folder. The full measurement is for a GPU;
    on a CPU take fewer words and iterations.
    """
    from rarewords.files import whole_file, write_json
    from rarewords.ota import OtaSettings
    from rarewords.ota.evaluate import compare, marks_up_to, measure, one_piece_words
    from rarewords.ota.report import curves_csv, curves_table, draw_curves

    lm = _load(model, device, tf32)
    chosen = one_piece_words(lm, words, seed)
    plans = {
        "static": OtaSettings.preset("paper", contexts="static", iterations=iterations, seed=seed),
        "random": OtaSettings.preset("paper", iterations=iterations, seed=seed),
        "fast": OtaSettings.preset("fast", seed=seed),
    }
    done = {}
    for label, settings in plans.items():
        marks = sorted({*range(10, settings.iterations, 10), *marks_up_to(settings.iterations)})
        done[label] = measure(
            lm,
            chosen,
            settings,
            label=label,
            marks=marks if label == "fast" else None,
            words_per_batch=words_per_batch,
        )
    tests = [compare(done["random"], done[other]) for other in ("static", "fast")]
    curves = {label: curve.to_dict() for label, curve in done.items()}
    result = {
        "model": model,
        "words": words,
        "seed": seed,
        "curves": curves,
        "tests": [vars(t) for t in tests],
    }
    write_json(out / "curves.json", result)
    table = curves_table(curves)
    for name, text in (("curves.md", table), ("curves.csv", curves_csv(curves))):
        with whole_file(out / name) as temporary:
            temporary.write_text(text, "utf-8")
    draw_curves(curves, Path(model).name, [out / "curves.png", out / "curves.svg"])
    if as_json:
        print_json(result)
        return
    typer.echo(table)
    for test in tests:
        verdict = "significant" if test.significant else "not significant"
        typer.echo(
            f"{test.first} nearer for {test.first_wins} words, {test.second} for {test.second_wins}: "
            f"p = {test.p_value:.2g}, {verdict} (two-sided binomial test)"
        )


def _load(model: str, device: str, tf32: bool) -> Any:
    import torch

    from rarewords.lm import LanguageModel

    torch.set_float32_matmul_precision("high" if tf32 else "highest")
    return LanguageModel.from_pretrained(model, device=device)


def _layers(text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    try:
        parts = [part.split("-") for part in text.split(",")]
        return tuple(n for part in parts for n in range(int(part[0]), int(part[-1]) + 1))
    except ValueError:
        raise InputError(f"--layers {text!r} is not a list such as `1-6` or `2,4,6`") from None


def _shard(text: str) -> tuple[int, int]:
    number, _, count = text.partition("/")
    if not (number.isdigit() and count.isdigit() and 1 <= int(number) <= int(count)):
        raise InputError(f"--shard {text!r} is not a part such as `2/8`")
    return int(number) - 1, int(count)
