"""``python -m experiments.paper``: run the paper's experiments and write their report."""

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from experiments.paper import settings as sizes
from experiments.paper.part import count_verdicts, to_json
from experiments.paper.run import check_parts
from experiments.paper.run import reproduce as run
from rarewords import Corpus, LanguageModel, WordEmbeddings, wnlampro
from rarewords._internal.progress import enable
from rarewords.cli import options
from rarewords.cli.app import run_program

_PARTS = "`all`, or some of ota, methods, heatmap, ablation, main and examples. `report` alone writes the report of finished parts."  # noqa: E501
_QUIET = typer.Option("--quiet", "-q", help="Show no progress on stderr; works anywhere in the command.")
_CONTEXT = {"help_option_names": ["-h", "--help"]}

app = typer.Typer(
    add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="markdown", context_settings=_CONTEXT
)


@app.command()
def reproduce(
    corpus: Annotated[Path, typer.Option(help="A corpus made by `rarewords corpus build`.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="A folder for the report, the results and the cache.")],
    parts: Annotated[list[str] | None, typer.Argument(help=_PARTS)] = None,
    model: Annotated[
        str, typer.Option("--model", "-m", help="`default` (the bundled model), a local folder or a hub name.")
    ] = "default",
    quick: Annotated[bool, typer.Option("--quick", help="Run a small sample: minutes on two cores.")] = False,
    targets: Annotated[
        Path | None, typer.Option(help="Embeddings made by `rarewords ota`; missing words are approximated.")
    ] = None,
    data: Annotated[str, typer.Option(help="A WNLaMPro file; `default` is the one that ships.")] = "default",
    seeds: Annotated[
        int | None, typer.Option(min=1, help="Trainings of each configuration: 3 by default, 1 for a sample.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of all random choices.")] = 0,
    workers: Annotated[int, typer.Option(min=1, help="Number of processes.")] = 1,
    device: Annotated[str, typer.Option(help="Device: auto, cuda, cuda:N, mps or cpu.")] = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON on stdout.")] = False,
    quiet: Annotated[bool, _QUIET] = False,
) -> None:
    """Run the paper's experiments and write `report.html`, with figures and raw results.

    Finished work stays in the folder, so the same command resumes after an interruption.

    Example:

        python -m experiments.paper all --quick --corpus wiki.corpus --out reproduction
    """
    enable(not quiet)
    asked = parts or ["all"]
    check_parts(asked)
    size = sizes.QUICK if quick else sizes.ReproduceSettings()
    settings = replace(size, seed=seed, seeds=size.seeds if seeds is None else seeds)
    opened, dataset = Corpus.open(corpus), wnlampro.load(data)
    ready = WordEmbeddings.load(targets) if targets is not None else None
    # The command is shown in the report, which is read elsewhere: files by their names.
    named = Path(model).absolute().name if Path(model).is_dir() else model
    files = {"corpus": corpus, "out": out, "targets": targets, "data": Path(data)}
    shown = ["all"] if asked == ["report"] else asked
    shown = [*shown, f"--model={named}", f"--seeds={settings.seeds}", f"--seed={seed}"]
    shown += [f"--{name}={path.absolute().name}" for name, path in files.items() if path]
    shown += ["--quick"] if quick else []
    lm = LanguageModel.from_pretrained(model, device=device)
    done = run(
        lm,
        opened,
        out,
        parts=asked,
        settings=settings,
        dataset=dataset,
        targets=ready,
        command=shlex.join(["python", "-m", "experiments.paper", *shown]),
        workers=workers,
    )
    claims = [{"verdict": claim.verdict, **to_json(claim)} for claim in done.claims]
    options.show(
        as_json,
        {"report": str(done.report), "claims": claims, "results": to_json(done.parts)},
        *(f"{claim.verdict:>12}  {claim.statement}" for claim in done.claims),
        f"{done.report}: {count_verdicts(done.claims) or 'no conclusions tested'}",
    )


def main() -> None:
    """Run the command line as ``rarewords`` runs its own."""
    run_program(typer.main.get_command(app), "experiments.paper")


if __name__ == "__main__":
    main()
