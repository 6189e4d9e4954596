"""Entries whose keyword contains one of its targets (blackberry, berry), by relation and frequency.

PYTHONPATH=src python benchmarks/contained_targets.py docs/results/wnlampro/mpnet-mlm-pieces.json.gz
"""

from __future__ import annotations

import argparse

import numpy as np

from rarewords.probe.dataset import BANDS, Dataset, Entry
from rarewords.probe.result import ProbeResult


def contains_a_target(entry: Entry) -> bool:
    """Whether a target can be read off the keyword, as *berry* can be read off *blackberry*.

    Targets of one or two letters do not count: *water* contains *a* and *t* by accident. Nor does a
    corruption, which keeps most of its target's letters by construction.
    """
    return entry.relation != "corruption" and any(
        len(target.text) > 2 and target.text in entry.word.text for target in entry.targets
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("result")
    result = ProbeResult.load(parser.parse_args().result)
    containing = {entry.id for entry in Dataset.load() if contains_a_target(entry)}
    contained = np.array([one in containing for one in result.id])
    for relation in ("hypernym", "cohyponym"):
        for band in BANDS:
            rows = result.chosen(relation, band)
            inside, values = contained[rows], result.reciprocal[rows]
            print(
                f"{relation} {band}: {inside.mean():.0%} contain a target, "
                f"MRR {values[inside].mean():.3f}, others {values[~inside].mean():.3f}"
            )


if __name__ == "__main__":
    main()
