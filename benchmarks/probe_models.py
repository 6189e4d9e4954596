"""Probe models on the shipped WNLaMPro without the command line, as on a machine that only has torch.

    PYTHONPATH=src python benchmarks/probe_models.py OUT MODEL… [--methods pieces first last avg]
        [--vectors NAME=FILE …] [--depth 512] [--answers]

Writes one ``MODEL-METHOD.json.gz`` per run into OUT and prints seconds and MRR by frequency.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import torch

from rarewords.lm import LanguageModel
from rarewords.models import shown_name
from rarewords.probe.dataset import BANDS, Dataset
from rarewords.probe.evaluate import EvalSettings, evaluate
from rarewords.vectors import open_vectors


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--methods", nargs="*", default=["pieces", "first", "last", "avg"])
    parser.add_argument("--vectors", nargs="*", default=[], metavar="NAME=FILE")
    parser.add_argument("--depth", type=int, default=512)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--answers", action="store_true")
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    dataset = Dataset.load()
    for name in asked.models:
        started = time.perf_counter()
        lm = LanguageModel.from_pretrained(name, device=asked.device)
        print(f"{name} on {lm.device}: loaded in {time.perf_counter() - started:.1f} s", flush=True)
        runs = [(method, method, None) for method in asked.methods]
        runs += [(one.split("=", 1)[0], "vectors", one.split("=", 1)[1]) for one in asked.vectors]
        for title, method, path in runs:
            vectors = open_vectors(path) if path else None
            if vectors is not None and vectors.dim != lm.dim:
                continue  # made for another of the models
            label = f"{shown_name(name)} {title}"
            target = asked.out / f"{label.replace(' ', '-').replace('/', '-')}.json.gz"
            settings = EvalSettings(method=method, depth=asked.depth, limit=asked.limit)
            started, spent = time.perf_counter(), time.process_time()
            result = evaluate(lm, dataset, settings, vectors=vectors, label=label, answers=asked.answers)
            if lm.device.type == "cuda":
                torch.cuda.synchronize()
            seconds, cpu = time.perf_counter() - started, time.process_time() - spent
            result.save(target)
            figures = " ".join(f"{band} {result.measure('all', band).mean:.3f}" for band in BANDS)
            queries = result.settings["queries"]
            print(f"{label}: {queries} queries, {seconds:.1f} s (CPU {cpu:.1f} s), MRR {figures}", flush=True)


if __name__ == "__main__":
    main()
