"""``python -m experiments.mimicking.table``: every way to an embedding in one table.

It has the rows that there are results files of. Rows of the same model and the same entries can be compared. AM is the
paper's setting in our text, BERTRAM-ADD our own training of it; ``append`` is BERTRAM's slash variant in all of them.
"""

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
}
ASKED = {"test": "test", "sampled": "test, sampled keywords"}
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
    for path in sorted(RESULTS.glob("table-*.json")):
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
