"""``rarewords reproduce``: the paper's experiments on any model, with a report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rarewords.cli.options import AsJson, Device, Model, print_json
from rarewords.errors import InputError


def reproduce(
    corpus: Annotated[Path, typer.Option("--corpus", help="A store made by `rarewords corpus build`.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="A folder for report, results and stages.")],
    parts: Annotated[
        list[str] | None,
        typer.Argument(
            help="all, ota, methods, heatmap, ablation, main, examples, beyond; several are fine. report "
            "alone writes the report of what is there."
        ),
    ] = None,
    model: Model = "default",
    quick: Annotated[
        bool, typer.Option("--quick", help="All of it on a small sample: minutes on two cores.")
    ] = False,
    sample: Annotated[
        str | None, typer.Option(help="full (the paper's sizes), quick, or tiny (seconds, for tests).")
    ] = None,
    targets: Annotated[
        Path | None, typer.Option(help="Vectors made by `rarewords ota`; words they lack are approximated.")
    ] = None,
    learner: Annotated[
        Path | None, typer.Option(help="A fitted WordLearner for part `beyond`; the model's own by default.")
    ] = None,
    ota_preset: Annotated[
        str, typer.Option(help="How words of several pieces are approximated: fast or paper.")
    ] = "fast",
    data: Annotated[
        str, typer.Option("--data", help="A WNLaMPro file; `default` is the one that ships.")
    ] = "default",
    seeds: Annotated[int, typer.Option(min=1, help="Trainings of each configuration of the ablation.")] = 1,
    seed: Annotated[int, typer.Option(min=0, help="Of every random choice.")] = 0,
    jobs: Annotated[
        int,
        typer.Option(min=1, max=3, help="Processes that make stages side by side; for a GPU, 3 are fastest."),
    ] = 1,
    device: Device = "auto",
    as_json: AsJson = False,
    helper_of: Annotated[int | None, typer.Option(hidden=True, help="The process this one helps.")] = None,
) -> None:
    """Run the paper's experiments and write `report.html`, with figures, tables and raw results.

    Parts share stages (vectors, contexts, results of probing), kept in the folder: a run that was cut off
    goes on where it stopped when the same command is given again.

    Example: `rarewords reproduce all --quick --corpus wiki.store --out reproduction`
    """
    from rarewords.corpus.store import Store
    from rarewords.lm import LanguageModel
    from rarewords.mimic.learner import WordLearner
    from rarewords.probe.dataset import Dataset
    from rarewords.reproduction.claims import counted
    from rarewords.reproduction.run import check_parts, command_line
    from rarewords.reproduction.run import reproduce as run
    from rarewords.reproduction.settings import ReproduceSettings
    from rarewords.reproduction.side_by_side import end_with, helpers
    from rarewords.vectors import open_vectors

    if quick and sample not in (None, "quick"):
        raise InputError(f"--quick and --sample {sample} exclude each other")
    asked = parts or ["all"]
    check_parts(asked)
    if helper_of is not None:
        end_with(helper_of)
    size = sample or ("quick" if quick else "full")
    settings = ReproduceSettings.sized(size, seed=seed, seeds=seeds, ota_preset=ota_preset)
    store, dataset = Store.open(corpus), Dataset.load(data)
    ready = open_vectors(targets) if targets is not None else None
    options = {
        "model": Path(model).name,
        "corpus": corpus,
        "out": out,
        "sample": None if size == "full" else size,
        "targets": targets,
        "learner": learner,
        "ota-preset": None if ota_preset == "fast" else ota_preset,
        "data": None if data == "default" else Path(data),
        "seeds": None if seeds == 1 else seeds,
        "seed": seed or None,
        "jobs": None if jobs == 1 else jobs,
    }
    lm = LanguageModel.from_pretrained(model, device=device)
    own = WordLearner.from_pretrained(learner, lm) if learner is not None else None
    same = {**options, "model": model, "corpus": str(corpus), "out": str(out), "device": device}
    same |= {name: str(path) for name, path in (("targets", targets), ("learner", learner)) if path}
    same |= {"data": data}
    with helpers(jobs, check_parts(asked), same, out / "stages"):
        done = run(
            lm,
            store,
            out,
            parts=asked,
            settings=settings,
            dataset=dataset,
            targets=ready,
            learner=own,
            report=helper_of is None,
            command=command_line(["all"] if asked == ["report"] else asked, options),
        )
    if as_json:
        print_json(
            {
                "report": str(done.report),
                "claims": [claim.as_json() for claim in done.claims],
                "results": done.results,
            }
        )
        return
    for claim in done.claims:
        typer.echo(f"{claim.verdict:>12}  {claim.statement}")
    verdicts = ", ".join(f"{number} {verdict}" for verdict, number in counted(done.claims).items() if number)
    typer.echo(f"{done.report}: {verdicts or 'no conclusions tested'}")
