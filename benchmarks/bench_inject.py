"""Injecting 20,000 words: time to inject, save and load, and the speed of the tokenizer before and after.

Run: python benchmarks/bench_inject.py [--words 20000] [--slash] [--text FILE]
The claims it backs: under 20 s in all, and tokenizing at no less than half the speed.
"""

from __future__ import annotations

import argparse
import gzip
import re
import tempfile
import time
from pathlib import Path

import numpy as np
from transformers import AutoModelForMaskedLM, AutoTokenizer

from rarewords import LanguageModel, WordVectors, inject_folder

SAMPLE = Path(__file__).parent.parent / "tests" / "data" / "wikipedia.txt.gz"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--words", type=int, default=20_000)
    parser.add_argument("--text", type=Path, default=SAMPLE)
    parser.add_argument("--slash", action="store_true", help="pieces and vector side by side")
    arguments = parser.parse_args()

    content = arguments.text.read_bytes()
    lines = (gzip.decompress(content) if arguments.text.suffix == ".gz" else content).decode().splitlines()
    before = LanguageModel.from_pretrained()
    seen = list(dict.fromkeys(re.findall(r"[a-z]{4,}", " ".join(lines).lower())))
    words = [w for w, pieces in zip(seen, before.tokens.pieces_of(seen), strict=True) if len(pieces) > 1]
    # Real words first; where the text has too few, their plurals and compounds make up the number.
    extra = (f"{first}{second}" for first in words for second in words[:40] if first != second)
    known = set(words)
    for word in extra:
        if len(words) >= arguments.words:
            break
        if word not in known:
            known.add(word)
            words.append(word)
    words = words[: arguments.words]
    rng = np.random.default_rng(0)
    vectors = WordVectors(words, rng.standard_normal((len(words), before.dim)).astype(np.float32) * 0.05)

    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        inject_folder("default", vectors, Path(folder) / "taught", slash=arguments.slash)
        saved = time.perf_counter()
        AutoModelForMaskedLM.from_pretrained(Path(folder) / "taught")
        tokenizer = AutoTokenizer.from_pretrained(Path(folder) / "taught")
        loaded = time.perf_counter()
    print(f"{len(words)} words: inject and save {saved - started:.1f} s, load {loaded - saved:.1f} s")
    old, new = (min(_seconds(t, lines) for _ in range(3)) for t in (before.tokenizer, tokenizer))
    size = sum(len(line) for line in lines) / 1e6
    print(f"tokenizing {size:.1f} M characters: before {size / old:.1f} M/s, after {size / new:.1f} M/s")
    print(f"ratio {old / new:.2f}")


def _seconds(tokenizer: object, lines: list[str]) -> float:
    started = time.process_time()  # of all threads: other work on the machine does not count
    tokenizer(lines)  # type: ignore[operator]
    return time.process_time() - started


if __name__ == "__main__":
    main()
