"""Measurements of one-token approximation.

    python benchmarks/bench_ota.py scale     --model FOLDER --out DIR
    python benchmarks/bench_ota.py behaviour --model FOLDER --out DIR
    python benchmarks/bench_ota.py cpu       --model FOLDER --out DIR
    python benchmarks/bench_ota.py settings  --model FOLDER --out DIR --plans "steps=100" "steps=50" ...

``scale``: 10,000 words of several pieces. ``behaviour``: answers to patterns for 300 nouns. ``cpu``: 200
words on two cores. ``settings``: answers to patterns for nouns of WNLaMPro dev, with preset ``fast`` changed
as each plan says; every plan is compared with the first, word by word. Each writes JSON as soon as a part is
ready; ``render_ota.py`` makes the page of results.
On a GPU, matrix products are in TF32 for all presets alike (``--float32`` turns that off). The distance by
step for one-piece words is part of ``rarewords reproduce ota``.
"""

from __future__ import annotations

import argparse
import json
import platform
import shlex
import sys
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from ota_behaviour import answer_overlap, held_out_distance, standard_error

from rarewords.lm import LanguageModel
from rarewords.ota.approximate import approximate
from rarewords.ota.settings import OtaSettings
from rarewords.probe.dataset import Dataset
from rarewords.vectors import WordVectors, read_words

DATA = Path(__file__).resolve().parent / "data"
NOUNS = ("hypernym", "cohyponym")  # relations whose keywords are nouns


def say(text: str) -> None:
    """Print without buffering."""
    print(text, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("part", nargs="?", default="cpu", choices=["cpu", "scale", "behaviour", "settings"])
    parser.add_argument("--model", default="default")
    parser.add_argument("--name", help="the model's name in the results; by default its folder's")
    parser.add_argument("--out", type=Path, default=Path("build/ota"))
    parser.add_argument("--device", default="auto")
    parser.add_argument("--words", type=int, help="number of words; by default all")
    parser.add_argument(
        "--paper-steps", type=int, default=4000, help="steps of preset paper; 0 leaves it out"
    )
    parser.add_argument("--plans", nargs="+", default=["steps=100"], help="settings as TOML, for settings")
    parser.add_argument("--threads", type=int, help="threads of the processor; by default all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--float32", action="store_true", help="no TF32 on a GPU")
    arguments = parser.parse_args()
    if not arguments.float32:
        torch.set_float32_matmul_precision("high")
    if arguments.part == "cpu":
        arguments.device = "cpu"
        torch.set_num_threads(2)
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    arguments.name = arguments.name or Path(arguments.model).name
    model = LanguageModel.from_pretrained(arguments.model, device=arguments.device)
    parts = {"scale": scale, "behaviour": behaviour, "cpu": cpu, "settings": settings}
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
    if arguments.paper_steps:
        paper = OtaSettings.preset("paper", steps=arguments.paper_steps, seed=seed)
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


def settings(lm: LanguageModel, arguments: argparse.Namespace) -> None:
    """Answers to patterns with several settings, on nouns of the dev set that have 2 to 4 pieces."""
    dev = {entry.word.text for entry in Dataset.load() if entry.subset == "dev" and entry.relation in NOUNS}
    nouns = [word for word in sorted(dev) if 2 <= len(lm.pieces(word)) <= 4]
    words = nouns[:: len(nouns) // (arguments.words or 100)][: arguments.words or 100]
    result: dict[str, Any] = {**machine(lm, arguments.name), "words": len(words), "top_k": 10, "plans": {}}
    first: np.ndarray | None = None
    for plan in arguments.plans:
        changes = tomllib.loads(f"plan = {{{plan}}}")["plan"]
        began, used = time.perf_counter(), time.process_time()
        vectors = approximate(lm, words, OtaSettings(**{"seed": arguments.seed, **changes})).vectors
        seconds, processor = time.perf_counter() - began, time.process_time() - used
        overlap = answer_overlap(lm, words, {plan: vectors})[plan]
        first = overlap.by_word if first is None else first
        result["plans"][plan] = {
            "overlap": overlap.mean,
            "error": overlap.error,
            "gain": float((overlap.by_word - first).mean()),
            "gain_error": standard_error(overlap.by_word - first),
            "held_out_distance": float(held_out_distance(lm, words, vectors).mean()),
            "seconds": seconds,
            "processor_seconds": processor,
        }
        say(f"{arguments.name} {plan}: {result['plans'][plan]}")
        save(arguments.out / f"{arguments.name}-settings.json", result)


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
    return f"python benchmarks/bench_ota.py {shlex.join(given)}"


def save(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1, sort_keys=True) + "\n", "utf-8")


if __name__ == "__main__":
    main()
