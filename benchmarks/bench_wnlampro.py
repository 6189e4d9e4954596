"""Probing the authors' way and ours on the same entries: seconds, and whether the ranks agree.

    PYTHONPATH=src python benchmarks/bench_wnlampro.py [--model default] [--entries 500] [--rounds 3]

The authors' way asks one question at a time and computes logits at every position. Both ways start from a
loaded model; nothing is cached. The rounds alternate, so that a disturbance affects both.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable

import numpy as np
import torch

from rarewords.lm import LanguageModel
from rarewords.probe.dataset import Dataset, Entry, patterns_for
from rarewords.probe.evaluate import evaluate


@torch.no_grad()
def one_at_a_time(lm: LanguageModel, entries: tuple[Entry, ...]) -> np.ndarray:
    """The best rank of each entry, 0 if no target is among the first hundred answers."""
    ranks = []
    for entry in entries:
        targets = {target.text for target in entry.targets}
        best = 0
        for pattern in patterns_for(entry.relation, entry.word.text):
            text = pattern.replace("_", lm.tokenizer.mask_token).replace("<W>", entry.word.text)
            encoded = lm.tokenizer(text, return_tensors="pt").to(lm.device)
            logits = lm.model(**encoded).logits  # every position, all of the vocabulary
            place = int((encoded["input_ids"][0] == lm.tokenizer.mask_token_id).nonzero()[0, 0])
            first = torch.topk(logits[0, place], 100).indices.tolist()
            answers = lm.tokenizer.convert_ids_to_tokens(first)
            found = next((rank for rank, answer in enumerate(answers, 1) if answer in targets), 0)
            best = min(best or found, found or best)
        ranks.append(best)
    return np.array(ranks)


def timed(work: Callable[[], np.ndarray]) -> tuple[np.ndarray, float, float]:
    """The result of the work, its wall-clock seconds and its CPU seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return result, time.perf_counter() - wall, time.process_time() - cpu


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="default")
    parser.add_argument("--entries", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--device", default="cpu")
    asked = parser.parse_args()
    lm = LanguageModel.from_pretrained(asked.model, device=asked.device)
    sample = Dataset(Dataset.load().select(limit=asked.entries))
    few = sample.entries[:5]
    one_at_a_time(lm, few), evaluate(lm, Dataset(few))  # warm-up
    seconds: dict[str, list[tuple[float, float]]] = {"theirs": [], "ours": []}
    agree = True
    for _ in range(asked.rounds):
        theirs, wall, cpu = timed(lambda: one_at_a_time(lm, sample.entries))
        seconds["theirs"].append((wall, cpu))
        ours, wall, cpu = timed(lambda: evaluate(lm, sample).rank)
        seconds["ours"].append((wall, cpu))
        agree &= bool((ours == theirs).all())
    report: dict[str, object] = {
        "entries": len(sample),
        "threads": torch.get_num_threads(),
        "ranks_identical": agree,
        "ranks_different": int((ours != theirs).sum()),
    }
    for number, kind in enumerate(("wall", "cpu")):
        median = {name: statistics.median(one[number] for one in times) for name, times in seconds.items()}
        report[f"{kind}_seconds"] = {name: round(value, 2) for name, value in median.items()}
        report[f"{kind}_times_faster"] = round(median["theirs"] / median["ours"], 2)
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
