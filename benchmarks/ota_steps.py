"""How many steps one-token approximation needs: WNLaMPro dev with the pieces and with one vector for them.

    PYTHONPATH=src python benchmarks/ota_steps.py OUT --model M --name NAME [--steps 100 300] [--rates .005]
        [--paper 4000]

All keywords of dev of several pieces are approximated anew for each number of steps of preset ``fast``,
and for each number of iterations of preset ``paper``. One line a measurement goes to
OUT/NAME-steps.jsonl.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import torch

from rarewords import LanguageModel, WordVectors, approximate, progress
from rarewords.ota.settings import OtaSettings
from rarewords.probe.dataset import Dataset
from rarewords.probe.evaluate import EvalSettings, evaluate
from rarewords.reproduction.results import flat_figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--model", default="default")
    parser.add_argument("--name")
    parser.add_argument("--steps", nargs="*", type=int, default=[100, 300])
    parser.add_argument("--rates", nargs="+", type=float, default=[0.005])
    parser.add_argument("--paper", nargs="*", type=int, default=[])
    asked = parser.parse_args()
    torch.set_float32_matmul_precision("high")
    progress.enable()
    lm, dataset = LanguageModel.from_pretrained(asked.model), Dataset.load()
    words = list(dict.fromkeys(entry.word.text for entry in dataset if entry.subset == "dev"))
    path = asked.out / f"{asked.name or Path(asked.model).name}-steps.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)

    def measure(about: dict[str, object], vectors: WordVectors | None) -> None:
        method = "pieces" if vectors is None else "vectors"
        found = evaluate(lm, dataset, EvalSettings(method=method, subset="dev"), vectors=vectors)
        line = json.dumps({**about, **flat_figures(found)})
        with path.open("a", encoding="utf-8") as stream:
            stream.write(line + "\n")
        print(line, flush=True)

    measure({"preset": "pieces"}, None)
    plans = [
        {"preset": "fast", "averaging_steps": steps, "averaging_rate": rate}
        for steps in asked.steps
        for rate in asked.rates
    ] + [{"preset": "paper", "iterations": iterations} for iterations in asked.paper]
    for plan in plans:
        settings = OtaSettings.preset(plan["preset"], **{k: v for k, v in plan.items() if k != "preset"})
        started = time.perf_counter()
        vectors = approximate(lm, words, settings).vectors
        seconds = round(time.perf_counter() - started, 1)
        measure({**plan, "words": len(vectors), "seconds": seconds}, vectors)


if __name__ == "__main__":
    main()
