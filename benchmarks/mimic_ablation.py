"""The paper's ablations of attentive mimicking on WNLaMPro dev, and vectors for test.

    PYTHONPATH=src python benchmarks/mimic_ablation.py OUT --model M --corpus STORE --targets OTA.safetensors
        [--configurations am am+context] [--seeds 0 1 2] [--scales 0 1.4] [--test am+context]

Trains each configuration with each seed and measures it on dev after 5 epochs and after the last. A
configuration named by ``--test`` is also measured on test; one named by ``--save`` is kept.
``--scales`` are the lengths to measure (``MimicSettings.scale``; 0 leaves vectors as they are). Each
measurement is one line of ``OUT/ablation.jsonl``, written at once, so an interrupted run loses little.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from rarewords import progress
from rarewords.corpus.store import Store
from rarewords.lm import LanguageModel
from rarewords.mimic.attentive import AttentiveMimicking
from rarewords.mimic.batches import PreparedContexts
from rarewords.mimic.settings import preset
from rarewords.mimic.train import EpochReport
from rarewords.probe.dataset import Dataset
from rarewords.probe.evaluate import EvalSettings, evaluate
from rarewords.probe.result import ProbeResult
from rarewords.vectors import open_vectors

CONFIGURATIONS = {
    "am": preset("am"),
    "am+context": preset("am+context"),
    "no-ota": preset("am"),
    "no-form": preset("am", form=False),
    "no-context": preset("am", context=False),
    "no-attention": preset("am+context", attention=False),
    "form-dropout": preset("am+context", form_dropout=0.3),
}


def at_scale(mimic: AttentiveMimicking, scale: float) -> AttentiveMimicking:
    """The same model with vectors of another length."""
    return replace(mimic, settings=replace(mimic.settings, scale=scale))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--model", default="default")
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--targets", type=Path, required=True)
    parser.add_argument("--configurations", nargs="+", choices=CONFIGURATIONS, default=list(CONFIGURATIONS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--scales", nargs="+", type=float, default=[0.0])
    parser.add_argument("--ngram-limit", type=int, default=0)
    parser.add_argument("--test", nargs="*", default=[], help="configurations to measure on test as well")
    parser.add_argument("--save", nargs="*", default=[], help="configurations whose mimic model is kept")
    asked = parser.parse_args()
    progress.enable()
    lm = LanguageModel.from_pretrained(asked.model)
    store, targets, dataset = Store.open(asked.corpus), open_vectors(asked.targets), Dataset.load()
    keywords = {subset: [e.word.text for e in dataset if e.subset == subset] for subset in ("dev", "test")}
    frequent, _ = store.counts(CONFIGURATIONS["am"].min_count)
    prepared = PreparedContexts(store, list(dict.fromkeys([*frequent, *keywords["dev"], *keywords["test"]])))

    def record(result: ProbeResult, **about: Any) -> None:
        cells = {" ".join(cell): round(result.measure(*cell).mean, 4) for cell in result.cells}
        line = json.dumps({"model": Path(asked.model).name, **about, **cells})
        asked.out.mkdir(parents=True, exist_ok=True)
        with (asked.out / "ablation.jsonl").open("a", encoding="utf-8") as stream:
            stream.write(line + "\n")
        print(line, flush=True)

    def measure(mimic: AttentiveMimicking, subset: str, **about: Any) -> None:
        for scale in asked.scales:
            vectors = at_scale(mimic, scale).infer_words(keywords[subset], store, prepared=prepared).vectors
            settings = EvalSettings(method="vectors", subset=subset)
            record(evaluate(lm, dataset, settings, vectors=vectors), set=subset, scale=scale, **about)

    for subset in ("dev", "test"):
        record(evaluate(lm, dataset, EvalSettings(subset=subset)), set=subset, configuration="pieces")
    for seed in asked.seeds:
        for name in asked.configurations:
            changes = {
                "epochs": asked.epochs,
                "held_out": 0.02,
                "ngram_limit": asked.ngram_limit,
                "seed": seed,
            }
            about = {"configuration": name, "seed": seed}

            def after_epoch(report: EpochReport, mimic: AttentiveMimicking, about: Any = about) -> None:
                if report.epoch in (5, asked.epochs):
                    measure(mimic, "dev", **about, **vars(report))

            mimic = AttentiveMimicking.fit(
                lm,
                store,
                None if name == "no-ota" else targets,
                replace(CONFIGURATIONS[name], **changes),
                prepared=prepared,
                after_epoch=after_epoch,
            )
            if name in asked.test:
                measure(mimic, "test", **about, epoch=asked.epochs)
            if name in asked.save:
                folder = asked.out / f"{name}-{seed}-mimic"
                at_scale(mimic, asked.scales[0]).save_pretrained(folder)


if __name__ == "__main__":
    main()
