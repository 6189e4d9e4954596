"""Render docs/results/mimic.md from measurements.

    PYTHONPATH=src python benchmarks/render_mimic.py [--out docs/results]

``OUT/mimic/MODEL.jsonl`` holds one line per measurement.
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
KEPT = ("pieces", "am+context", "form-dropout", "more-dropout")
COLUMNS = {
    "all": "all all",
    "rare": "all rare",
    "medium": "all medium",
    "frequent": "all frequent",
    "antonym, rare": "antonym rare",
    "cohyponym+, rare": "cohyponym rare",
    "hypernym, rare": "hypernym rare",
    "corruption, rare": "corruption rare",
}

INTRODUCTION = """\
Figures of `minilm-mlm` are of the model that was bundled until `gte-mlm` replaced it;
[bundled](bundled.md) has those of `gte-mlm`.

The paper's ablations of attentive mimicking on WNLaMPro, mean ± standard deviation over seeds.

```
rarewords ota --preset paper --model M --words WORDS --out ota.safetensors
python benchmarks/mimic_ablation.py OUT --model M --corpus STORE --targets ota.safetensors
python benchmarks/render_mimic.py
```

WORDS are the words of several pieces that occur at least 100 times. `no-ota`, `no-form` and `no-context`
start from AM; `no-attention` starts from AM+context; `form-dropout` is AM+context with the form hidden in
30 % of the instances. "Scale" is the distance of the vectors from the mean embedding, in units of the usual
one; an empty cell stands for vectors as the model gives them. "From contexts" is the mean of the gate.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("docs/results"))
    asked = parser.parse_args()
    parts = ["# Attentive mimicking: results", "", INTRODUCTION]
    for path in sorted((asked.out / "mimic").glob("*.jsonl"), reverse=True):
        lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        parts += [f"## {path.stem}", "", f"[The measurements](mimic/{path.name}).", ""]
        for subset in ("dev", "test"):
            groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
            for line in lines:
                if line.get("set", "dev") == subset:
                    key = line["configuration"], line.get("epoch", ""), line.get("scale", 0)
                    groups.setdefault(key, []).append(line)
            header = ["configuration", "epochs", "scale", "from contexts", *COLUMNS]
            table = [row(*key, some) for key, some in groups.items()]
            parts += [f"MRR on {subset}:", "", markdown_table(header, table, left=1), ""]
    with whole_file(asked.out / "mimic.md") as temporary:
        temporary.write_text("\n".join(parts), "utf-8")


def row(configuration: str, epoch: Any, scale: float, lines: list[dict[str, Any]]) -> list[str]:
    """The measurements of one configuration with several seeds."""
    shares = [line["context_share"] for line in lines if "context_share" in line]
    share = f"{np.mean(shares):.0%}" if shares else ""
    cells = [[line[key] for line in lines if key in line] for key in COLUMNS.values()]
    return [configuration, str(epoch), f"{scale:g}" if scale else "", share, *map(spread, cells)]


def spread(values: list[float]) -> str:
    """Mean and standard deviation: ``[.25, .27] -> .260 ± .014``"""
    if not values:
        return ""
    mean = f"{np.mean(values):.3f}".lstrip("0")
    return mean if len(values) == 1 else f"{mean} ± " + f"{np.std(values, ddof=1):.3f}".lstrip("0")


if __name__ == "__main__":
    main()
