"""``python -m experiments.mimicking.table``: every way to an embedding in one table.

It has the rows that there are results files of. Rows of the same model and the same entries can be compared. AM is the
paper's setting in our text, BERTRAM-ADD our own training of it; ``append`` is BERTRAM's slash variant in all of them.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from experiments.mimicking.report import RESULTS
from rarewords._internal.files import read_json, write_lines
from rarewords._internal.tables import markdown_table
from rarewords.wnlampro.dataset import BANDS, RELATIONS
from rarewords.wnlampro.tables import figure, relation_title

EXPERIMENTS = Path(__file__).parents[1]
WAYS = {
    "subwords": "subwords",
    "paper-am": "AM",
    "paper": "AM+context",
    "bertram": "BERTRAM-ADD",
    "token distillation": "token distillation",
    "ota": "OTA",
    "learner": "our learner",
    "learner, fused": "our learner, fused",  # in 0.1 only
}
ASKED = {"test": "test", "sampled": "test, sampled keywords"}
LABELS = {  # of version 0.1, which names settings
    "pieces": ("subwords", ""),
    "both, A, spelling .5, alone .5": ("our learner", "replace"),
    "both, A, spelling .5, pieces .3, alone .5, scale 1.3": ("our learner", "replace"),
    "slash both, A, spelling .5, scale .85": ("our learner", "append"),
    "both, A, spelling .5, alone .5, condensed": ("our learner, fused", "replace"),
}
_CELLS = [
    (group, band)
    for group in ("all", *RELATIONS)
    for band in BANDS
    if (group, band) not in (("corruption", "medium"), ("corruption", "frequent"))
]


@dataclass(frozen=True)
class Row:
    """MRR of one way by relation and frequency."""

    model: str
    entries: str
    way: str
    placement: str
    mrr: dict[tuple[str, str], float]
    seconds: float | None
    version: str
    file: str


def rows() -> Iterator[Row]:
    """What the results files say."""
    for path in sorted(RESULTS.glob("*.json")):
        found = read_json(path)
        cost = {row["setting"]: row["seconds"] for row in found["rows"] if row.get("seconds")}
        for row in found["rows"]:
            if row["part"] in ASKED and row["setting"] == "subwords":
                many = row.get("entries")  # the rows of a part follow its subwords
            if row["part"] in ASKED and row["setting"] in WAYS:
                mrr = {(group, band): value for group, bands in row["mrr"].items() for band, value in bands.items()}
                about = WAYS[row["setting"]], row.get("placement", ""), mrr, cost.get(row["setting"])
                entries = f"{many:,} of {ASKED[row['part']]}" if many else ASKED[row["part"]]
                yield Row(found["model"], entries, *about, found["version"], _named(path))
    for path in sorted(EXPERIMENTS.glob("paper/results/*/results/methods.json")):
        found = read_json(path)["result"]["comparison"]
        for label, (way, placement) in {"pieces": LABELS["pieces"], "OTA": ("OTA", "replace")}.items():
            at = found["labels"].index(label)
            mrr = {(one["relation"], one["band"]): one["cells"][at]["mrr"]["mean"] for one in found["cells"]}
            yield Row(path.parts[-3], "dev and test", way, placement, mrr, None, "0.1", _named(path))
    for path in sorted(EXPERIMENTS.glob("beyond/results/0.1/*.jsonl")):
        lines = map(json.loads, path.read_text("utf-8").splitlines())
        probes = [one for one in lines if one["measure"] == "probe" and one["set"] == "all"]
        for label, (way, placement) in LABELS.items():
            seeds = [one for one in probes if one["label"] == label and label != "pieces"]
            if seeds:
                cells = seeds[0]["cells"]
                mrr = {tuple(cell.split()): float(np.mean([one["cells"][cell][0] for one in seeds])) for cell in cells}
                yield Row(seeds[0]["model"], "dev and test", way, placement, mrr, None, "0.1", _named(path))


def table() -> str:
    """The table in Markdown."""
    order = list(WAYS.values())
    chosen = sorted(rows(), key=lambda row: (row.model, row.entries, order.index(row.way), row.placement))
    titles = ["model", "entries", "way", "placement", "file", "version", "ms per word"]
    titles += [f"{relation_title(group) if group in RELATIONS else group} {band}" for group, band in _CELLS]
    cells = [
        [row.model, row.entries, row.way, row.placement, row.file, row.version]
        + ["" if row.seconds is None else f"{1000 * row.seconds:.2g}"]
        + [figure(row.mrr.get(cell, np.nan)) for cell in _CELLS]
        for row in chosen
    ]
    return markdown_table(titles, cells, left=6)


def _named(path: Path) -> str:
    return str(path.relative_to(EXPERIMENTS))


if __name__ == "__main__":
    write_lines(RESULTS / "table.md", [table()])
