"""The tables of docs/results/tasks.md, made from what benchmarks/tasks measured.

    python benchmarks/render_tasks.py [MEASUREMENTS PAGE]

Each table of the page stands between ``<!-- begin NAME -->`` and ``<!-- end -->``; a line of the measurements
that comes again replaces the earlier one.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

Line = dict[str, Any]
Row = list[str]
ROOT = Path(__file__).resolve().parents[1]
SETS = {"wnut17": "WNUT-17", "ncbi-disease": "NCBI-disease", "bc5cdr": "BC5CDR"}
SIMILARITY = ("Stanford RW", "CRW-550")
PUBLISHED = {
    "Chimeras, 2 sentences": 0.363,
    "Chimeras, 4 sentences": 0.387,
    "Chimeras, 6 sentences": 0.433,
    "nonce definitions": 0.0706,
}


def read(path: Path) -> list[Line]:
    """The lines of measurements, the last of each."""
    found: dict[tuple[Any, ...], Line] = {}
    for text in path.read_text("utf-8").splitlines():
        line = json.loads(text)
        key = tuple(line.get(name) for name in ("task", "model", "way", "part", "group", "device"))
        found[key] = line
    return list(found.values())


def number(value: float, digits: int = 3) -> str:
    """0.425 -> .425"""
    return f"{value:.{digits}f}".replace("0.", ".", 1).replace("-", "−")


def signed(value: float) -> str:
    return ("−" if value < 0 else "+") + number(abs(value))


def change(line: Line, against: float | None = None) -> str:
    """+.012 [+.003, +.020]; against a fixed figure the interval of the figure itself is moved."""
    if against is None:
        middle, low, high = line["change"], line["low"], line["high"]
    else:
        middle, low, high = figure(line) - against, line["low"] - against, line["high"] - against
    return f"{signed(middle)} [{signed(low)}, {signed(high)}]"


def verdict(low: float, high: float) -> str:
    return "helps" if low > 0 else "harms" if high < 0 else "neutral"


def figure(line: Line) -> float:
    return float(
        next(line[name] for name in ("f1", "accuracy", "spearman", "mrr") if line.get(name) is not None)
    )


def table(heading: Row, rows: list[Row], left: int) -> str:
    if not rows:
        return "Not measured."
    rule = "|" + "|".join(["---"] * left + ["---:"] * (len(heading) - left)) + "|"
    shown = ["| " + " | ".join(row) + " |" for row in (heading, *rows)]
    return "\n".join([shown[0], rule, *shown[1:]])


def summary(lines: list[Line]) -> str:
    """Task, model, untaught, taught, change, verdict; without models whose fine-tuning fails on a set."""
    failing = _failing(lines)

    def rows() -> Iterator[Row]:
        for line in lines:
            task, model = line["task"], f"`{line['model']}`"
            if task.startswith("entities") and line["way"] == "pieces and vector" and "change" in line:
                if line["group"] == "not in training" or (task, line["model"]) in failing:
                    continue
                group = "" if line["group"] == "all" else ", entities with a taught word"
                name = f"Entities, {SETS[task.split(', ')[1]]}{group}: F1"
            elif task == "rarified topics" and line["way"] == "taught":
                name = "Rarified topics: accuracy"
            elif task in SIMILARITY and line["way"] == "input vectors":
                name = f"{task}: Spearman"
            elif task in PUBLISHED and line["way"] == "likeness" and line["part"] == "test":
                best = PUBLISHED[task]
                name = f"{task[0].upper()}{task[1:]}: {'Spearman' if 'spearman' in line else 'MRR'}"
                clear = (
                    "above it"
                    if line["low"] > best
                    else "below it"
                    if line["high"] < best
                    else "no clear difference"
                )
                yield [
                    name,
                    model,
                    f"published {number(best)}",
                    number(figure(line)),
                    change(line, best),
                    clear,
                ]
                continue
            else:
                continue
            yield [
                name,
                model,
                number(line["untaught"]),
                number(figure(line)),
                change(line),
                verdict(line["low"], line["high"]),
            ]

    return table(["task", "model", "untaught", "taught", "change, 95 %", "verdict"], sorted(rows()), 2)


def entities(lines: list[Line]) -> str:
    """F1 by set, model, way and group."""
    groups = ("all", "not in training", "with a taught word")
    failing = _failing(lines)
    own = [
        line
        for line in lines
        if line["task"].startswith("entities")
        and "group" in line
        and (line["task"], line["model"]) not in failing
    ]
    rows = []
    for key in dict.fromkeys((line["task"], line["model"], line["way"]) for line in own):
        found = {line["group"]: line for line in own if (line["task"], line["model"], line["way"]) == key}
        cells = [_cell(found.get(group), key[2] == "untaught") for group in groups]
        if 0.0 in found["all"]["seeds"]:
            cells = [f"{found['all']['seeds'].count(0.0)} of 3 runs find nothing", "–", "–"]
        rows.append(
            [SETS[key[0].split(", ")[1]], f"`{key[1]}`", key[2], str(found["all"]["words"] or "–"), *cells]
        )
    heads = [f"{group} ({_items(own, group)})" for group in groups]
    return table(["set", "model", "read as", "words", *heads], rows, 3)


def ways(task: str, counted: str) -> Callable[[list[Line]], str]:
    """A table of all ways of one task."""

    def made(lines: list[Line]) -> str:
        own = [line for line in lines if line["task"] == task and line.get("part") in ("test", "all")]
        rows = [
            [f"`{line['model']}`", line["way"], f"{line[counted]:,}", _cell(line, line["way"] == "pieces")]
            for line in own
        ]
        return table(["model", "way", {"items": "pairs"}.get(counted, counted), "figure"], rows, 2)

    return made


def chimeras(lines: list[Line]) -> str:
    """Spearman by model, way and number of sentences."""
    tasks = [task for task in PUBLISHED if task.startswith("Chimeras")]
    own = [line for line in lines if line["task"] in tasks and line["part"] == "test"]
    rows = []
    for model, way in dict.fromkeys((line["model"], line["way"]) for line in own):
        found = {line["task"]: line for line in own if (line["model"], line["way"]) == (model, way)}
        cells = [
            f"{number(one['spearman'])} [{number(one['low'])}, {number(one['high'])}]"
            for one in map(found.__getitem__, tasks)
        ]
        rows.append([f"`{model}`, {way}", *cells])
    best = ["best published (Van Hautte et al. 2019)", *(number(PUBLISHED[task]) for task in tasks)]
    return table(["test", "2 sentences", "4 sentences", "6 sentences"], [*rows, best], 1)


def nonces(lines: list[Line]) -> str:
    own = [line for line in lines if line["task"] == "nonce definitions" and line["part"] == "test"]
    rows = [
        [
            f"`{line['model']}`",
            line["way"],
            f"{line['items']} of {line['given']}",
            f"{line['vocabulary']:,}",
            f"{number(line['mrr'], 4)} [{number(line['low'])}, {number(line['high'])}]",
            f"{line['median_rank']:,.0f}",
        ]
        for line in own
    ]
    return table(["model", "way", "words", "among", "MRR", "median rank"], rows, 2)


def costs(lines: list[Line]) -> str:
    own = sorted(
        (line for line in lines if line["task"] == "cost"), key=lambda line: (line["device"], line["model"])
    )
    rows = [
        [
            line["device"],
            f"`{line['model']}`",
            line["way"],
            f"{line['tried']:,}",
            f"{line['seconds']:,.0f}",
            f"{line['memory_mb'] / 1024:.1f}",
            f"{line['cuda_mb'] / 1024:.1f}" if line["cuda_mb"] else "–",
            f"{line['added_mb']:.1f}",
        ]
        for line in own
    ]
    heading = ["device", "model", "way", "words", "seconds", "memory, GB", "GPU memory, GB", "MB added"]
    return table(heading, rows, 3)


def _cell(line: Line | None, plain: bool) -> str:
    if line is None:
        return "–"
    return number(figure(line)) if plain else f"{number(figure(line))}, {change(line)}"


def _failing(lines: list[Line]) -> set[tuple[str, str]]:
    """Tasks and models with a seed whose tagger, untaught or as taught by default, finds no entity at all."""
    compared = ("untaught", "pieces and vector")
    own = [line for line in lines if line["way"] in compared and line.get("group") == "all"]
    return {(line["task"], line["model"]) for line in own if 0.0 in line["seeds"]}


def _items(lines: list[Line], group: str) -> str:
    counts: dict[Any, int]
    counts = {(line["task"], line["model"]): line["items"] for line in lines if line["group"] == group}
    if group != "with a taught word":
        counts = {task: count for (task, _), count in counts.items()}
    return ", ".join(f"{count:,}" for count in counts.values())


TABLES: dict[str, Callable[[list[Line]], str]] = {
    "summary": summary,
    "entities": entities,
    "chimeras": chimeras,
    "rarified": ways("rarified topics", "words"),
    **{name: ways(task, "items") for name, task in zip(("rw", "crw"), SIMILARITY, strict=True)},
    "nonces": nonces,
    "costs": costs,
}


def page(text: str, lines: list[Line]) -> str:
    """The page with its tables made anew."""

    def made(found: re.Match[str]) -> str:
        return f"<!-- begin {found[1]} -->\n\n{TABLES[found[1]](lines)}\n\n<!-- end -->"

    return re.sub(r"<!-- begin (\w+) -->\n.*?<!-- end -->", made, text, flags=re.DOTALL)


if __name__ == "__main__":
    results = ROOT / "docs" / "results"
    measured, out = (
        map(Path, sys.argv[1:]) if sys.argv[1:] else (results / "tasks" / "tasks.jsonl", results / "tasks.md")
    )
    out.write_text(page(out.read_text("utf-8"), read(measured)), "utf-8")
