"""Unseen words from a few sentences: the Chimeras of Lazaridou et al. (2017).

    python benchmarks/tasks/chimeras.py FOLDER --corpus STORE [--model M --name NAME] [--out FILE]

A chimera is a made-up word in 2, 4 or 6 sentences; people rated how much it resembles six known words. The
figure is the mean over chimeras of Spearman's correlation between ratings and similarities. Three
similarities are compared: the cosine of the input vectors (the learner's for the chimera; for the known word
the model's own or, if it is split, the learner's), the cosine of the mean readings, and
rarewords.mimic.likeness. The contexts of the known words come from a store. FOLDER holds
dataset.l2.fixed.train.txt and so on. The layer of the likeness was chosen on the train part; the test part is
reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from measure import interval, note, options
from scipy.stats import spearmanr

from rarewords import LanguageModel, Store, WordLearner
from rarewords.mimic.likeness import profiles, states
from rarewords.mimic.masked import MaskedContexts, contexts_of_sentences, contexts_of_words
from rarewords.mimic.readings import pool, read

NONCE = "wug"
LENGTHS, PARTS = (2, 4, 6), ("train", "test")


@dataclass(frozen=True)
class Chimera:
    """The sentences of a made-up word, and known words with their ratings."""

    sentences: tuple[str, ...]
    probes: tuple[str, ...]
    ratings: tuple[float, ...]


def load(path: Path) -> list[Chimera]:
    """The chimeras of a file; a passage without the word's slot is left out."""
    found = []
    for line in path.read_text("utf-8").strip().split("\n"):  # passages hold other line ends
        _, passages, probes, ratings = line.split("\t")
        own = tuple(one.replace("___", f" {NONCE} ").strip() for one in passages.split("@@") if "___" in one)
        found.append(Chimera(own, tuple(probes.split(",")), tuple(map(float, ratings.split(",")))))
    return found


def unit(rows: torch.Tensor) -> np.ndarray:
    return torch.nn.functional.normalize(rows.float(), dim=1).cpu().numpy()


def measures(
    lm: LanguageModel, store: Store, chimeras: list[Chimera], probes: list[str], contexts: int
) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Each way of comparing them, with unit vectors of chimeras and of known words."""
    learner = WordLearner.for_model(lm)
    pairs = [(NONCE, sentence) for one in chimeras for sentence in one.sentences]
    counts = np.array([len(one.sentences) for one in chimeras])
    unseen = contexts_of_sentences(lm.tokens, pairs)
    known = contexts_of_words(lm.tokens, store, probes, contexts=contexts)
    seen = states(lm, known)
    yield "likeness", unit(profiles(states(lm, unseen), counts, seen)), unit(profiles(seen, known.counts))

    def readings(of: MaskedContexts, numbers: np.ndarray) -> torch.Tensor:
        return pool(read(lm, learner.known, of, "masked"), numbers, learner.known.mean)

    theirs, ours = readings(known, known.counts), readings(unseen, counts)
    mean = theirs.mean(0)
    yield "readings", unit(ours - mean), unit(theirs - mean)
    made = learner.infer_words(probes, store, contexts=contexts).vectors
    rows = [
        lm.embeddings[lm.whole_words[one]].cpu() if one in lm.whole_words else torch.tensor(made[one])
        for one in probes
    ]
    mine = learner.infer_each([(NONCE, one.sentences) for one in chimeras])
    vectors = torch.from_numpy(np.stack([one.vector for one in mine if one is not None]))
    centre = learner.known.mean.cpu()
    yield "input vectors", unit(vectors - centre), unit(torch.stack(rows) - centre)


def correlations(chimeras: list[Chimera], similarity: Callable[[int, str], float]) -> list[float]:
    values = []
    for number, one in enumerate(chimeras):
        rho = spearmanr([similarity(number, probe) for probe in one.probes], one.ratings).statistic
        values.append(0.0 if np.isnan(rho) else float(rho))
    return values


def main() -> None:
    parser = options(__doc__, "the folder of the chimeras")
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--contexts", type=int, default=24, help="of each known word")
    asked = parser.parse_args()
    lm = LanguageModel.from_pretrained(asked.model)
    groups = {
        (n, part): load(asked.data / f"dataset.l{n}.fixed.{part}.txt") for n in LENGTHS for part in PARTS
    }
    if asked.quick:
        groups = {key: group[:4] for key, group in groups.items()}
    every = [one for group in groups.values() for one in group]
    probes = sorted({probe for one in every for probe in one.probes})
    place = {probe: row for row, probe in enumerate(probes)}
    for way, ours, theirs in measures(lm, Store.open(asked.corpus), every, probes, asked.contexts):
        first = 0
        for (n, part), group in groups.items():
            own = ours[first : first + len(group)]
            first += len(group)
            values = correlations(
                group, lambda row, probe, own=own, theirs=theirs: float(own[row] @ theirs[place[probe]])
            )
            low, high = interval(values)
            note(
                asked.out,
                task=f"Chimeras, {n} sentences",
                model=asked.name,
                way=way,
                part=part,
                items=len(group),
                spearman=float(np.mean(values)),
                low=low,
                high=high,
            )


if __name__ == "__main__":
    main()
