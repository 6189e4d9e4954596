"""Reading a store: how long it takes to open and check it, and to read the contexts of random words.

Run: python benchmarks/bench_store.py STORE [--words 2000]
Without a store it says so and ends, so that it can stand among the other benchmarks.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from rarewords import Store


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("store", type=Path, nargs="?")
    parser.add_argument("--words", type=int, default=2000)
    arguments = parser.parse_args()
    if arguments.store is None:
        print("no store given; make one with rarewords corpus build")
        return
    started = time.perf_counter()
    store = Store.open(arguments.store)
    opened = time.perf_counter() - started
    store.check()
    checked = time.perf_counter() - started - opened
    words, _ = store.counts()
    drawn = np.random.default_rng(0).choice(words, arguments.words)
    seconds = []
    for word in [*drawn.tolist(), words[0]]:
        started = time.perf_counter()
        contexts = store.contexts(word)
        seconds.append(time.perf_counter() - started)
    median, high = np.percentile(seconds[:-1], [50, 95]) * 1000
    size = sum(file.stat().st_size for file in store.path.iterdir()) / 1e6
    print(
        f"{len(words):,} words, {size:,.0f} MB: opened in {opened * 1e3:.1f} ms, checked in {checked:.2f} s"
    )
    print(f"contexts of {len(drawn)} random words: median {median:.2f} ms, 95 % within {high:.1f} ms")
    print(f"the {len(contexts)} contexts of {words[0]!r}: {seconds[-1] * 1000:.0f} ms")


if __name__ == "__main__":
    main()
