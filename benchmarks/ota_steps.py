"""How many steps one-token approximation needs: WNLaMPro with the pieces and with one vector for them.

    PYTHONPATH=src python benchmarks/ota_steps.py OUT --model M --name NAME [--steps 100 300] [--rates .005]
        [--paper 4000] [--limit 600] [--subset dev]

Approximates all keywords of a subset that have several pieces, once for each number of steps and rate of
preset ``fast`` and once for each number of steps of preset ``paper``. Each measurement adds one line to
OUT/NAME-steps.jsonl.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from rarewords.paper.experiment import tf32

from rarewords import progress
from rarewords.lm import LanguageModel
from rarewords.ota.approximate import approximate
from rarewords.ota.settings import OtaSettings
from rarewords.probe.dataset import Dataset
from rarewords.probe.evaluate import EvalSettings, evaluate
from rarewords.vectors import WordVectors


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--model", default="default")
    parser.add_argument("--name")
    parser.add_argument("--steps", nargs="*", type=int, default=[100, 300])
    parser.add_argument("--rates", nargs="+", type=float, default=[0.1])
    parser.add_argument("--paper", nargs="*", type=int, default=[])
    parser.add_argument("--subset", choices=("dev", "test"), default="dev")
    parser.add_argument("--limit", type=int, help="only N entries, of every relation and frequency")
    asked = parser.parse_args()
    progress.enable()
    lm = LanguageModel.from_pretrained(asked.model)
    dataset = Dataset(Dataset.load().select(subset=asked.subset, limit=asked.limit))
    words = list(dict.fromkeys(entry.word.text for entry in dataset))
    path = asked.out / f"{asked.name or Path(asked.model).name}-steps.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)

    def measure(about: dict[str, object], vectors: WordVectors | None) -> None:
        method = "pieces" if vectors is None else "vectors"
        found = evaluate(lm, dataset, EvalSettings(method=method), vectors=vectors)
        cells = {" ".join(cell): round(found.measure(*cell).mean, 4) for cell in found.cells}
        line = json.dumps({**about, "entries": len(dataset), "MRR": found.mrr, **cells})
        with path.open("a", encoding="utf-8") as stream:
            stream.write(line + "\n")
        print(line, flush=True)

    measure({"preset": "pieces", "subset": asked.subset}, None)
    plans: list[tuple[str, dict[str, float]]] = [
        ("fast", {"steps": steps, "rate": rate}) for steps in asked.steps for rate in asked.rates
    ]
    plans += [("paper", {"steps": steps}) for steps in asked.paper]
    for preset, changes in plans:
        started = time.perf_counter()
        with tf32():  # the ranks are computed in full precision
            vectors = approximate(lm, words, OtaSettings.preset(preset, **changes)).vectors
        seconds = round(time.perf_counter() - started, 1)
        measure(
            {"preset": preset, "subset": asked.subset, **changes, "words": len(vectors), "seconds": seconds},
            vectors,
        )


if __name__ == "__main__":
    main()
