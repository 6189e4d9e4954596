"""Why attentive mimicking gains little on a model: AM+context with one thing changed at a time, on dev.

    PYTHONPATH=src python benchmarks/am_causes.py OUT --corpus STORE [--model M] [--targets OTA.safetensors]
        [--smaller STORE] [--contexts 16] [--copies 1] [--epochs 5] [--entries 600] [--seeds 0 1]

Small enough for two cores. ``--smaller`` adds a row trained on another, smaller store, and one in which only
the words to be learned are read from it. Lengths and the number of contexts of these words need no
training of their own. Every row is compared with AM+context of the same seed, entry by entry: the mean
difference in reciprocal rank over seeds, with a 95 % bootstrap interval over entries. Without ``--targets``
the approximations that ship with the bundled mimic model are used. Rows are added to OUT/causes.jsonl.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
import torch

from rarewords.corpus.store import Store
from rarewords.lm import LanguageModel
from rarewords.mimic.attentive import AttentiveMimicking
from rarewords.mimic.batches import PreparedContexts
from rarewords.mimic.settings import MimicSettings, bundled_mimic, preset
from rarewords.probe.compare import bootstrap_interval
from rarewords.probe.dataset import BANDS, Dataset
from rarewords.probe.evaluate import EvalSettings, evaluate
from rarewords.probe.result import ProbeResult
from rarewords.vectors import WordVectors, open_vectors

BASE = preset("am+context")
CAUSES: dict[str, MimicSettings] = {
    "AM+context": BASE,
    "rate .003": replace(BASE, learning_rate=0.003),
    "at least 1 context": replace(BASE, contexts_min=1),
    "form hidden in 30 %": replace(BASE, form_dropout=0.3),
    "twice the epochs": BASE,
    "without OTA targets": BASE,
    "n-grams rest when not seen": BASE,
}
LENGTHS, CONTEXTS = (1.0, 1.4), (1, 4, 16)  # of AM+context


class RestingAdam(torch.optim.Adam):
    """Adam that leaves the rows of matrices whose gradient is zero as they are, as SparseAdam does."""

    @torch.no_grad()
    def step(self, closure=None):  # type: ignore[no-untyped-def, override]
        kept = []
        for parameter in self.param_groups[0]["params"]:
            if parameter.ndim == 2 and parameter.grad is not None and parameter in self.state:
                state = self.state[parameter]
                tensors = parameter, state["exp_avg"], state["exp_avg_sq"]
                kept.append(((parameter.grad == 0).all(dim=1), tensors, [one.clone() for one in tensors]))
        super().step(closure)
        for resting, tensors, before in kept:
            for now, old in zip(tensors, before, strict=True):
                now.copy_(torch.where(resting[:, None], old, now))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--model", default="default")
    parser.add_argument("--targets", type=Path)
    parser.add_argument("--smaller", type=Path, help="another store, for the rows on the amount of text")
    parser.add_argument("--contexts", type=int, default=16, help="contexts per word, in training and after")
    parser.add_argument("--copies", type=int, default=1, help="training instances per word and epoch")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--entries", type=int, default=600)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1])
    parser.add_argument("--threads", type=int, default=2)
    asked = parser.parse_args()
    torch.set_num_threads(asked.threads)
    lm, store = LanguageModel.from_pretrained(asked.model), Store.open(asked.corpus)
    dataset = Dataset(Dataset.load().select(subset="dev", limit=asked.entries))
    words = list(dict.fromkeys(entry.word.text for entry in dataset))

    def prepare(store: Store) -> PreparedContexts:
        every = [*store.counts(BASE.min_count)[0], *words]
        return PreparedContexts(store, list(dict.fromkeys(every)), asked.contexts)

    prepared, targets = prepare(store), given_targets(lm, asked.targets)

    def fit(name: str, seed: int, store: Store, prepared: PreparedContexts) -> AttentiveMimicking:
        settings = replace(
            CAUSES.get(name, BASE),
            epochs=asked.epochs * (2 if name == "twice the epochs" else 1),
            contexts_max=asked.contexts,
            copies_max=asked.copies,
            seed=seed,
        )
        used = None if name == "without OTA targets" else targets
        adam = RestingAdam if name == "n-grams rest when not seen" else torch.optim.Adam
        with patch("torch.optim.Adam", adam):
            return AttentiveMimicking.fit(lm, store, used, settings, prepared=prepared)

    results: dict[str, list[ProbeResult]] = {"pieces": [evaluate(lm, dataset)] * len(asked.seeds)}

    def probe(name: str, mimic: AttentiveMimicking, prepared: PreparedContexts) -> None:
        vectors = mimic.infer_words(words, store, prepared=prepared).vectors
        results.setdefault(name, []).append(
            evaluate(lm, dataset, EvalSettings(method="vectors"), vectors=vectors)
        )
        print(f"{name}: MRR {results[name][-1].mrr:.4f}", flush=True)

    for seed in asked.seeds:
        for name in CAUSES:
            mimic = fit(name, seed, store, prepared)
            probe(name, mimic, prepared)
            if name == "AM+context":
                for length in LENGTHS:
                    scaled = replace(mimic, settings=replace(mimic.settings, scale=length))
                    probe(f"length {length:g}", scaled, prepared)
                for number in CONTEXTS:
                    probe(f"contexts of a word: {number}", mimic, PreparedContexts(store, words, number))
                if asked.smaller:
                    small = Store.open(asked.smaller)
                    their = prepare(small)
                    probe("words read from the smaller store", mimic, their)
                    probe("trained on the smaller store", fit(name, seed, small, their), prepared)
    asked.out.mkdir(parents=True, exist_ok=True)
    with (asked.out / "causes.jsonl").open("a", encoding="utf-8") as stream:
        for name, found in results.items():
            row = json.dumps({"row": name, **summary(found, results["AM+context"]), "seeds": asked.seeds})
            stream.write(row + "\n")
            print(row, flush=True)


def given_targets(lm: LanguageModel, path: Path | None) -> WordVectors | None:
    """Approximations from a file, or those of the mimic model that ships."""
    if path is not None:
        return open_vectors(path)
    return AttentiveMimicking.from_pretrained(bundled_mimic(lm.fingerprint), lm).targets


def summary(found: list[ProbeResult], base: list[ProbeResult]) -> dict[str, object]:
    """Means over seeds by frequency, and the difference from AM+context."""
    values, before = (np.mean([one.reciprocal for one in some], axis=0) for some in (found, base))
    low, high = bootstrap_interval(values - before)
    by_band = {band: round(float(values[found[0].chosen("all", band)].mean()), 4) for band in BANDS}
    spread = float(np.std([one.mrr for one in found], ddof=1)) if len(found) > 1 else 0.0
    return {
        "MRR": round(float(values.mean()), 4),
        "deviation over seeds": round(spread, 4),
        **by_band,
        "difference": round(float((values - before).mean()), 4),
        "interval": [round(low, 4), round(high, 4)],
    }


if __name__ == "__main__":
    main()
