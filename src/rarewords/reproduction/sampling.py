"""A part of WNLaMPro in which every relation and frequency has its share."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from rarewords.probe.dataset import SETS, Dataset, Entry, FrequencyBounds


def sample_dataset(
    dataset: Dataset, dev: int | None, test: int | None, seed: int, *, smallest_cell: int = 12
) -> Dataset:
    """About so many entries of each set, drawn by a hash of seed and entry; None takes them all.

    Cells of relation and frequency shrink alike, but not below ``smallest_cell`` entries.
    """
    if dev is None and test is None:
        return dataset
    kept: set[str] = set()
    for subset, number in zip(SETS, (dev, test), strict=True):
        entries = [entry for entry in dataset if entry.subset == subset]
        kept |= {entry.id for entry in _drawn(entries, number, seed, smallest_cell)}
    return Dataset(
        tuple(entry for entry in dataset if entry.id in kept), f"a sample of {len(kept)} of {dataset.name}"
    )


def _drawn(entries: Sequence[Entry], number: int | None, seed: int, smallest_cell: int) -> Sequence[Entry]:
    if number is None or number >= len(entries):
        return entries
    bounds, share = FrequencyBounds(), number / len(entries)
    cells: dict[tuple[str, str], list[Entry]] = {}
    for entry in entries:
        cells.setdefault((entry.relation, bounds.band(entry.count)), []).append(entry)
    chosen: list[Entry] = []
    for cell in cells.values():
        size = max(round(len(cell) * share), min(smallest_cell, len(cell)))
        chosen += sorted(cell, key=lambda entry: order_key(entry.id, seed))[:size]
    return chosen


def order_key(text: str, seed: int) -> bytes:
    """A place in an order that depends on the seed and the text alone."""
    return hashlib.blake2b(f"{seed}\t{text}".encode(), digest_size=8).digest()
