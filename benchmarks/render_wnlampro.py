"""Render docs/results/wnlampro.md and its figures from result files; no number is typed by hand.

    PYTHONPATH=src python benchmarks/render_wnlampro.py RESULTS [--out docs/results]

RESULTS is a folder of ``MODEL-METHOD.json.gz`` files as benchmarks/probe_models.py writes them. The page has
each model's table, the heat map of its ``pieces`` and, if there are several methods, their comparison and
figure. The result files are copied beside the page.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

import numpy as np
from rarewords.report.figures import draw_heat_map, draw_methods, heat_map

from rarewords.files import whole_file
from rarewords.probe.compare import compare
from rarewords.probe.dataset import BANDS, RELATIONS, Dataset
from rarewords.probe.result import ProbeResult
from rarewords.report.tables import (
    comparison_table,
    difference_table,
    markdown_table,
    relation_title,
    result_table,
)

ORDER = ("pieces", "ota", "first", "last", "avg")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path)
    parser.add_argument("--out", type=Path, default=Path("docs/results"))
    asked = parser.parse_args()
    kept = asked.out / "wnlampro"
    kept.mkdir(parents=True, exist_ok=True)
    models: dict[str, list[ProbeResult]] = {}
    for path in sorted(asked.results.glob("*.json.gz")):
        result = ProbeResult.load(path)
        models.setdefault(str(result.settings["model"]), []).append(result)
        if path.parent.resolve() != kept.resolve():
            shutil.copyfile(path, kept / path.name)
    if not models:
        raise SystemExit(f"{asked.results} has no *.json.gz results")
    for results in models.values():
        results.sort(key=lambda one: (_place(one), one.label))
    with whole_file(asked.out / "wnlampro.md") as temporary:
        temporary.write_text(page(models, kept), "utf-8")
    print(asked.out / "wnlampro.md")


def page(models: dict[str, list[ProbeResult]], folder: Path) -> str:
    """The page; the figures are drawn into the folder."""
    dataset = Dataset.load()
    used = {str(one.settings["dataset"]) for results in models.values() for one in results}
    same = "the one that ships" if used == {dataset.digest} else f"of digest {', '.join(sorted(used))}"
    parts = [
        "# WNLaMPro: results\n",
        "Figures of `minilm-mlm` are of the model that was bundled until `gte-mlm` replaced it; "
        "[bundled](bundled.md) has those of `gte-mlm`.\n",
        f"Rendered from the files in [{folder.name}/]({folder.name}/) by `benchmarks/render_wnlampro.py`. "
        f"The data set is {same}; MRR, P@3 and P@10 ± standard error.\n",
    ]
    for model, results in models.items():
        name = f"{model}-heatmap"
        draw_heat_map(heat_map(results[0]), folder / name)
        first = results[0]
        parts += [
            f"## {model}\n",
            f"{first.label}: {len(first):,} entries, {first.settings['queries']:,} queries, set "
            f"{first.settings['set']}.\n",
            result_table(first),
            rises(first),
            f"![Ranks by count, {model}]({folder.name}/{name}.png)\n",
        ]
        if len(results) > 1:
            comparison = compare(results)
            draw_methods(results, folder / f"{model}-methods")
            parts += [
                f"### Methods on {model}\n",
                f"Best in bold; `*`: p < .05 against {first.label} in a two-sided binomial test.\n",
                comparison_table(comparison),
                f"MRR against {first.label}, with 95 % bootstrap intervals:\n",
                difference_table(comparison),
                f"![Methods by frequency, {model}]({folder.name}/{model}-methods.png)\n",
            ]
    return "\n".join(parts)


def rises(result: ProbeResult) -> str:
    """Whether MRR rises from rare to frequent, for every relation with entries in all three bands."""
    rows = []
    for relation in (*RELATIONS, "all"):
        means = [result.measure(relation, band).mean for band in BANDS]
        if not np.isnan(means).any():
            rows.append([relation_title(relation), "yes" if sorted(means) == means else "no"])
    return markdown_table(["relation", "MRR rises from rare to medium to frequent"], rows)


def _place(result: ProbeResult) -> int:
    method = result.label.split(" ")[-1]
    return ORDER.index(method) if method in ORDER else len(ORDER)


if __name__ == "__main__":
    main()
