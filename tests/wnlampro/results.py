"""Results made by hand, for tables and figures."""

import numpy as np

from rarewords.wnlampro.result import ProbeResult


def made(label, shift=0, entries=900):
    random = np.random.default_rng(7)
    count = (2 ** random.uniform(0, 16, entries)).astype(int)
    rank = np.maximum(1, (3000 / (count + 8) + random.integers(0, 9, entries)).astype(int) + shift)
    rank[rank > 512] = 0
    return ProbeResult(
        {"label": label, "dataset": "d", "depth": 512},
        id=[str(i) for i in range(entries)],
        word=["w"] * entries,
        relation=["cohyponym" if i % 3 else "hypernym" for i in range(entries)],
        rank=rank,
        hits3=((rank > 0) & (rank <= 3)).astype(int),
        hits10=((rank > 0) & (rank <= 10)).astype(int),
        count=count,
    )
