"""The paper's ablations of attentive mimicking, on WNLaMPro dev, and the main table's vectors on test.

    PYTHONPATH=src python benchmarks/mimic_ablation.py OUT --model M --corpus STORE --targets OTA.safetensors
        [--configurations am am+context no-ota no-form no-context] [--seeds 0 1] [--test am+context]
        [--scales 0 1 1.4]

For each configuration one training of 10 epochs, evaluated on dev after 5 and after 10. For those named by
``--test`` the vectors after the last epoch are evaluated on all entries, and on test. ``--scales`` are
lengths the vectors are brought to (``MimicSettings.scale``; 0 as they are), each measured. Models named by
``--save`` are kept as int8, and measured on dev once more as they were saved. Results go to OUT, one line a
measurement in ``ablation.jsonl``, written as they come, so that a cut-off run loses little.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from rarewords import LanguageModel, WordVectors, progress
from rarewords.corpus.store import Store
from rarewords.mimic.mimicking import AttentiveMimicking, InferredWords, PreparedContexts
from rarewords.mimic.readings import lengthened
from rarewords.mimic.settings import MimicSettings, preset
from rarewords.mimic.train import EpochReport
from rarewords.probe.dataset import BANDS, Dataset, FrequencyBounds
from rarewords.probe.evaluate import EvalSettings, evaluate
from rarewords.reproduction.configurations import CONFIGURATIONS, train_configuration
from rarewords.reproduction.results import flat_figures, of_set


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--model", default="default")
    parser.add_argument("--name")
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--targets", type=Path, required=True)
    parser.add_argument(
        "--configurations", nargs="+", default=["am", "am+context", "no-ota", "no-form", "no-context"]
    )
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--test", nargs="*", default=["am+context"])
    parser.add_argument("--bands", nargs="+", default=list(BANDS), help="frequencies --test asks for")
    parser.add_argument("--scales", nargs="+", type=float, default=[0.0])
    parser.add_argument("--ngram-limit", type=int, default=0, help="keep at most so many n-grams")
    parser.add_argument("--save", nargs="*", default=[], help="configurations whose mimic model is kept")
    asked = parser.parse_args()
    torch.set_float32_matmul_precision("high")
    progress.enable()
    asked.out.mkdir(parents=True, exist_ok=True)
    started = time.perf_counter()
    lm = LanguageModel.from_pretrained(asked.model)
    store, targets, dataset = Store.open(asked.corpus), WordVectors.load(asked.targets), Dataset.load()
    keywords = list(dict.fromkeys(entry.word.text for entry in dataset))
    frequent, _ = store.counts(100)
    prepared = PreparedContexts(store, list(dict.fromkeys([*frequent, *keywords])))
    print(f"contexts read after {time.perf_counter() - started:.0f} s", flush=True)
    dev = list(dict.fromkeys(entry.word.text for entry in dataset if entry.subset == "dev"))
    name = asked.name or Path(asked.model).name
    record(
        asked.out,
        {
            "model": name,
            "configuration": "pieces",
            **flat_figures(evaluate(lm, dataset, EvalSettings(subset="dev"))),
        },
    )
    dataset = Dataset(
        tuple(
            entry
            for entry in dataset
            if entry.subset == "dev" or FrequencyBounds().band(entry.count) in asked.bands
        ),
        dataset.name,
    )
    for seed in asked.seeds:
        for configuration in asked.configurations:
            base, changes = CONFIGURATIONS[configuration]
            settings = preset(
                base,
                **{
                    **changes,
                    "epochs": asked.epochs,
                    "seed": seed,
                    "held_out": 0.02,
                    "ngram_limit": asked.ngram_limit,
                },
            )
            run = Run(lm, store, dataset, prepared, dev, keywords, asked, name, configuration, settings)
            run.train(targets)


@dataclass
class Run:
    """One training and its measurements."""

    lm: LanguageModel
    store: Store
    dataset: Dataset
    prepared: PreparedContexts
    dev: list[str]
    keywords: list[str]
    asked: argparse.Namespace
    name: str
    configuration: str
    settings: MimicSettings

    def train(self, targets: WordVectors) -> None:
        started = time.perf_counter()
        mimic = train_configuration(
            self.lm,
            self.store,
            targets,
            self.configuration,
            self.settings,
            prepared=self.prepared,
            approximations=targets,
            words_after=lambda epoch: self.dev if epoch in (5, self.settings.epochs) else [],
            keep=self.measure,
        )
        seconds = time.perf_counter() - started
        title = f"{self.name}-{self.configuration}-{self.settings.seed}"
        if self.configuration in self.asked.test:
            made = time.perf_counter()
            inferred = mimic.infer_words(self.keywords, self.store, prepared=self.prepared)
            made = time.perf_counter() - made
            speed = {"words_per_second": len(inferred.vectors) / made, "refused": len(inferred.refused)}
            about = {"set": "all", "epoch": self.settings.epochs, "seconds": seconds, **speed}
            for scale in self.asked.scales:
                label = f"{title}-{scale:g}" if scale else title
                vectors = lengthened(self.lm, inferred.vectors, scale)
                vectors.save(self.asked.out / f"{label}.safetensors")
                settings = EvalSettings(method="vectors", depth=512)
                result = evaluate(self.lm, self.dataset, settings, vectors=vectors, label=label)
                result.save(self.asked.out / f"{label}.json.gz")
                self.record({**about, "scale": scale, **flat_figures(result)})
                tested = of_set(result, self.dataset, "test")
                self.record({**about, "set": "test", "scale": scale, **flat_figures(tested)})
        if self.configuration in self.asked.save:
            folder = self.asked.out / f"{title}-{self.asked.ngram_limit or 'all'}-mimic"
            scale = self.asked.scales[0] or mimic.settings.scale
            mimic.placed(scale=scale).save_pretrained(folder, packed=True)
            size = sum(path.stat().st_size for path in folder.iterdir())
            loaded = AttentiveMimicking.from_pretrained(folder, self.lm)
            made = loaded.infer_words(self.dev, self.store, prepared=self.prepared)
            settings = EvalSettings(method="vectors", subset="dev")
            result = evaluate(self.lm, self.dataset, settings, vectors=made.vectors)
            about = {"set": "dev", "packed": size, "scale": scale}
            self.record({**about, "epoch": self.settings.epochs, **flat_figures(result)})

    def measure(self, report: EpochReport, made: InferredWords) -> None:
        settings = EvalSettings(method="vectors", subset="dev")
        for scale in self.asked.scales:
            result = evaluate(
                self.lm, self.dataset, settings, vectors=lengthened(self.lm, made.vectors, scale)
            )
            self.record({"set": "dev", **vars(report), "scale": scale, **flat_figures(result)})

    def record(self, values: dict[str, Any]) -> None:
        about = {"model": self.name, "configuration": self.configuration, "seed": self.settings.seed}
        if self.settings.ngram_limit:
            about["ngram_limit"] = self.settings.ngram_limit
        record(self.asked.out, {**about, **values})


def record(out: Path, values: dict[str, Any]) -> None:
    with (out / "ablation.jsonl").open("a", encoding="utf-8") as stream:
        stream.write(json.dumps(values) + "\n")
    print(json.dumps(values), flush=True)


if __name__ == "__main__":
    main()
