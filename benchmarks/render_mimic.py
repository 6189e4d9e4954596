"""Write the tables of docs/results/mimic.md from the measurements in docs/results/mimic.

    PYTHONPATH=src python benchmarks/render_mimic.py [--out docs/results]

``OUT/mimic/MODEL.jsonl``, written by ``mimic_ablation.py``, holds one line per measurement. The text of the
page is written by hand and stays; each model's section is replaced.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from rarewords.files import whole_file
from rarewords.report.tables import markdown_table

# The other configurations were removed; the page names what they gave.
KEPT = ("pieces", "am", "am+context", "form-dropout", "more-dropout", "no-ota", "no-form", "no-context")
COLUMNS = {
    "all": "MRR",
    "rare": "all rare",
    "medium": "all medium",
    "frequent": "all frequent",
    "cohyponym+ rare": "cohyponym rare",
    "hypernym rare": "hypernym rare",
    "antonym rare": "antonym rare",
    "corruption rare": "corruption rare",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("docs/results"))
    folder = parser.parse_args().out
    with whole_file(folder / "mimic.md") as temporary:
        temporary.write_text(page(folder), "utf-8")


def page(folder: Path) -> str:
    """The page with the tables of all models that have been measured."""
    models = sorted((folder / "mimic").glob("*.jsonl"), reverse=True)
    text = (folder / "mimic.md").read_text("utf-8")
    for model in models:
        text = text.split(f"## {model.stem}\n")[0]
    parts = []
    for path in models:
        lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        header = ["configuration", "epochs", "length", "from contexts", *COLUMNS]
        table = markdown_table(header, [row(some) for some in grouped(lines)], left=1)
        source = f"[The lines behind the tables](mimic/{path.name})."
        parts.append(f"## {path.stem}\n\n{source}\n\nMRR on dev:\n\n{table}")
    return text.rstrip() + "\n\n" + "\n\n".join(parts)


def grouped(lines: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """The dev measurements of each row: those that differ in the seed alone."""
    groups: list[tuple[list[Any], list[dict[str, Any]]]] = []
    for line in lines:
        if line.get("set", "dev") != "dev" or line["configuration"] not in KEPT:
            continue
        key = [line.get(name) for name in ("configuration", "epoch", "scale", "ngram_limit", "packed")]
        for known, group in groups:
            if known == key and line.get("seed") not in [one.get("seed") for one in group]:
                group.append(line)
                break
        else:
            groups.append((key, [line]))
    return [group for _, group in groups]


def row(lines: list[dict[str, Any]]) -> list[str]:
    """One configuration, as the mean over its seeds."""
    first = lines[0]
    name = first["configuration"]
    name += f", {first['ngram_limit']:,} n-grams" if "ngram_limit" in first else ""
    name += f", int8, {first['packed'] / 1e6:.1f} MB" if "packed" in first else ""
    shares = [line["context_share"] for line in lines if "context_share" in line]
    share, scale = f"{np.mean(shares):.0%}" if shares else "", first.get("scale")
    cells = [spread([line[key] for line in lines if key in line]) for key in COLUMNS.values()]
    return [name, str(first.get("epoch", "")), f"{scale:g}" if scale else "", share, *cells]


def spread(values: list[float]) -> str:
    """Mean and standard deviation: ``[.25, .27] -> .260 ± .014``"""
    if not values:
        return ""
    mean = f"{np.mean(values):.3f}".lstrip("0")
    return mean if len(values) == 1 else f"{mean} ± " + f"{np.std(values, ddof=1):.3f}".lstrip("0")


if __name__ == "__main__":
    main()
