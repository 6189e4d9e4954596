"""What attentive mimicking depends on, in a text of any size, and other ways to an embedding from the same text.

    python -m experiments.mimicking.sample --corpus CORPUS --out SAMPLE
    python -m experiments.mimicking table --sample SAMPLE --out OUT [--model MODEL] [--workers 6]
    python -m experiments.mimicking factorial --sample SAMPLE --out OUT [--model MODEL] [--workers 6]
    python -m experiments.mimicking.report table OUT [--model MODEL]

``table``: every way with the paper's setting, on test. ``factorial``: the paper's setting and one thing changed at a
time, on dev. Each piece is done once, in the order of its value, and a second start goes on where the first was
stopped. Every piece leaves a JSON file with the ranks of the entries of WNLaMPro, from which the report is made.
"""

from multiprocessing import get_context
from pathlib import Path
from shutil import rmtree
from typing import Annotated

import typer

from experiments.code import made_by_this_code
from experiments.mimicking.jobs import forget_failures
from experiments.mimicking.pieces import Part, work
from experiments.mimicking.study import QUICK, Size
from rarewords.models import DEFAULT_MODEL


def main(
    part: Part,
    sample: Annotated[Path, typer.Option(help="The folder that experiments.mimicking.sample wrote.")],
    out: Annotated[Path, typer.Option(help="The folder for results.")],
    model: str = DEFAULT_MODEL,
    limit: Annotated[int | None, typer.Option(help="At most so many entries of dev and of test, as sampled.")] = None,
    workers: Annotated[int, typer.Option(min=1, help="Number of processes.")] = 1,
    quick: Annotated[bool, typer.Option("--quick", help="A run of minutes that shows nothing.")] = False,
) -> None:
    """Do the pieces of a part, in several processes."""
    about = out / "about.json"
    if about.is_file() and not made_by_this_code(about):
        rmtree(out)  # pieces of other code
    forget_failures(out / "jobs")
    inputs = part, sample, out, model, QUICK if quick else Size(entries=limit)
    others = [get_context("spawn").Process(target=work, args=inputs) for _ in range(workers - 1)]
    for process in others:
        process.start()
    failed = work(*inputs)
    for process in others:
        process.join()
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}; {out / 'jobs'} has the errors")


if __name__ == "__main__":
    typer.run(main)
