"""Markdown tables of probing results."""

from __future__ import annotations

from collections.abc import Sequence

from rarewords.probe.compare import ComparedCell, Comparison
from rarewords.probe.dataset import BANDS, RELATIONS
from rarewords.probe.result import METRICS, Cell, ProbeResult

_METRIC_NAMES = {"mrr": "MRR", "p3": "P@3", "p10": "P@10"}
_RELATION_NAMES = {"cohyponym": "cohyponym+"}


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> str:
    """A Markdown table, its columns padded; all but the first ``left`` are aligned to the right."""
    widths = [max(3, *(len(row[i]) for row in [header, *rows])) for i in range(len(header))]

    def line(cells: Sequence[str]) -> str:
        padded = [
            cell.ljust(width) if i < left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        return f"| {' | '.join(padded)} |"

    marks = ["-" * width if i < left else "-" * (width - 1) + ":" for i, width in enumerate(widths)]
    return "\n".join([line(header), line(marks), *(line(row) for row in rows)]) + "\n"


def result_table(result: ProbeResult) -> str:
    """MRR, P@3 and P@10 by relation and frequency, each with its standard error."""
    rows = [
        [
            relation_title(cell.relation),
            cell.band,
            f"{cell.entries:,}",
            *(
                f"{figure(getattr(cell, metric).mean)} ± {figure(getattr(cell, metric).error)}"
                for metric in METRICS
            ),
        ]
        for cell in result.cells
    ]
    header = ["relation", "frequency", "entries", *(_METRIC_NAMES[metric] for metric in METRICS)]
    return markdown_table(header, rows, left=2)


def comparison_table(comparison: Comparison) -> str:
    """The paper's main table: relations and results down, frequencies across.

    The best of a cell is bold; ``*`` marks a significant difference to the first result.
    """
    bands = [band for band in BANDS if any(cell.band == band for cell in comparison.cells)]
    header = ["relation", "result"]
    header += [f"{band} {_METRIC_NAMES[metric]}" for band in bands for metric in METRICS]
    rows = []
    for relation in (*RELATIONS, "all"):
        by_band = {cell.band: cell for cell in comparison.cells if cell.relation == relation}
        for number, label in enumerate(comparison.labels):
            if not by_band:
                continue
            cells = [
                _compared(by_band[band], metric, number) if band in by_band else "–"
                for band in bands
                for metric in METRICS
            ]
            rows.append([relation_title(relation), label, *cells])
    return markdown_table(header, rows, left=2)


def difference_table(comparison: Comparison, metric: str = "mrr") -> str:
    """How each result differs from the first: difference, bootstrap interval, wins, losses and p."""
    rows = []
    for cell in comparison.cells:
        for label, difference in zip(comparison.labels[1:], cell.differences[metric], strict=True):
            rows.append(
                [
                    relation_title(cell.relation),
                    cell.band,
                    label,
                    signed(difference.mean),
                    f"{signed(difference.low)} … {signed(difference.high)}",
                    f"{difference.wins:,} / {difference.losses:,}",
                    f"{difference.p_value:.3f}" if difference.p_value >= 0.001 else "<0.001",
                ]
            )
    title = f"Δ {_METRIC_NAMES[metric]}"
    header = ["relation", "frequency", "result", title, "95 % interval", "better / worse", "p"]
    return markdown_table(header, rows, left=3)


def relation_title(relation: str) -> str:
    """A relation as the paper writes it."""
    return _RELATION_NAMES.get(relation, relation)


def figure(value: float) -> str:
    """Three digits without the zero: ``0.112 -> '.112'``, a missing one ``–``."""
    if value != value:  # nan
        return "–"
    return f"{value:.3f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:.3f}"


def signed(value: float) -> str:
    """A difference: ``0.05 -> '+.050'``, ``-0.05 -> '−.050'``."""
    return ("−" if value < -0.0005 else "+") + figure(abs(value))


def _compared(cell: ComparedCell, metric: str, number: int) -> str:
    one: Cell = cell.cells[number]
    text = figure(getattr(one, metric).mean)
    if number in cell.best(metric) and len(cell.cells) > 1:
        text = f"**{text}**"
    if number and cell.differences[metric][number - 1].significant():
        text += "*"
    return text
