"""Measurements of one-token approximation.

    python benchmarks/bench_ota.py scale     --model FOLDER --out DIR
    python benchmarks/bench_ota.py behaviour --model FOLDER --out DIR
    python benchmarks/bench_ota.py cpu       --model FOLDER --out DIR

``scale``: 10,000 words of several pieces. ``behaviour``: answers to patterns for 300 nouns. ``cpu``: 200
words on two cores. Each writes JSON as soon as a part is ready; ``render_ota.py`` makes the page of results.
On a GPU, matrix products are in TF32 for all presets alike (``--float32`` turns that off). The distance by
step for one-piece words is part of ``rarewords reproduce ota``.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from ota_behaviour import answer_overlap, held_out_distance
from rarewords.lm import LanguageModel
from rarewords.ota.approximate import approximate
from rarewords.ota.settings import OtaSettings
from rarewords.vectors import WordVectors, read_words

DATA = Path(__file__).resolve().parent / "data"


def say(text: str) -> None:
    """Print without buffering."""
    print(text, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("part", nargs="?", default="cpu", choices=["cpu", "scale", "behaviour"])
    parser.add_argument("--model", default="default")
    parser.add_argument("--name", help="the model's name in the results; by default its folder's")
    parser.add_argument("--out", type=Path, default=Path("build/ota"))
    parser.add_argument("--device", default="auto")
    parser.add_argument("--words", type=int, help="number of words; by default all")
    parser.add_argument(
        "--paper-steps", type=int, default=4000, help="steps of preset paper; 0 leaves it out"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--float32", action="store_true", help="no TF32 on a GPU")
    arguments = parser.parse_args()
    if not arguments.float32:
        torch.set_float32_matmul_precision("high")
    if arguments.part == "cpu":
        arguments.device = "cpu"
        torch.set_num_threads(2)
    arguments.name = arguments.name or Path(arguments.model).name
    model = LanguageModel.from_pretrained(arguments.model, device=arguments.device)
    parts = {"scale": scale, "behaviour": behaviour, "cpu": cpu}
    began = time.perf_counter()
    parts[arguments.part](model, arguments)
    say(f"{arguments.part} of {arguments.name}: {time.perf_counter() - began:.0f} s in all")


def scale(lm: LanguageModel, arguments: argparse.Namespace) -> None:
    """Ten thousand words of several pieces, timed from the words to their vectors."""
    words = read_words(DATA / "ota-words.txt")[: arguments.words]
    warm_up(lm)
    _, about = timed(lm, words, OtaSettings.preset("fast", seed=arguments.seed), arguments.name)
    save(arguments.out / f"{arguments.name}-scale.json", {**machine(lm, arguments.name), **about})


def cpu(lm: LanguageModel, arguments: argparse.Namespace) -> None:
    """Two hundred words on two cores."""
    words = read_words(DATA / "ota-words.txt")[:: 10000 // (arguments.words or 200)]
    _, about = timed(lm, words, OtaSettings.preset("fast", seed=arguments.seed), arguments.name)
    save(arguments.out / f"{arguments.name}-cpu.json", {**machine(lm, arguments.name), **about})


def behaviour(lm: LanguageModel, arguments: argparse.Namespace) -> None:
    """Answers to patterns with the pieces and with one vector, by every method."""
    words, seed, name = read_words(DATA / "ota-nouns.txt")[: arguments.words], arguments.seed, arguments.name
    warm_up(lm)
    result: dict[str, Any] = {**machine(lm, name), "words": len(words), "top_k": 10, "methods": {}}
    plans: dict[str, Callable[[], WordVectors]] = {
        "ota fast": lambda: timed(lm, words, OtaSettings.preset("fast", seed=seed), name)[0],
        "first": lambda: approximate(lm, words, method="first").vectors,
        "last": lambda: approximate(lm, words, method="last").vectors,
        "avg": lambda: approximate(lm, words, method="avg").vectors,
    }
    if not arguments.without_paper:
        paper = OtaSettings.preset("paper", seed=seed)
        plans["ota paper"] = lambda: timed(lm, words, paper, name)[0]
    for method, make in plans.items():
        began = time.perf_counter()
        vectors = make()
        seconds = time.perf_counter() - began
        overlap = answer_overlap(lm, words, {method: vectors})[method]
        held_out = held_out_distance(lm, words, vectors)
        result["methods"][method] = {
            "overlap": overlap.mean,
            "error": overlap.error,
            "held_out_distance": float(held_out.mean()),
            "held_out_median": float(np.median(held_out)),
            "seconds": seconds,
        }
        say(f"{name} {method}: overlap {overlap.mean:.3f}, held-out distance {held_out.mean():.3f}")
        save(arguments.out / f"{name}-behaviour.json", result)


def timed(
    lm: LanguageModel, words: list[str], settings: OtaSettings, name: str
) -> tuple[WordVectors, dict[str, Any]]:
    """The vectors of words, and how long they took and how good they are."""
    began = time.perf_counter()
    vectors = approximate(lm, words, settings).vectors
    seconds = time.perf_counter() - began
    sample = words[:: max(1, len(words) // 500)]
    held_out = held_out_distance(lm, sample, vectors)
    average = held_out_distance(lm, sample, approximate(lm, sample, method="avg").vectors)
    say(f"{name}: {len(words)} words in {seconds:.1f} s, {len(words) / seconds:.1f} words/s")
    return vectors, {
        "words": len(words),
        "seconds": seconds,
        "settings": settings.to_dict(),
        "held_out_distance": float(held_out.mean()),
        "held_out_distance_avg": float(average.mean()),
        "held_out_words": len(sample),
    }


def warm_up(lm: LanguageModel) -> None:
    """Load kernels before anything is timed."""
    words = read_words(DATA / "ota-words.txt")[:16]
    for preset in ("paper", "fast"):
        approximate(lm, words, OtaSettings.preset(preset, steps=5))


def machine(lm: LanguageModel, name: str) -> dict[str, Any]:
    """The machine, the model and the command of a measurement."""
    on_gpu = lm.device.type == "cuda"
    return {
        "model": name,
        "fingerprint": lm.fingerprint,
        "device": torch.cuda.get_device_name(lm.device) if on_gpu else f"{platform.machine()} CPU",
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "python": platform.python_version(),
        "matmul": torch.get_float32_matmul_precision() if on_gpu else "float32",
        "command": command(name),
    }


def command(name: str) -> str:
    """The command line, with names in place of this machine's folders."""
    given = list(sys.argv[1:])
    for option, shown in (("--model", name), ("--out", "RESULTS")):
        if option in given:
            given[given.index(option) + 1] = shown
    return " ".join(["python benchmarks/bench_ota.py", *given])


def save(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1, sort_keys=True) + "\n", "utf-8")


if __name__ == "__main__":
    main()
