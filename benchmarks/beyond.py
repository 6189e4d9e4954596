"""Every combination of readings, spelling and pieces on WNLaMPro: chosen on dev, reported on test.

    PYTHONPATH=src python benchmarks/beyond.py OUT --model M --name NAME --corpus STORE

Each measurement is one line of OUT/NAME.jsonl, written as soon as it is made. The combinations are measured
on dev. The best single vector and the best use of a slash, by ``score``, are then measured on all entries
(the single vector with every seed, the slash with its two controls) and on dev by the number of contexts. All
keywords get vectors, as in the paper; with ``--several`` those of one piece keep their embedding.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from beyond_combinations import COMBINATIONS
from rarewords.paper.experiment import tf32
from torch import Tensor

from rarewords import LanguageModel, Store, WordVectors, progress
from rarewords.mimic.learner import WordLearner
from rarewords.mimic.masked import MaskedContexts, contexts_of_words
from rarewords.mimic.ngrams import Spelling
from rarewords.mimic.readings import KnownWords, pool, read
from rarewords.mimic.settings import LearnerSettings
from rarewords.probe.dataset import BANDS, RELATIONS, Dataset
from rarewords.probe.evaluate import EvalSettings, evaluate
from rarewords.probe.result import ProbeResult

NUMBERS = (1, 2, 4, 8, 16, 32)
TRAINING_WORDS, TRAINING_CONTEXTS = 12_000, 16


@dataclass
class Words:
    """Some keywords and what was read in their contexts."""

    words: list[str]
    masked: MaskedContexts
    readings: dict[str, Tensor]

    def pooled(self, known: KnownWords, reading: str, most: int | None) -> tuple[Tensor, np.ndarray]:
        """The mean reading of each word from at most ``most`` contexts, and their number."""
        names = ("masked", "shown") if reading == "both" else (reading,)
        readings = torch.stack([self.readings[name].float() for name in names]).mean(0)
        counts = self.masked.counts
        if most is not None:
            place = np.concatenate([np.arange(count) for count in counts])
            readings, counts = readings[torch.from_numpy(place < most)], np.minimum(counts, most)
        return pool(readings, counts, known.mean), counts


class Measurement:
    """All measurements of one model."""

    def __init__(self, asked: argparse.Namespace) -> None:
        self.asked, self.started = asked, time.perf_counter()
        self.lm = LanguageModel.from_pretrained(asked.model)
        self.store, self.dataset = Store.open(asked.corpus), Dataset.load()
        if asked.limit:
            self.dataset = Dataset(self.dataset.entries[:: max(1, len(self.dataset) // asked.limit)])
        self.keywords = list(dict.fromkeys(entry.word.text for entry in self.dataset))
        self.name = asked.name or Path(asked.model).name
        self.known = KnownWords.of(self.lm)
        self.learners: dict[int, WordLearner] = {}

    def learner(self, name: str, seed: int) -> WordLearner:
        """A learner of a combination; its matrix is fitted on words that are not keywords."""
        combination = COMBINATIONS[name]
        settings = LearnerSettings(
            reading=combination.reading, spelling=combination.spelling, condense=combination.condensed
        )
        if not combination.fitted:
            return WordLearner(self.lm, settings)
        if seed not in self.learners:
            started = time.perf_counter()
            words = min(TRAINING_WORDS, 10 * (self.asked.limit or TRAINING_WORDS))
            how = {"words": words, "contexts": TRAINING_CONTEXTS, "leave_out": self.keywords, "seed": seed}
            with tf32():
                made = self.learners[seed] = WordLearner.fit(self.lm, self.store, **how)
            seconds = time.perf_counter() - started
            self.record({"measure": "fit", "seconds": seconds, **made.fitted})
        return replace(self.learners[seed], settings=settings)

    def prepare(self, words: list[str]) -> Words:
        """Read the contexts of words, once masked and once shown."""
        masked = contexts_of_words(self.lm.tokens, self.store, words, contexts=32)
        readings, seconds, started = {}, {}, time.perf_counter()
        for name in ("masked", "shown"):
            with tf32():  # the ranks are computed in full precision
                readings[name] = read(self.lm, self.known, masked, name)
            seconds[name], started = time.perf_counter() - started, time.perf_counter()
        Spelling(self.lm).of(words)
        seconds["spelling"] = time.perf_counter() - started
        cost = {name: round(1000 * value / len(words), 3) for name, value in seconds.items()}
        contexts = len(masked.rows)
        self.record({"measure": "cost", "words": len(words), "contexts": contexts, "ms_per_word": cost})
        return Words(words, masked, readings)

    def vectors(self, words: Words, name: str, seed: int, most: int | None = None) -> WordVectors:
        """The vectors of a combination."""
        learner = self.learner(name, seed)
        reading, counts = words.pooled(self.known, learner.settings.reading, most)
        with tf32():
            made, share = learner.vectors(words.words, reading, counts)
        good = torch.isfinite(share).cpu().numpy()
        kept = [word for word, yes in zip(words.words, good, strict=True) if yes]
        return WordVectors(kept, made.cpu().numpy()[good], {"combination": name})

    def probe(
        self, label: str, vectors: WordVectors | None, *, subset: str, slash: bool = False, **about: Any
    ) -> ProbeResult:
        """Measure vectors, or the pieces if there are none, and record it."""
        method = "pieces" if vectors is None else "vectors"
        settings = EvalSettings(method=method, subset=subset, slash=slash)
        result = evaluate(self.lm, self.dataset, settings, vectors=vectors, label=label)
        self.record({"measure": "probe", "label": label, "set": subset, **about, "cells": cells(result)})
        return result

    def run(self) -> None:
        """Everything, from the combinations on dev to the chosen ones on test."""
        seed = self.asked.seeds[0]
        pieces = self.probe("pieces", None, subset="dev")
        keywords = dict.fromkeys(entry.word.text for entry in self.dataset if entry.subset == "dev")
        dev = self.prepare([word for word in keywords if self.gets_vector(word)])
        scores = {}
        for name in self.asked.combinations or COMBINATIONS:
            vectors, slash = self.vectors(dev, name, seed), COMBINATIONS[name].slash
            scores[name] = score(self.probe(name, vectors, subset="dev", slash=slash, seed=seed), pieces)
        single = max(candidates(list(scores), cheap=self.asked.cheap), key=lambda name: scores[name])
        slashed = max((name for name in scores if COMBINATIONS[name].slash), key=lambda name: scores[name])
        self.record({"measure": "choice", "single": single, "slash": slashed, "scores": scores})
        if self.asked.save:
            self.learner(single, seed).save_pretrained(self.asked.save)
        if not self.asked.brief:
            self.by_number(dev, single, slashed)
        self.final(single, slashed)
        self.record({"measure": "seconds", "seconds": time.perf_counter() - self.started})

    def by_number(self, dev: Words, *chosen: str) -> None:
        """How fast a word is learned: keywords with at least 32 contexts, of which only some are used."""
        rich = {dev.words[row] for row in np.flatnonzero(dev.masked.counts >= max(NUMBERS))}
        own = tuple(entry for entry in self.dataset if entry.subset == "dev" and entry.word.text in rich)
        self.record({"measure": "numbers", "words": len(rich), "entries": len(own)})
        if not own:  # a small text
            return
        entries = Dataset(own, "rich")
        pieces = evaluate(self.lm, entries, EvalSettings(subset="dev"))
        self.record({"measure": "number", "label": "pieces", "contexts": 0, "MRR": pieces.mrr})
        for name in chosen:
            settings = EvalSettings(method="vectors", subset="dev", slash=COMBINATIONS[name].slash)
            for number in NUMBERS:
                vectors = self.vectors(dev, name, self.asked.seeds[0], number)
                mrr = evaluate(self.lm, entries, settings, vectors=vectors).mrr
                self.record({"measure": "number", "label": name, "contexts": number, "MRR": mrr})

    def final(self, single: str, slashed: str) -> None:
        """The chosen combinations and the controls of the slash on all entries."""
        asked = [word for word in self.keywords if self.gets_vector(word)]
        words = self.prepare(asked)
        for seed in self.asked.seeds:
            made = self.probe(single, self.vectors(words, single, seed), subset="all", seed=seed)
            self.save(made, f"single-{seed}")
        if self.asked.brief:
            return
        self.save(self.probe("pieces", None, subset="all"), "pieces")
        vectors, seed = self.vectors(words, slashed, self.asked.seeds[0]), self.asked.seeds[0]
        self.save(self.probe(slashed, vectors, subset="all", slash=True, seed=seed), "slash")
        mean = self.known.mean.cpu().numpy()
        control = WordVectors(asked, np.repeat(mean[None], len(asked), 0), {})
        self.save(self.probe("word / mean embedding", control, subset="all", slash=True), "control-mean")
        everything, self.dataset = self.dataset, self.doubled()
        doubled = self.probe("word / word", None, subset="all")
        self.dataset = everything
        self.save(replace(doubled, word=[entry.word.text for entry in everything]), "control-word")

    def doubled(self) -> Dataset:
        """The data set with ``kumquat / kumquat`` for kumquat, where a vector would stand."""
        entries = []
        for entry in self.dataset:
            text = entry.word.text
            word = replace(entry.word, text=f"{text} / {text}") if self.gets_vector(text) else entry.word
            entries.append(replace(entry, word=word))
        return Dataset(tuple(entries), "doubled")

    def save(self, result: ProbeResult, name: str) -> None:
        """Keep a result for ``render_beyond.py``."""
        result.save(self.asked.out / f"{self.name}-{name}.json.gz")

    def record(self, values: dict[str, Any]) -> None:
        """Append a measurement to the file."""
        line = {"model": self.name, "at": round(time.perf_counter() - self.started, 1), **values}
        with (self.asked.out / f"{self.name}.jsonl").open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(line) + "\n")
        print(json.dumps(line), flush=True)

    def gets_vector(self, word: str) -> bool:
        """Whether a keyword gets a vector."""
        return not self.asked.several or len(self.lm.pieces(word)) > 1


def candidates(names: list[str], *, cheap: bool) -> list[str]:
    """The combinations from which the single vector is chosen."""
    alone = [name for name in names if not COMBINATIONS[name].slash]
    return [name for name in alone if not (cheap and COMBINATIONS[name].condensed)]


def score(result: ProbeResult, pieces: ProbeResult) -> float:
    """The rule of choice: MRR in units of the pieces' MRR, the mean of rare, medium and frequent keywords."""
    total = 0.0
    for band in BANDS:
        total += result.measure("all", band).mean / pieces.measure("all", band).mean / len(BANDS)
    return total


def cells(result: ProbeResult) -> dict[str, list[float]]:
    """MRR with its standard error, by relation and frequency."""
    found = {}
    for relation in ("all", *RELATIONS):
        for band in BANDS:
            if (relation, band) in result.cells:
                mrr = result.measure(relation, band)
                found[f"{relation} {band}"] = [round(mrr.mean, 4), round(mrr.error, 4)]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--model", default="default")
    parser.add_argument("--name")
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--several", action="store_true", help="words of one piece keep their embedding")
    parser.add_argument("--limit", type=int, help="use about N entries, to try the script")
    parser.add_argument(
        "--cheap", action="store_true", help="choose a vector without gradient steps per word"
    )
    parser.add_argument(
        "--combinations", nargs="+", help="only these; at least one with a slash, one without"
    )
    parser.add_argument("--brief", action="store_true", help="of all entries only the single vector")
    parser.add_argument("--save", type=Path, help="keep the chosen learner of the first seed in this folder")
    asked = parser.parse_args()
    named = asked.combinations or list(COMBINATIONS)
    unknown = [name for name in named if name not in COMBINATIONS]
    if unknown:
        parser.error(f"no combination {unknown[0]!r}; they are in beyond_combinations.py")
    if not candidates(named, cheap=asked.cheap) or not any(COMBINATIONS[name].slash for name in named):
        parser.error("name at least one combination with a slash and one without to choose from")
    progress.enable()
    asked.out.mkdir(parents=True, exist_ok=True)
    Measurement(asked).run()


if __name__ == "__main__":
    main()
