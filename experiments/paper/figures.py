"""The paper's two figures of WNLaMPro, ready for print."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rarewords._internal.files import whole_file
from rarewords.errors import InputError
from rarewords.wnlampro.comparison import check_comparable
from rarewords.wnlampro.dataset import BANDS
from rarewords.wnlampro.result import Measure, ProbeResult
from rarewords.wnlampro.tables import METRIC_TITLES, relation_title

# Colours of different lightness, which survive a grey printer; one mark for each.
COLOURS = ("#1b3a5c", "#c8553d", "#2f8f6b", "#8a5fa8", "#c99a2e", "#5b8fb9", "#7a7a7a")
_HIGHEST_COUNT = 13  # as a power of two
MARKS = ("o", "^", "s", "D", "v", "P", "X")


@dataclass(frozen=True)
class HeatMap:
    """Ranks by how often the keyword occurs.

    :param label: the result and the relation.
    :param counts: upper ends of the count intervals; None for the last, which has none.
    :param ranks: upper ends of the rank intervals, likewise.
    :param cells: the number of entries. *Shape:* (rank intervals, count intervals)
    """

    label: str
    counts: tuple[float | None, ...]
    ranks: tuple[float | None, ...]
    cells: tuple[tuple[int, ...], ...]


def heat_map(result: ProbeResult, relation: str = "cohyponym") -> HeatMap:
    """Ranks and counts in intervals that double: counts (2^(j-1), 2^j] up to 2^13.

    Higher counts are in the last column, entries without a rank in the last row.
    """
    _refuse_without_entries(result, relation)
    chosen = result.chosen(relation)
    counts, ranks = result.count[chosen], result.rank[chosen]
    rows = math.ceil(math.log2(result.depth)) + 2
    columns = _HIGHEST_COUNT + 2
    row = np.where(ranks > 0, np.ceil(np.log2(np.maximum(ranks, 1))).astype(int), rows - 1)
    column = np.minimum(np.ceil(np.log2(np.maximum(counts, 1))).astype(int), columns - 1)
    cells = np.zeros((rows, columns), dtype=int)
    np.add.at(cells, (row, column), 1)
    return HeatMap(
        f"{result.label}, {relation_title(relation)}",
        (*(float(2**power) for power in range(columns - 1)), None),
        (*(float(min(2**power, result.depth)) for power in range(rows - 1)), None),
        tuple(map(tuple, cells.tolist())),
    )


def draw_heat_map(table: HeatMap, path: str | Path) -> None:
    """Draw a heat map; each column shows the distribution of its ranks."""
    from matplotlib.colors import LinearSegmentedColormap

    ink = LinearSegmentedColormap.from_list("ink", ["#ffffff", "#9db4c8", "#1b3a5c", "#0a1626"])
    cells = np.array(table.cells)
    shares = np.ma.divide(cells, cells.sum(axis=0))  # masked if no keyword has such a count
    counts = [f"$2^{{{math.log2(end):.0f}}}$" if end else "∞" for end in table.counts]
    ranks = [f"{end:.0f}" if end else "beyond" for end in table.ranks]
    with new_figure(path, (5.6, 3.9)) as (figure, axes):
        paper = ink.with_extremes(bad="#f4f1ec")
        image = axes.imshow(shares, origin="lower", aspect="auto", cmap=paper, vmin=0)
        axes.set_xticks(range(len(counts)), counts)
        axes.set_yticks(range(len(ranks)), ranks)
        axes.set_xlabel("Occurrences of the word, up to")
        axes.set_ylabel("Rank of the best target, up to")
        axes.set_title(table.label)
        axes.tick_params(length=2)
        axes.spines[["top", "right"]].set_visible(True)
        bar = figure.colorbar(image, ax=axes, fraction=0.04, pad=0.02)
        bar.set_label("Share of the column's words")
        bar.outline.set_linewidth(0.6)
        for column in np.flatnonzero(cells.any(axis=0)).tolist():
            # A dot on the most probable interval guides the eye.
            axes.plot(column, cells[:, column].argmax(), ".", color="#c8553d", markersize=4)


def draw_methods(
    results: Sequence[ProbeResult], path: str | Path, *, metric: str = "mrr", relation: str = "all"
) -> None:
    """Draw a metric by frequency: one line per result, with standard errors."""
    check_comparable(results)
    if len(results) > len(COLOURS):
        raise InputError(f"a figure holds at most {len(COLOURS)} results, not {len(results)}", code="usage")
    _refuse_without_entries(results[0], relation)
    measures = [[result.measure(relation, band, metric) for band in BANDS] for result in results]
    with new_figure(path, (5.2, 3.5)) as (_, axes):
        draw_lines(axes, [result.label for result in results], measures)
        names = [f"{band}\n{results[0].chosen(relation, band).sum():,} entries" for band in BANDS]
        axes.set_xticks(range(len(BANDS)), names)
        axes.set_xlim(-0.3, len(BANDS) - 0.7)
        axes.set_ylabel(METRIC_TITLES[metric])
        title = "WNLaMPro" if relation == "all" else f"WNLaMPro, {relation_title(relation)}"
        axes.set_title(f"{title} (bars: standard error)")
        axes.legend(loc="upper left", fontsize=8.5)


def draw_lines(axes: Any, labels: Sequence[str], measures: Sequence[Sequence[Measure]]) -> None:
    """Draw a line over the frequencies for each label; bars are standard errors."""
    for number, (label, band_measures) in enumerate(zip(labels, measures, strict=True)):
        axes.errorbar(
            # Shifted a little, so that the error bars of similar results do not overlap.
            np.arange(len(BANDS)) + (number - (len(labels) - 1) / 2) * 0.04,
            [measure.mean for measure in band_measures],
            yerr=[measure.error for measure in band_measures],
            color=COLOURS[number],
            marker=MARKS[number],
            linestyle="-" if number == 0 else "--",
            elinewidth=0.9,
            label=label,
        )
    axes.set_xticks(range(len(BANDS)), BANDS)
    axes.set_ylim(bottom=0)
    axes.grid(axis="y")
    axes.set_axisbelow(True)


def _refuse_without_entries(result: ProbeResult, relation: str) -> None:
    if not result.chosen(relation).any():
        raise InputError(f"{result.label!r} has no entries of the relation {relation}", code="wnlampro")


@contextmanager
def new_figure(path: str | Path, size: tuple[float, float], panels: int = 1) -> Iterator[tuple[Any, Any]]:
    """A figure and its axes to draw on, written at the end; the same bytes for the same drawing.

    :param size: width and height in inches.
    :param panels: side by side, on one scale.
    """
    from matplotlib import style  # takes most of a second
    from matplotlib.figure import Figure  # without pyplot, which would need a screen and keep the figure

    targets = figure_files(path)
    with style.context(Path(__file__).with_suffix(".mplstyle")):
        figure = Figure(size, layout="constrained")
        yield figure, figure.subplots(1, panels, sharey=True)
        for target in targets:
            metadata = {"Date": None} if target.suffix == ".svg" else {"Software": None}
            with whole_file(target) as temporary:
                figure.savefig(temporary, format=target.suffix[1:], dpi=200, metadata=metadata)


def figure_files(path: str | Path) -> list[Path]:
    """The files that are drawn: the path itself, or PNG and SVG if it has no ending."""
    path = Path(path)
    if path.suffix not in ("", ".png", ".svg"):
        raise InputError(f"{path}: figures are written as .png and .svg", code="format")
    return [path] if path.suffix else [path.with_name(path.name + suffix) for suffix in (".png", ".svg")]
