"""``python -m experiments.paper.draw``: draw results of ``rarewords wnlampro eval``."""

from pathlib import Path
from typing import Annotated

import typer

from experiments.paper.figures import draw_heat_map, draw_methods, figure_files, heat_map
from rarewords.cli.app import run_program
from rarewords.errors import InputError
from rarewords.wnlampro.result import ProbeResult

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="markdown")


@app.command()
def figure(
    results: Annotated[list[Path], typer.Argument(help="Files written by `rarewords wnlampro eval`.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The name of the .png and .svg files.")],
    heatmap: Annotated[
        bool, typer.Option("--heatmap", help="Draw ranks by how often the word occurs, for one result.")
    ] = False,
    metric: Annotated[str, typer.Option(help="mrr, p3 or p10.")] = "mrr",
    relation: Annotated[
        str | None, typer.Option(help="One relation; by default all, or cohyponym for a heat map.")
    ] = None,
) -> None:
    """Draw a metric by frequency, one line per result; or a heat map of ranks.

    Example:

        python -m experiments.paper.draw subwords.json avg.json --out lines
    """
    loaded = [ProbeResult.load(path) for path in results]
    chosen = (relation or ("cohyponym" if heatmap else "all")).removesuffix("+")
    if not heatmap:
        draw_methods(loaded, out, metric=metric, relation=chosen)
    elif len(loaded) == 1:
        draw_heat_map(heat_map(loaded[0], chosen), out)
    else:
        raise InputError(f"a heat map shows one result, not {len(loaded)}", code="usage")
    for path in figure_files(out):
        typer.echo(path)


def main() -> None:
    """Run the command line as ``rarewords`` runs its own."""
    run_program(typer.main.get_command(app), "experiments.paper.draw")


if __name__ == "__main__":
    main()
