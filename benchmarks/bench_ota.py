"""What the claims about one-token approximation are measured with.

    python benchmarks/bench_ota.py curves    --model FOLDER --out DIR
    python benchmarks/bench_ota.py tried     --model FOLDER --out DIR
    python benchmarks/bench_ota.py scale     --model FOLDER --out DIR
    python benchmarks/bench_ota.py behaviour --model FOLDER --out DIR
    python benchmarks/bench_ota.py cpu       --model FOLDER --out DIR

``curves``: presets paper (STATIC and RANDOM) and fast on 1000 one-piece words, in the same run.
``tried``: other solvers, starts and contexts, each with about the passes of preset fast.
``scale``: 10,000 words of several pieces. ``behaviour``: answers to patterns for 300 nouns.
``cpu``: 200 words on two cores. Each writes JSON as soon as a part is ready; ``render_ota.py`` makes the
page of results. On a GPU, matrix products are in TF32 for all presets alike (``--float32`` turns that off).
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

from rarewords.lm import LanguageModel
from rarewords.ota import Approximator, OtaSettings, approximate
from rarewords.ota.behaviour import answer_overlap, held_out_distance
from rarewords.ota.evaluate import Curve, compare, marks_up_to, measure, one_piece_words
from rarewords.ota.report import curves_csv
from rarewords.vectors import WordVectors, read_words

DATA = Path(__file__).resolve().parent / "data"
FAST_MARKS = (1, 2, 5, *range(10, 200, 5))


def say(text: str) -> None:
    """Print at once, also into a file."""
    print(text, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    choices = ["cpu", "curves", "tried", "scale", "behaviour"]
    parser.add_argument("part", nargs="?", default="cpu", choices=choices)
    parser.add_argument("--model", default="default")
    parser.add_argument("--name", help="what to call the model in the results; its folder's name otherwise")
    parser.add_argument("--out", type=Path, default=Path("build/ota"))
    parser.add_argument("--device", default="auto")
    parser.add_argument("--words", type=int, help="fewer words than the full measurement takes")
    parser.add_argument("--iterations", type=int, default=5000, help="of preset paper")
    parser.add_argument("--without-paper", action="store_true", help="behaviour: only what a CPU can do")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--float32", action="store_true", help="no TF32 on a GPU")
    arguments = parser.parse_args()
    if not arguments.float32:
        torch.set_float32_matmul_precision("high")
    if arguments.part == "cpu":
        arguments.device = "cpu"
        torch.set_num_threads(2)
    model = LanguageModel.from_pretrained(arguments.model, device=arguments.device)
    model.name = arguments.name or Path(arguments.model).name
    parts: dict[str, Callable[[LanguageModel, argparse.Namespace], None]]
    parts = {"curves": curves, "tried": tried, "scale": scale, "behaviour": behaviour, "cpu": cpu}
    began = time.perf_counter()
    parts[arguments.part](model, arguments)
    say(f"{arguments.part} of {model.name}: {time.perf_counter() - began:.0f} s in all")


def curves(model: LanguageModel, arguments: argparse.Namespace) -> None:
    """Distance by iteration for RANDOM, STATIC and fast, and which is nearer word by word."""
    words = one_piece_words(model, arguments.words or 1000, arguments.seed)
    warm_up(model)
    last = arguments.iterations
    plans = {
        "fast": (OtaSettings.preset("fast", seed=arguments.seed), FAST_MARKS),
        "random": (OtaSettings.preset("paper", iterations=last, seed=arguments.seed), marks_up_to(last)),
        "static": (
            OtaSettings.preset("paper", iterations=last, contexts="static", seed=arguments.seed),
            marks_up_to(last),
        ),
    }
    result: dict[str, Any] = {**machine(model), "words": len(words), "seed": arguments.seed, "curves": {}}
    done: dict[str, Curve] = {}
    for label, (settings, marks) in plans.items():
        wanted = sorted({*(mark for mark in marks if mark < settings.iterations), settings.iterations})
        done[label] = measure(model, words, settings, label=label, marks=wanted)
        curve = done[label]
        say(
            f"{model.name} {label}: {curve.distances[-1]:.4f} after {curve.marks[-1]} iterations, "
            f"{curve.seconds[-1]:.1f} s, passes: {curve.forwards:.0f} forward, {curve.backwards:.0f} backward"
        )
        result["curves"][label] = curve.to_dict()
        if "random" in done:
            pairs = [("random", other) for other in ("static", "fast") if other in done]
            result["comparisons"] = [vars(compare(done[one], done[other])) for one, other in pairs]
        save(arguments.out / f"{model.name}-curves.json", result)
        (arguments.out / f"{model.name}-curves.csv").write_text(curves_csv(result["curves"]), "utf-8")


def tried(model: LanguageModel, arguments: argparse.Namespace) -> None:
    """One change at a time to preset fast, for about the same passes."""
    words = one_piece_words(model, arguments.words or 1000, arguments.seed)
    warm_up(model)
    all_words = min(20_000, len(model.whole_words) - len(words))
    plans: dict[str, dict[str, Any]] = {
        "fast": {},
        "1 context, 160 steps": {"contexts_per_step": 1, "iterations": 160},
        "4 contexts, 40 steps": {"contexts_per_step": 4, "iterations": 40},
        "4 contexts, 90 steps": {"contexts_per_step": 4, "iterations": 90, "tolerance": 0.0},
        f"inverse start from {all_words} words": {"inverse_words": all_words},
        "no curvature": {"curvature_probes": 0},
        "vocabulary start": {"start": "vocabulary"},
        "zero start": {"start": "zero"},
        "zero start, no curvature": {"start": "zero", "curvature_probes": 0},
    }
    steps = {"solver": "adam", "contexts_per_step": 1, "fresh": True, "iterations": 160}
    for rate in (1e-3, 3e-3, 1e-2):
        for start in ("inverse", "vocabulary"):
            plans[f"Adam, {start} start, rate {rate}"] = {**steps, "learning_rate": rate, "start": start}
    result: dict[str, Any] = {**machine(model), "words": len(words), "seed": arguments.seed, "curves": {}}
    for label, changes in plans.items():
        settings = OtaSettings.preset("fast", seed=arguments.seed, **changes)
        marks = sorted({*range(10, settings.iterations, 10), settings.iterations})
        curve = measure(model, words, settings, label=label, marks=marks)
        say(f"{label}: {curve.distances[-1]:.4f}, {curve.backwards:.0f} passes, {curve.seconds[-1]:.1f} s")
        result["curves"][label] = curve.to_dict()
        save(arguments.out / f"{model.name}-tried.json", result)


def scale(model: LanguageModel, arguments: argparse.Namespace) -> None:
    """Ten thousand words of several pieces, timed from the words to their vectors."""
    words = read_words(DATA / "ota-words.txt")[: arguments.words]
    warm_up(model)
    result = {**machine(model), **timed(model, words, OtaSettings.preset("fast", seed=arguments.seed))[1]}
    save(arguments.out / f"{model.name}-scale.json", result)


def cpu(model: LanguageModel, arguments: argparse.Namespace) -> None:
    """Two hundred words on two cores."""
    words = read_words(DATA / "ota-words.txt")[:: 10000 // (arguments.words or 200)]
    result = {**machine(model), **timed(model, words, OtaSettings.preset("fast", seed=arguments.seed))[1]}
    save(arguments.out / f"{model.name}-cpu.json", result)


def behaviour(model: LanguageModel, arguments: argparse.Namespace) -> None:
    """Answers to patterns with the pieces and with one vector, by every method."""
    words = read_words(DATA / "ota-nouns.txt")[: arguments.words]
    warm_up(model)
    result: dict[str, Any] = {**machine(model), "words": len(words), "top_k": 10, "methods": {}}
    paper = OtaSettings.preset("paper", iterations=min(4000, arguments.iterations), seed=arguments.seed)
    plans: dict[str, Callable[[], WordVectors]] = {
        "ota fast": lambda: timed(model, words, OtaSettings.preset("fast", seed=arguments.seed))[0],
        "first": lambda: approximate(model, words, method="first").vectors,
        "last": lambda: approximate(model, words, method="last").vectors,
        "avg": lambda: approximate(model, words, method="avg").vectors,
        "ota paper": lambda: timed(model, words, paper)[0],
    }
    if arguments.without_paper:
        del plans["ota paper"]
    for name, make in plans.items():
        began = time.perf_counter()
        vectors = make()
        seconds = time.perf_counter() - began
        overlap = answer_overlap(model, words, {name: vectors})[name]
        held_out = held_out_distance(model, words, vectors)
        result["methods"][name] = {
            "overlap": overlap.mean,
            "error": overlap.error,
            "held_out_distance": float(held_out.mean()),
            "held_out_median": float(np.median(held_out)),
            "seconds": seconds,
        }
        say(f"{model.name} {name}: overlap {overlap.mean:.3f}, held-out distance {held_out.mean():.3f}")
        save(arguments.out / f"{model.name}-behaviour.json", result)


def timed(
    model: LanguageModel, words: list[str], settings: OtaSettings
) -> tuple[WordVectors, dict[str, Any]]:
    """Approximate words and say how long it took and how well it went."""
    began = time.perf_counter()
    vectors = approximate(model, words, settings).vectors
    seconds = time.perf_counter() - began
    sample = words[:: max(1, len(words) // 500)]
    held_out = held_out_distance(model, sample, vectors)
    average = held_out_distance(model, sample, approximate(model, sample, method="avg").vectors)
    say(f"{model.name}: {len(words)} words in {seconds:.1f} s, {len(words) / seconds:.1f} words/s")
    return vectors, {
        "words": len(words),
        "seconds": seconds,
        "settings": settings.to_dict(),
        "held_out_distance": float(held_out.mean()),
        "held_out_distance_avg": float(average.mean()),
        "held_out_words": len(sample),
    }


def warm_up(model: LanguageModel) -> None:
    """Load kernels before anything is timed, the same for all presets."""
    words = one_piece_words(model, 16, 1)
    for preset in ("paper", "fast"):
        small = {"inverse_words": 64, "curvature_probes": 64} if preset == "fast" else {}
        approximator = Approximator(model, OtaSettings.preset(preset, iterations=5, **small))
        approximator.solve(approximator.batch([[model.whole_words[word]] for word in words]))


def machine(model: LanguageModel) -> dict[str, Any]:
    """What the numbers were measured on."""
    on_gpu = model.device.type == "cuda"
    return {
        "model": model.name,
        "fingerprint": model.fingerprint,
        "device": torch.cuda.get_device_name(model.device) if on_gpu else f"{platform.machine()} CPU",
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "python": platform.python_version(),
        "matmul": torch.get_float32_matmul_precision() if on_gpu else "float32",
        "command": command(model),
    }


def command(model: LanguageModel) -> str:
    """The command line, with names in place of this machine's folders."""
    given = list(sys.argv[1:])
    for option, shown in (("--model", model.name), ("--out", "RESULTS")):
        if option in given:
            given[given.index(option) + 1] = shown
    return " ".join(["python benchmarks/bench_ota.py", *given])


def save(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1, sort_keys=True) + "\n", "utf-8")


if __name__ == "__main__":
    main()
