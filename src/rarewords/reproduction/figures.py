"""The figures of the report: ours, with the paper's beside or behind them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rarewords.probe.dataset import BANDS, RELATIONS
from rarewords.report.figures import COLOURS, MARKS, STYLE, load_pyplot, save_figure
from rarewords.report.tables import relation_title
from rarewords.reproduction import published
from rarewords.reproduction.configurations import title_of

_PALE = "#b4b4b4"
_METHODS = {"pieces": "pieces", "ota": "OTA", "first": "FIRST", "last": "LAST", "avg": "AVG"}


def draw_ota_curves(curves: Mapping[str, Mapping[str, Any]], path: Path) -> None:
    """Distance by iteration; the paper's curves in grey."""
    pyplot = load_pyplot()
    with pyplot.rc_context(STYLE):
        figure, axes = pyplot.subplots(figsize=(6.4, 3.6), layout="constrained")
        marks = [row[0] for row in published.OTA_CURVES]
        for column, name, line in ((1, "STATIC", "--"), (2, "RANDOM", "-")):
            values = [row[column] for row in published.OTA_CURVES]
            axes.plot(marks, values, line, color=_PALE, linewidth=1.3, label=f"{name}, paper")
        for number, (mode, line) in enumerate((("static", "--"), ("random", "-"))):
            curve = curves[mode]
            axes.plot(
                curve["marks"],
                curve["distances"],
                line,
                color=COLOURS[1 - number],
                linewidth=1.8,
                label=mode.upper(),
            )
        axes.set(xlabel="Iterations", ylabel="Mean cosine distance", ylim=(0, 1.02))
        axes.set_xlim(0, max(curves["random"]["marks"]))
        axes.grid(axis="y", linewidth=0.4, color="#dddddd")
        axes.legend(frameon=False)
        save_figure(figure, path, pyplot)


def draw_methods_beside(cells: Mapping[str, Mapping[str, Any]], path: Path) -> None:
    """MRR by frequency, a line for each method: ours left, the paper's right, on one scale."""
    pyplot = load_pyplot()
    with pyplot.rc_context(STYLE):
        figure, (ours, paper) = pyplot.subplots(1, 2, figsize=(8.4, 3.5), sharey=True, layout="constrained")
        for number, (method, title) in enumerate(_METHODS.items()):
            style: dict[str, Any] = {
                "color": COLOURS[number],
                "marker": MARKS[number],
                "markersize": 5,
                "linewidth": 1.5,
                "linestyle": "-" if number == 0 else "--",
                "label": title,
            }
            present = [
                (place, cells[method][f"all {band}"])
                for place, band in enumerate(BANDS)
                if f"all {band}" in cells[method]
            ]
            aside = (number - 2) * 0.03  # so that bars of methods that agree do not cover each other
            ours.errorbar(
                [place + aside for place, _ in present],
                [cell["mrr"] for _, cell in present],
                yerr=[cell["mrr_error"] or 0 for _, cell in present],
                elinewidth=0.9,
                capsize=2.5,
                **style,
            )
            paper.plot(range(len(BANDS)), published.METHODS[method], **style)
        for axes, title in ((ours, "Ours"), (paper, "Paper, BERT-base")):
            axes.set_title(title, loc="left", fontsize=10)
            axes.set_xticks(range(len(BANDS)), BANDS)
            axes.set_xlim(-0.25, len(BANDS) - 0.75)
            axes.grid(axis="y", linewidth=0.4, color="#dddddd")
            axes.set_axisbelow(True)
        ours.set_ylim(bottom=0)
        ours.set_ylabel("Mean reciprocal rank")
        paper.legend(frameon=False, loc="upper left", fontsize=8.5)
        save_figure(figure, path, pyplot)


def draw_ablation(result: Mapping[str, Any], path: Path) -> None:
    """MRR on dev by configuration after the last epoch; the paper's as outlines."""
    pyplot = load_pyplot()
    last, configurations = result["epochs"][-1], result["configurations"]
    values = {
        one: [run["mrr"] for run in result["runs"] if (run["configuration"], run["epoch"]) == (one, last)]
        for one in configurations
    }
    with pyplot.rc_context(STYLE):
        figure, axes = pyplot.subplots(figsize=(6.4, 3.1), layout="constrained")
        means = [sum(values[one]) / len(values[one]) for one in configurations]
        colours = [COLOURS[0] if one == "am+context" else COLOURS[5] for one in configurations]
        places = range(len(configurations))
        axes.bar(
            [place - 0.2 for place in places], means, width=0.38, color=colours, label=f"ours, {last} epochs"
        )
        paper = [published.ABLATION.get(one, (0.0, 0.0))[1] for one in configurations]
        axes.bar(
            [place + 0.2 for place in places],
            paper,
            width=0.38,
            facecolor="#f2f2f2",
            edgecolor=_PALE,
            linewidth=1,
            label="paper, 10 epochs",
        )
        for place, one in enumerate(configurations):
            axes.plot([place - 0.2] * len(values[one]), values[one], ".", color="#222222", markersize=3)
        axes.axhline(
            result["pieces"]["mrr"], color=COLOURS[1], linewidth=1, linestyle=":", label="ours, pieces"
        )
        axes.set_xticks(places, [title_of(one) for one in configurations])
        axes.set_ylabel("MRR on dev")
        axes.legend(frameon=False, fontsize=8, ncols=3, loc="upper center", bbox_to_anchor=(0.5, 1.16))
        axes.tick_params(axis="x", length=0)
        save_figure(figure, path, pyplot)


def draw_main(comparison: Mapping[str, Any], path: Path) -> None:
    """A panel for each relation: MRR by frequency of every method, the paper's BERT-base in pale."""
    pyplot = load_pyplot()
    cells = {(cell["relation"], cell["frequency"]): cell for cell in comparison["cells"]}
    relations = [one for one in RELATIONS if any((one, band) in cells for band in BANDS)]
    with pyplot.rc_context(STYLE):
        figure, panels = pyplot.subplots(
            1, len(relations), figsize=(9.2, 3.3), layout="constrained", squeeze=False
        )
        handles: dict[str, Any] = {}
        for axes, relation in zip(panels[0], relations, strict=True):
            bands = [band for band in BANDS if (relation, band) in cells]
            for model, line in (("base", "-"), ("base+AM", "--")):
                found = [published.main_cell(relation, model, band) for band in bands]
                points = [(place, cell[0]) for place, cell in enumerate(found) if cell is not None]
                drawn = axes.plot(
                    *zip(*points, strict=True),
                    line,
                    color=_PALE,
                    marker="o" if model == "base" else "^",
                    markersize=4,
                )
                handles.setdefault(f"paper, BERT-{model}", drawn[0])
            for number, label in enumerate(comparison["results"]):
                figures = [cells[relation, band]["mrr"][number] for band in bands]
                means = [one["mean"] for one in figures]
                # The interval is that of the difference to the pieces, drawn around the method's own mean.
                low = [one["difference"] - one["interval"][0] if number else 0.0 for one in figures]
                high = [one["interval"][1] - one["difference"] if number else 0.0 for one in figures]
                aside = (number - 1) * 0.06
                drawn = axes.errorbar(
                    [place + aside for place in range(len(bands))],
                    means,
                    yerr=[[max(one, 0.0) for one in low], [max(one, 0.0) for one in high]],
                    color=COLOURS[number],
                    marker=MARKS[number],
                    markersize=4.5,
                    linewidth=1.5,
                    linestyle="-" if number == 0 else "--",
                    elinewidth=0.8,
                    capsize=2,
                )
                handles.setdefault(label, drawn)
            axes.set_title(relation_title(relation), loc="left", fontsize=10)
            axes.set_xticks(range(len(bands)), bands)
            axes.set_xlim(-0.35, max(len(bands) - 0.65, 0.35))
            axes.set_ylim(bottom=0)
            axes.grid(axis="y", linewidth=0.4, color="#dddddd")
            axes.set_axisbelow(True)
            axes.tick_params(labelsize=8)
        panels[0][0].set_ylabel("Mean reciprocal rank")
        order = [*comparison["results"], *(name for name in handles if name.startswith("paper"))]
        figure.legend(
            [handles[name] for name in order],
            order,
            loc="outside lower center",
            ncols=len(order),
            frameon=False,
            fontsize=8.5,
        )
        save_figure(figure, path, pyplot)
