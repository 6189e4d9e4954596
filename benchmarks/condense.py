"""One vector for what a word's pieces and its vector do together: ``word / <vector>`` condensed by OTA.

    PYTHONPATH=src python benchmarks/condense.py OUT --model M --name NAME --corpus STORE [--learner FOLDER]
        [--steps 100 300] [--set dev] [--limit N]

The learner's vector of each keyword stands behind its pieces and a slash; one-token approximation then
looks for the one vector with the same effect on the tokens around it. Measured with the pieces, the learner's
vector in their place, both with the slash, and the condensed vector after each number of steps. Each
measurement adds one line to OUT/NAME-condensed.jsonl; ranks are kept beside it.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from rarewords import progress
from rarewords.corpus.store import Store
from rarewords.lm import LanguageModel
from rarewords.mimic.learner import WordLearner
from rarewords.ota.approximate import Approximator, batches
from rarewords.ota.objective import Batch, Objective
from rarewords.ota.settings import OtaSettings
from rarewords.paper.experiment import tf32
from rarewords.probe.dataset import Dataset
from rarewords.probe.evaluate import EvalSettings, evaluate
from rarewords.vectors import WordVectors, open_vectors


@dataclass(frozen=True)
class Condensing(Objective):
    """The distance to ``l; pieces / vector; r`` instead of ``l; pieces; r``. *Shape:* (words, dim)"""

    vectors: Tensor

    @torch.no_grad()
    def targets(self, batch: Batch, context: int) -> Tensor:
        slash = torch.tensor([[*self.lm.pieces("/"), 0]], device=self.lm.device).repeat(len(batch), 1)
        pieces = torch.cat([batch.pieces, slash], dim=1)
        sequences = self.frame.sequences(pieces, batch.keys, context)
        slots = torch.full((len(batch),), self.frame.left + pieces.shape[1] - 1, device=self.lm.device)
        return self._around(self.lm.embed(sequences, slots, self.vectors), pieces.shape[1])


def condense(lm: LanguageModel, vectors: WordVectors, settings: OtaSettings) -> WordVectors:
    """One vector for each word that acts as its pieces and its vector do."""
    pieces, matrix = lm.tokens.pieces_of(list(vectors.words)), np.zeros_like(vectors.matrix)
    with progress.progress("Condensing", total=len(pieces), unit="words") as bar:
        for rows in batches(lm, pieces):
            begin = torch.from_numpy(np.array(vectors.matrix[rows])).to(lm.device)
            approximator = Approximator(lm, settings)
            usual = approximator.objective
            approximator.objective = Condensing(**{**vars(usual), "vectors": begin})
            solved = approximator.solve(approximator.batch([pieces[row] for row in rows]), start=begin)
            matrix[rows] = solved.cpu().numpy()
            bar.advance(len(rows))
    return WordVectors(vectors.words, matrix, {**vectors.settings, "condensed": settings.to_dict()})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--model", default="default")
    parser.add_argument("--name")
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--learner", type=Path)
    parser.add_argument("--approximations", type=Path, help="of the pieces, made by `rarewords ota`")
    parser.add_argument("--steps", nargs="+", type=int, default=[100, 300])
    parser.add_argument("--set", choices=("dev", "test"), default="dev")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=int, help="only N entries, to try the script")
    asked = parser.parse_args()
    progress.enable()
    lm, store = LanguageModel.from_pretrained(asked.model), Store.open(asked.corpus)
    learner = WordLearner.for_model(lm, asked.learner)
    if asked.approximations:
        learner = learner.with_approximations(open_vectors(asked.approximations))
    dataset = Dataset(Dataset.load().select(subset=asked.set, limit=asked.limit))
    words = list(dict.fromkeys(entry.word.text for entry in dataset))
    name = asked.name or Path(asked.model).name
    asked.out.mkdir(parents=True, exist_ok=True)

    def measure(label: str, vectors: WordVectors | None, *, slash: bool = False, seconds: float = 0) -> None:
        settings = EvalSettings(method="pieces" if vectors is None else "vectors", slash=slash)
        found = evaluate(lm, dataset, settings, vectors=vectors, label=label)
        found.save(asked.out / f"{name}-{asked.set}-{label.replace(' ', '-')}-{asked.seed}.json.gz")
        cells = {f"{cell.relation} {cell.band}": round(cell.mrr.mean, 4) for cell in found.cells}
        about = {"label": label, "set": asked.set, "seed": asked.seed, "seconds": round(seconds, 1)}
        line = json.dumps({**about, "words": len(vectors or ()), "MRR": found.mrr, **cells})
        with (asked.out / f"{name}-condensed.jsonl").open("a", encoding="utf-8") as stream:
            stream.write(line + "\n")
        print(line, flush=True)

    measure("pieces", None)
    with tf32():
        vectors = learner.infer_words(words, store).vectors
    measure("vector", vectors)
    measure("slash", vectors, slash=True)
    for steps in asked.steps:
        started = time.perf_counter()
        with tf32():  # the ranks are computed in full precision
            made = condense(lm, vectors, replace(OtaSettings(), steps=steps, seed=asked.seed))
        measure(f"condensed {steps}", made, seconds=time.perf_counter() - started)


if __name__ == "__main__":
    main()
