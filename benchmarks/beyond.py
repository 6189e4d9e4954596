"""Everything tried beyond the paper, on WNLaMPro: chosen on dev, reported on test.

    PYTHONPATH=src python benchmarks/beyond.py OUT --model M --name NAME --corpus STORE

One line a measurement goes to OUT/NAME.jsonl as it comes. The combinations are measured on dev; the best
single vector and the best use of a slash, by the rule of ``score``, are then measured on all entries, the
former for every seed, with the two controls of the slash, and on dev by the number of contexts. All keywords
get vectors, as in the paper; with ``--several`` those of one piece keep their embedding. A word without
contexts goes by its spelling, and by its pieces with a weight of .5, in every combination.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from beyond_combinations import BASE, COMBINATIONS
from rarewords import LanguageModel, Store, WordVectors, progress
from rarewords.mimic.approximated import approximations_of
from rarewords.mimic.fitting import training_words
from rarewords.mimic.learner import WordLearner
from rarewords.mimic.learner_settings import LearnerSettings
from rarewords.mimic.masked import MaskedContexts, contexts_of_words
from rarewords.mimic.mimicking import AttentiveMimicking
from rarewords.mimic.readings import lengthened, pool, read
from rarewords.mimic.refine import refine
from rarewords.mimic.resembling import Resembling
from rarewords.mimic.settings import preset
from rarewords.mimic.sources import Sources
from rarewords.mimic.splitting import Splitter
from rarewords.ota.condense import condense
from rarewords.probe.dataset import BANDS, RELATIONS, Dataset
from rarewords.probe.evaluate import EvalSettings, evaluate
from rarewords.probe.result import ProbeResult

SEEDS = (0, 1)
NUMBERS = (1, 2, 4, 8, 16, 32)
TRAINING_WORDS, TRAINING_CONTEXTS = 12_000, 16


@dataclass
class Words:
    """Some keywords with everything known of them."""

    words: list[str]
    masked: MaskedContexts
    readings: dict[str, Tensor]
    spelling: Tensor
    resemblance: Tensor
    pieces: Tensor

    def sources(self, learner: WordLearner, reading: str, limit: int | None = None) -> Sources:
        names = ("masked", "shown") if reading == "both" else (reading,)
        attention, known = learner.settings.attention, learner.known
        readings = self.readings[names[0]]
        if len(names) > 1:
            readings = (readings + self.readings[names[1]]) / 2
        pooled = pool(readings, known, self.masked, limit, judge=self.pieces, attention=attention)
        counts = torch.from_numpy(self.masked.counts).to(learner.lm.device)
        counts = counts if limit is None else counts.clamp(max=limit)
        return Sources(pooled, counts, self.spelling, self.resemblance, self.pieces)


class Trial:
    """One model's measurements."""

    def __init__(self, asked: argparse.Namespace) -> None:
        self.asked, self.started = asked, time.perf_counter()
        self.lm = LanguageModel.from_pretrained(asked.model)
        self.store, self.dataset = Store.open(asked.corpus), Dataset.load()
        if asked.limit:
            self.dataset = Dataset(self.dataset.entries[:: max(1, len(self.dataset) // asked.limit)])
        self.keywords = list(dict.fromkeys(entry.word.text for entry in self.dataset))
        self.name = asked.name or Path(asked.model).name
        self.dev = [
            w for w in dict.fromkeys(e.word.text for e in self.dataset if e.subset == "dev") if self._asked(w)
        ]
        self.approximations = WordVectors.load(asked.approximations) if asked.approximations else None
        self.learners: dict[tuple[str, str, int], WordLearner] = {}
        self.plain = WordLearner(self.lm, LearnerSettings(**BASE))

    def learner(self, kind: str, reading: str, seed: int) -> WordLearner:
        """A learner whose matrix is fitted on words that are no keywords."""
        if not kind:
            return self.plain
        # Masked words are read without their pieces, whatever is read later.
        key = kind, "masked" if kind == "A" else reading, seed
        if key not in self.learners:
            self.learners[key] = self.fit(*key)
        return self.learners[key]

    def fit(self, kind: str, reading: str, seed: int) -> WordLearner:
        most = min(TRAINING_WORDS, 10 * (self.asked.limit or TRAINING_WORDS))
        chosen = training_words(self.lm, self.store, most, 50, set(self.keywords), seed)
        splitter = None
        if kind != "A":
            splitter = Splitter.of(self.lm, self.store.counts(2)[0][:100_000], seed)
            chosen = [word for word in chosen if splitter.split(word)]
        if kind == "joint":
            chosen = chosen[::2]  # approximating is what takes long
        masked = contexts_of_words(self.lm.tokens, self.store, chosen, limit=TRAINING_CONTEXTS)
        learner = WordLearner(self.lm, LearnerSettings(**{**BASE, "reading": reading}))
        seconds = time.perf_counter()
        learner.fit_on(chosen, masked, splitter, joint=kind == "joint")
        seconds = time.perf_counter() - seconds
        about = {"kind": kind, "reading": reading, "seed": seed, "seconds": seconds}
        self.record({"measure": "fit", **about, **learner.fitted})
        return learner

    def prepare(self, words: list[str], *, pieces: bool) -> Words:
        """Read the contexts of words, once masked and once shown."""
        masked = contexts_of_words(self.lm.tokens, self.store, words, limit=32)
        known, readings, seconds = self.plain.known, {}, {}
        for name in ("masked", "shown"):
            started = time.perf_counter()
            shown = self.lm.tokens.pieces_of(words) if name == "shown" else None
            readings[name] = read(self.lm, known, masked, shown=shown)
            seconds[name] = time.perf_counter() - started
        started = time.perf_counter()
        spelling, resemblance = Resembling(self.lm, known).of(words)
        seconds["spelling"] = time.perf_counter() - started
        matrix = known.mean.repeat(len(words), 1)
        if pieces:
            started = time.perf_counter()
            wanted = np.ones(len(words), dtype=bool)
            matrix = approximations_of(self.lm, known, words, wanted, self.approximations)
            seconds["pieces"] = time.perf_counter() - started
        cost = {name: round(1000 * value / len(words), 3) for name, value in seconds.items()}
        self.record({"measure": "cost", "words": len(words), "contexts": len(masked), "ms_per_word": cost})
        return Words(words, masked, readings, spelling, resemblance, matrix)

    def vectors(
        self, words: Words, combination: str, seed: int, limit: int | None = None
    ) -> tuple[WordVectors, bool]:
        reading, fitted, changes, slash = COMBINATIONS[combination]
        learner = self.learner(fitted, reading, seed).with_settings(**{**BASE, **changes})
        made, share = learner.combine(words.sources(learner, reading, limit))
        if learner.settings.condense:
            pieces = self.lm.tokens.pieces_of(words.words)
            made = condense(self.lm, pieces, made, learner.settings.condense)
        good = torch.isfinite(share).cpu().numpy()
        kept = [word for word, yes in zip(words.words, good, strict=True) if yes]
        return WordVectors(kept, made.cpu().numpy()[good], {"combination": combination}), slash

    def probe(
        self, label: str, vectors: WordVectors | None, *, subset: str, slash: bool = False, **about: Any
    ) -> ProbeResult:
        method = "pieces" if vectors is None else "vectors"
        settings = EvalSettings(method=method, subset=subset, slash=slash)
        result = evaluate(self.lm, self.dataset, settings, vectors=vectors, label=label)
        self.record({"measure": "probe", "label": label, "set": subset, **about, "cells": cells(result)})
        return result

    def run(self) -> None:
        pieces = self.probe("pieces", None, subset="dev")
        dev = self.prepare(self.dev, pieces=True)
        scores = {}
        for name in self.asked.combinations or COMBINATIONS:
            vectors, slash = self.vectors(dev, name, self.asked.seeds[0])
            result = self.probe(name, vectors, subset="dev", slash=slash, seed=self.asked.seeds[0])
            scores[name] = score(result, pieces)
        alone = [n for n in scores if not COMBINATIONS[n][3] and not (self.asked.cheap and takes_steps(n))]
        single = max(alone, key=lambda n: scores[n])
        slashed = max((n for n in scores if COMBINATIONS[n][3]), key=lambda n: scores[n])
        self.record({"measure": "choice", "single": single, "slash": slashed, "scores": scores})
        if self.asked.save:
            reading, fitted, changes, _ = COMBINATIONS[single]
            learner = self.learner(fitted, reading, self.asked.seeds[0])
            learner.with_settings(**{**BASE, "reading": reading, **changes}).save_pretrained(self.asked.save)
        if not self.asked.combinations:
            self.more(dev, single)
        self.by_number(dev, single, slashed)
        self.final(single, slashed)
        self.record({"measure": "seconds", "seconds": time.perf_counter() - self.started})
        (self.asked.out / f"{self.name}.done").write_text("done", "utf-8")

    def more(self, dev: Words, single: str) -> None:
        """What needs gradient steps: refinement, and the paper's model over readings."""
        vectors, _ = self.vectors(dev, single, self.asked.seeds[0])
        masked = contexts_of_words(self.lm.tokens, self.store, vectors.words, limit=16)
        seconds = time.perf_counter()
        done = refine(self.lm, masked, torch.from_numpy(vectors.matrix.copy()))
        cost = round(1000 * (time.perf_counter() - seconds) / len(vectors), 2)
        refined = WordVectors(vectors.words, done.vectors.cpu().numpy(), {})
        self.probe(f"{single}, refined", refined, subset="dev", seed=self.asked.seeds[0], ms_per_word=cost)
        settings = preset("am+readings", epochs=5, min_count=100 if not self.asked.limit else 3000)
        mimic = AttentiveMimicking.fit(self.lm, self.store, None, settings).placed(scale=0)
        inferred = mimic.infer_words(dev.words, self.store).vectors
        for scale in (0, 1.0, 1.3):
            label = f"am+readings, scale {scale}" if scale else "am+readings, as it comes"
            self.probe(label, lengthened(self.lm, inferred, scale), subset="dev", seed=0)

    def by_number(self, dev: Words, *chosen: str) -> None:
        """How fast a word is learned: keywords with at least 32 contexts, shown only some of them."""
        rich = np.flatnonzero(dev.masked.counts >= max(NUMBERS))
        names = {dev.words[row] for row in rich}
        entries = Dataset(
            tuple(e for e in self.dataset if e.subset == "dev" and e.word.text in names), "rich"
        )
        self.record({"measure": "numbers", "words": len(names), "entries": len(entries)})
        for name in ("pieces", *chosen):
            for number in NUMBERS if name != "pieces" else (0,):
                settings = EvalSettings(subset="dev")
                vectors = None
                if name != "pieces":
                    vectors, slash = self.vectors(dev, name, self.asked.seeds[0], number)
                    settings = EvalSettings(method="vectors", subset="dev", slash=slash)
                result = evaluate(self.lm, entries, settings, vectors=vectors)
                self.record({"measure": "number", "label": name, "contexts": number, "MRR": result.mrr})

    def final(self, single: str, slashed: str) -> None:
        """The chosen ones on all entries."""
        asked = [word for word in self.keywords if self._asked(word)]
        _, fitted, settings, _ = COMBINATIONS[single]
        needed = fitted == "joint" or any(settings.get(n) for n in ("pieces", "pieces_alone", "attention"))
        words = self.prepare(asked, pieces=bool(needed))
        self.save(self.probe("pieces", None, subset="all"), "pieces")
        for seed in self.asked.seeds:
            vectors, _ = self.vectors(words, single, seed)
            self.save(self.probe(single, vectors, subset="all", seed=seed), f"single-{seed}")
        vectors, _ = self.vectors(words, slashed, self.asked.seeds[0])
        self.save(self.probe(slashed, vectors, subset="all", slash=True, seed=self.asked.seeds[0]), "slash")
        mean = self.plain.known.mean.cpu().numpy()
        control = WordVectors(asked, np.repeat(mean[None], len(asked), 0), {})
        self.save(self.probe("word / mean embedding", control, subset="all", slash=True), "control-mean")
        everything, self.dataset = self.dataset, self.doubled()
        doubled = self.probe("word / word", None, subset="all")
        self.dataset = everything
        texts = [entry.word.text for entry in everything]
        self.save(replace(doubled, word=texts), "control-word")

    def doubled(self) -> Dataset:
        """The data set with ``kumquat / kumquat`` for kumquat, where a vector would stand."""
        entries = []
        for entry in self.dataset:
            text = entry.word.text
            word = replace(entry.word, text=f"{text} / {text}") if self._asked(text) else entry.word
            entries.append(replace(entry, word=word))
        return Dataset(tuple(entries), "doubled")

    def save(self, result: ProbeResult, name: str) -> None:
        result.save(self.asked.out / f"{self.name}-{name}.json.gz")

    def record(self, values: dict[str, Any]) -> None:
        line = {"model": self.name, "at": round(time.perf_counter() - self.started, 1), **values}
        with (self.asked.out / f"{self.name}.jsonl").open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(line) + "\n")
        print(json.dumps(line), flush=True)

    def _asked(self, word: str) -> bool:
        """Whether a keyword gets a vector."""
        return not self.asked.several or len(self.lm.pieces(word)) > 1


def takes_steps(combination: str) -> bool:
    """Whether it takes gradient steps for every word; on a CPU they take longer than reading."""
    return any(COMBINATIONS[combination][2].get(name) for name in ("pieces", "attention", "condense"))


def score(result: ProbeResult, pieces: ProbeResult) -> float:
    """What settings are chosen by: the mean over rare and medium of the MRR in units of the pieces'."""
    total = 0.0
    for band in ("rare", "medium"):
        ours, theirs = result.cell("all", band), pieces.cell("all", band)
        assert ours is not None
        assert theirs is not None
        total += ours.mrr.mean / theirs.mrr.mean / 2
    return total


def cells(result: ProbeResult) -> dict[str, list[float]]:
    """MRR with its interval, by relation and frequency."""
    found = {}
    for relation in ("all", *RELATIONS):
        for band in BANDS:
            cell = result.cell(relation, band)
            if cell is not None:
                found[f"{relation} {band}"] = [round(float(value), 4) for value in asdict(cell.mrr).values()]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--model", default="default")
    parser.add_argument("--name")
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--seeds", type=int, nargs="+", default=list(SEEDS))
    parser.add_argument("--several", action="store_true", help="words of one piece keep their embedding")
    parser.add_argument("--limit", type=int, help="a trial of the script: only so many entries")
    parser.add_argument(
        "--cheap", action="store_true", help="choose one vector without gradient steps a word"
    )
    parser.add_argument(
        "--combinations", nargs="+", help="only these, without refinement and am+readings; at least one slash"
    )
    parser.add_argument("--approximations", type=Path, help="of the pieces, made by `rarewords ota`")
    parser.add_argument(
        "--save", type=Path, help="keep the learner of the first seed, with the chosen settings"
    )
    asked = parser.parse_args()
    named = asked.combinations or list(COMBINATIONS)
    unknown = [name for name in named if name not in COMBINATIONS]
    if unknown:
        parser.error(f"no combination {unknown[0]!r}; they are in beyond_combinations.py")
    alone = [name for name in named if not COMBINATIONS[name][3]]
    if len(alone) == len(named) or not [n for n in alone if not (asked.cheap and takes_steps(n))]:
        parser.error("name at least one combination with a slash and one without to choose from")
    torch.set_float32_matmul_precision("high")
    progress.enable()
    asked.out.mkdir(parents=True, exist_ok=True)
    Trial(asked).run()


if __name__ == "__main__":
    main()
