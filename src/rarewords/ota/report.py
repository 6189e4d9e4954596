"""The development measure on paper: a table, and the figure of the distance by iteration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rarewords.files import whole_file

# Read off the published figure for BERT-base: iteration, STATIC, RANDOM.
PAPER_BERT_BASE = (
    (1, 0.9510, 0.9377),
    (10, 0.8947, 0.8500),
    (100, 0.5930, 0.5465),
    (200, 0.4711, 0.4137),
    (500, 0.3489, 0.2880),
    (1000, 0.2932, 0.2449),
    (2000, 0.2676, 0.2265),
    (3000, 0.2609, 0.2165),
    (4000, 0.2563, 0.2124),
    (5000, 0.2510, 0.2160),
)
_TABLE_MARKS = (0, 1, 10, 20, 40, 80, 100, 200, 500, 1000, 2000, 3000, 4000, 5000)
_COLOURS = {"static": "#b5651d", "random": "#1f5fa8", "fast": "#2a8c4a"}


def curves_table(curves: Mapping[str, Mapping[str, Any]]) -> str:
    """A Markdown table of mean cosine distances, a row per iteration and a column per curve.

    :param curves: as :meth:`rarewords.ota.evaluate.Curve.to_dict` gives them, by label.
    """
    found = {
        label: dict(zip(curve["marks"], curve["distances"], strict=True)) for label, curve in curves.items()
    }
    ends = {curve["marks"][-1] for curve in curves.values()}
    marks = sorted({mark for mark in _TABLE_MARKS if any(mark in row for row in found.values())} | ends)
    lines = ["| iteration | " + " | ".join(found) + " |", "|---:|" + "---:|" * len(found)]
    for mark in marks:
        cells = [f"{row[mark]:.4f}" if mark in row else "" for row in found.values()]
        lines.append(f"| {mark} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def curves_csv(curves: Mapping[str, Mapping[str, Any]]) -> str:
    """All marks of all curves as comma-separated values."""
    lines = ["curve,iteration,mean_cosine_distance,seconds"]
    for label, curve in curves.items():
        rows = zip(curve["marks"], curve["distances"], curve["seconds"], strict=True)
        lines += [f"{label},{mark},{distance:.6f},{seconds:.3f}" for mark, distance, seconds in rows]
    return "\n".join(lines) + "\n"


def draw_curves(
    curves: Mapping[str, Mapping[str, Any]], title: str, paths: Sequence[Path], *, paper: bool = True
) -> None:
    """Draw the curves into files, the kind of each by its ending.

    :param paper: show the paper's curves for BERT-base in grey beside them.
    """
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    mpl.rcParams["svg.hashsalt"] = "rarewords"  # the same figure is the same file
    figure, axes = pyplot.subplots(figsize=(6.4, 3.8), layout="constrained")
    if paper:
        for column, name, line in ((1, "STATIC", "--"), (2, "RANDOM", "-")):
            axes.plot(
                [row[0] for row in PAPER_BERT_BASE],
                [row[column] for row in PAPER_BERT_BASE],
                line,
                color="#b0b0b0",
                label=f"{name}, BERT-base, published",
            )
    for label, curve in curves.items():
        axes.plot(
            curve["marks"],
            curve["distances"],
            "--" if label == "static" else "-",
            color=_COLOURS.get(label, "#444444"),
            label=label if label == "fast" else label.upper(),
        )
    axes.set(xlabel="Iterations", ylabel="Mean cosine distance", title=title, ylim=(0, 1.04))
    axes.set_xscale("symlog", linthresh=10)
    axes.set_xlim(left=0)
    axes.set_xticks([0, 10, 100, 1000, 4000], ["0", "10", "100", "1000", "4000"])
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8)
    for path in paths:
        # The date would make two equal figures different files.
        metadata = {"Date": None} if path.suffix == ".svg" else {"Software": None}
        with whole_file(path) as temporary:
            figure.savefig(temporary, format=path.suffix[1:], dpi=160, metadata=metadata)
    pyplot.close(figure)
