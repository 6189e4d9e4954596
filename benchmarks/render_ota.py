"""The page of results for one-token approximation, made from what bench_ota.py measured.

    python benchmarks/render_ota.py RESULTS docs/results

RESULTS holds the JSON files; the page, the figures and the numbers behind them go into the second folder.
No number on the page is typed by hand.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from rarewords.files import read_json, whole_file
from rarewords.ota.report import curves_table, draw_curves

PAPER_ITERATIONS = 4000


def main() -> None:
    results, out = Path(sys.argv[1]), Path(sys.argv[2])
    kept = out / "ota"
    kept.mkdir(parents=True, exist_ok=True)
    parts = ["# One-token approximation: results", INTRODUCTION]
    for path in sorted(results.glob("*-curves.json")):
        result = read_json(path)
        figure = [kept / f"{result['model']}-curves.{ending}" for ending in ("png", "svg")]
        draw_curves(result["curves"], result["model"], figure)
        parts += curves_part(result)
    parts += tried_part([read_json(path) for path in sorted(results.glob("*-tried.json"))])
    parts += scale_part([read_json(path) for path in sorted(results.glob("*-scale.json"))], "On a GPU")
    parts += scale_part([read_json(path) for path in sorted(results.glob("*-cpu.json"))], "On a CPU")
    parts += behaviour_part([read_json(path) for path in sorted(results.glob("*-behaviour.json"))])
    parts += steps_part({path.stem: path for path in sorted(results.glob("*-steps.jsonl"), reverse=True)})
    for path in [*results.glob("*.json"), *results.glob("*.csv"), *results.glob("*.jsonl")]:
        if path.resolve().parent != kept.resolve():
            shutil.copyfile(path, kept / path.name)
    with whole_file(out / "ota.md") as temporary:
        temporary.write_text("\n\n".join(parts) + "\n", "utf-8")


INTRODUCTION = """Made by `benchmarks/render_ota.py` from the measurements in [ota/](ota/). The method is in
[ota.md](../ota.md). Distances are means of the cosine distance between a one-piece word's approximation and
the model's own embedding of it; no start knows the answer, and what preset `fast` learns from other one-piece
words is learnt without the words measured. A pass is one sequence run through the model; the passes and the
time of `fast` include what it learns once per model, divided among the words. The GPU ran several of these
measurements at once, so seconds are longer than on a GPU of one's own, and ratios of seconds are those of a
shared GPU. On one-piece words preset `fast` solves by L-BFGS; words of several pieces, which it is for, go
another way (see there), so these distances do not speak for them: the answers to patterns do. STATIC contexts
with `mpnet-mlm` are in the [reproduction](reproduction/mpnet-mlm/report.md)."""


STEPS = """All keywords of WNLaMPro dev with several pieces, approximated by preset `fast` with more steps and
other rates (the default: 100 steps, .005); MRR, and the difference to the pieces:

```
python benchmarks/ota_steps.py RESULTS --model M --name NAME --steps 100 300 --rates .005 .01
```

Measured on an H200 beside seven other jobs, so the seconds say little, by the same steps before the script
was put here. More steps bring the vectors nearer to the pieces, at three times the cost; a rate twice as high
changes nothing. The default stays at 100: on two cores 200 words take a minute and a half with it."""


def steps_part(models: dict[str, Path]) -> list[str]:
    """What more steps bring, on WNLaMPro dev."""
    if not models:
        return []
    rows = []
    for name, path in models.items():
        lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        pieces = next(line for line in lines if line["preset"] == "pieces")
        for line in lines:
            made = "pieces"
            if line["preset"] == "fast":
                made = f"{line['averaging_steps']} steps, rate {line['averaging_rate']:g}"
            elif line["preset"] == "paper":
                made = f"preset paper, {line['iterations']} steps"
            cells = [f"{line[key]:.3f} ({line[key] / pieces[key] - 1:+.0%})" for key in STEP_COLUMNS]
            seconds = f"{line['seconds']:.0f}" if "seconds" in line else ""
            rows.append(f"| {name.removesuffix('-steps')} | {made} | {' | '.join(cells)} | {seconds} |")
    header = f"| model | | {' | '.join(STEP_COLUMNS)} | seconds |"
    return ["## Steps", STEPS, "\n".join([header, "|---|---|" + "---:|" * (len(STEP_COLUMNS) + 1), *rows])]


STEP_COLUMNS = ("all rare", "all medium", "all frequent", "hypernym rare", "cohyponym rare")


def curves_part(result: dict[str, Any]) -> list[str]:
    """Table, figure and tests for one model."""
    curves, name = result["curves"], result["model"]
    parts = [f"## {name}: {result['words']} one-piece words", on(result)]
    parts += [f"![distance by iteration](ota/{name}-curves.svg)", curves_table(curves).strip()]
    for test in result.get("comparisons", []):
        verdict = "significant" if test["p_value"] < 0.05 else "not significant"
        parts.append(
            f"Each at its best, `{test['first']}` is nearer for {test['first_wins']} words, "
            f"`{test['second']}` for {test['second_wins']}: p = {test['p_value']:.2g}, "
            f"{verdict} (two-sided binomial test)."
        )
    if "random" in curves and "fast" in curves and PAPER_ITERATIONS in curves["random"]["marks"]:
        parts.append(costs(curves["random"], curves["fast"]))
    return parts


def costs(paper: dict[str, Any], fast: dict[str, Any]) -> str:
    """What the two presets cost for their distances."""
    place = paper["marks"].index(PAPER_ITERATIONS)
    share = PAPER_ITERATIONS / paper["marks"][-1]
    rows = [
        (
            f"paper, RANDOM, {PAPER_ITERATIONS} iterations",
            paper["distances"][place],
            paper["forwards"] * share,
            paper["backwards"] * share,
            paper["seconds"][place],
        ),
        ("fast", fast["distances"][-1], fast["forwards"], fast["backwards"], fast["seconds"][-1]),
    ]
    lines = ["| preset | distance | forward passes a word | backward passes a word | seconds |"]
    lines.append("|---|---:|---:|---:|---:|")
    for label, distance, forwards, backwards, seconds in rows:
        lines.append(f"| {label} | {distance:.4f} | {forwards:.0f} | {backwards:.0f} | {seconds:.2f} |")
    ratios = [rows[0][i] / rows[1][i] for i in (2, 3, 4)]
    lines.append(
        f"\n`fast` takes {ratios[0]:.1f} times fewer forward passes, "
        f"{ratios[1]:.1f} times fewer backward passes and {ratios[2]:.1f} times less time."
    )
    return "\n".join(lines)


def tried_part(results: list[dict[str, Any]]) -> list[str]:
    """What was tried for the fast preset, the nearest first."""
    parts = []
    for result in results:
        lines = ["| settings | start | distance | backward passes a word | seconds |"]
        lines.append("|---|---:|---:|---:|---:|")
        for label, curve in sorted(result["curves"].items(), key=lambda item: item[1]["distances"][-1]):
            lines.append(
                f"| {label} | {curve['distances'][0]:.4f} | {curve['distances'][-1]:.4f} "
                f"| {curve['backwards']:.0f} | {curve['seconds'][-1]:.2f} |"
            )
        title = f"## {result['model']}: what was tried, {result['words']} one-piece words"
        parts += [title, on(result), "\n".join(lines)]
    return parts


def scale_part(results: list[dict[str, Any]], title: str) -> list[str]:
    """Many words of several pieces, timed."""
    if not results:
        return []
    lines = [
        "| model | words | seconds | words/s | held-out distance | of AVG |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {one['model']} | {one['words']:,} | {one['seconds']:.1f} | {one['words'] / one['seconds']:.1f} "
        f"| {one['held_out_distance']:.1f} | {one['held_out_distance_avg']:.1f} |"
        for one in results
    ]
    return [f"## {title}: words of several pieces, preset `fast`", *map(on, results), "\n".join(lines)]


def behaviour_part(results: list[dict[str, Any]]) -> list[str]:
    """Overlap of answers, all methods and models."""
    if not results:
        return []
    parts = ["## Answers to patterns: one vector against the pieces", *map(on, results)]
    for result in results:
        lines = [
            f"| {result['model']}, {result['words']} nouns | top-{result['top_k']} overlap "
            "| held-out distance |",
            "|---|---:|---:|",
        ]
        lines += [
            f"| {name} | {one['overlap']:.3f} ± {one['error']:.3f} | {one['held_out_distance']:.1f} |"
            for name, one in sorted(result["methods"].items(), key=lambda item: -item[1]["overlap"])
        ]
        parts.append("\n".join(lines))
    return parts


def on(result: dict[str, Any]) -> str:
    """Where and how something was measured."""
    return (
        f"`{result['command']}` on {result['device']}, {result['threads']} threads, torch {result['torch']}, "
        f"matrix products {'TF32' if result['matmul'] == 'high' else 'float32'}."
    )


if __name__ == "__main__":
    main()
