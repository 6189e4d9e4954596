"""Unseen words from a few sentences: the Chimeras of Lazaridou et al. (2017).

A chimera is a made-up word in 2, 4 or 6 sentences; people rated how much it resembles six known words. The
figure is the mean over chimeras of Spearman's correlation between ratings and similarities.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from experiments.common import spearman
from experiments.tasks.profiles import profiles, states
from rarewords import Corpus, LanguageModel, WordLearner
from rarewords.learner.evidence import Evidence
from rarewords.learner.expected import pool, read
from rarewords.learner.masked import MaskedContexts, contexts_of_sentences, contexts_of_words

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


def similarities(
    lm: LanguageModel, corpus: Corpus, chimeras: Sequence[Chimera], contexts: int
) -> Iterator[tuple[str, list[np.ndarray]]]:
    """Each way of comparing words, and the similarity of each chimera and its probes.

    ``context similarity``: what the model expects in the places of both. ``expected embeddings``: the same, as
    embeddings. ``input embeddings``: the learner's for the chimera; for the known word the model's own or, if
    it is split, the learner's.

    :param contexts: at most this many of each known word, from the corpus.
    """
    probes = sorted({probe for one in chimeras for probe in one.probes})
    place = {probe: row for row, probe in enumerate(probes)}

    def compared(ours: torch.Tensor, theirs: torch.Tensor) -> list[np.ndarray]:
        ours, theirs = (torch.nn.functional.normalize(rows.float(), dim=1).cpu() for rows in (ours, theirs))
        columns = [[place[probe] for probe in one.probes] for one in chimeras]
        return [(theirs[own] @ ours[row]).numpy() for row, own in enumerate(columns)]

    learner = WordLearner.for_model(lm)
    pairs = [(NONCE, sentence) for one in chimeras for sentence in one.sentences]
    counts = np.array([len(one.sentences) for one in chimeras])
    unseen = contexts_of_sentences(lm.tokens, pairs)
    known = contexts_of_words(lm.tokens, corpus, probes, contexts=contexts)
    seen = states(lm, known)
    yield ("context similarity", compared(profiles(states(lm, unseen), counts, seen), profiles(seen, known.counts)))

    def expected(of: MaskedContexts, numbers: np.ndarray) -> torch.Tensor:
        return pool(read(lm, learner.known, of, "masked"), numbers, learner.known.mean)

    theirs = expected(known, known.counts)
    mean = theirs.mean(0)
    yield "expected embeddings", compared(expected(unseen, counts) - mean, theirs - mean)
    mean = learner.known.mean.cpu()
    made = learner.learn_words(probes, corpus, contexts=contexts).embeddings
    rows = [
        lm.embeddings[lm.whole_words[one]].cpu() if one in lm.whole_words else torch.tensor(made[one]) for one in probes
    ]
    mine = learner.learn_each([Evidence(NONCE, one.sentences) for one in chimeras])
    embeddings = torch.from_numpy(np.stack([one.embedding for one in mine if one is not None]))
    yield "input embeddings", compared(embeddings - mean, torch.stack(rows) - mean)


def correlations(chimeras: Sequence[Chimera], found: Sequence[np.ndarray]) -> np.ndarray:
    """Of ratings and similarities. *Shape:* (chimeras,)"""
    pairs = zip(chimeras, found, strict=True)
    return np.array([spearman(own, np.array(one.ratings)) for one, own in pairs])
