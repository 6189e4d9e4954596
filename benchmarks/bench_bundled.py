"""What the bundled model costs on this machine: loading it, one question, teaching ten words.

    python benchmarks/bench_bundled.py [--models default OTHER_FOLDER]

The ten words are the first of ``tests/data/invented``. Imports are not counted.
One JSON line per model.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from rarewords import LanguageModel, Query, teach
from rarewords.vectors import read_words

DATA = Path(__file__).parent.parent / "tests" / "data" / "invented"


def seconds_of(model: str) -> dict[str, float]:
    """Seconds for each of the three."""
    LanguageModel.from_pretrained(model)  # imports transformers, and unpacks the bundled model
    started = time.perf_counter()
    lm = LanguageModel.from_pretrained(model)
    found = {"load": time.perf_counter() - started}
    question = [Query("a <W> is a kind of _ .", "kumquat")]
    lm.fill(question, top_k=5)
    started = time.perf_counter()
    for _ in range(10):
        lm.fill(question, top_k=5)
    found["ask"] = (time.perf_counter() - started) / 10
    with TemporaryDirectory() as folder:
        started = time.perf_counter()
        teach(
            [DATA / "text.txt"], Path(folder) / "taught", words=read_words(DATA / "words.tsv")[:10], model=lm
        )
        found["teach ten words"] = time.perf_counter() - started
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", nargs="+", default=["default"])
    for name in parser.parse_args().models:
        seconds = {what: round(value, 3) for what, value in seconds_of(name).items()}
        print(json.dumps({"model": Path(name).name, **seconds}), flush=True)
