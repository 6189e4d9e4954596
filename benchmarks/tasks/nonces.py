"""Unseen words from their definitions: the nonces of Herbelot & Baroni (2017).

    python benchmarks/tasks/nonces.py FOLDER --corpus STORE [--model M --name NAME]

Each word is known from one definition of Wikipedia in which it is blanked. The figure is the rank of the
true word, as mean reciprocal rank and median: by *likeness* (rarewords.mimic.likeness), how like what the
model expects in the blank is to what it expects in place of each of the most frequent words of a store; by
*input vectors*, how near the learner's vector is to those of the model's whole words and the true words. A
definition that holds an inflected form or a part of its word gives it away (`leaks`) and is left out. So are
contexts of the true word in the store that repeat its definition. FOLDER holds
n2v.definitional.dataset.test.txt and the train part; nothing is chosen on either. A GPU computes with TF32.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from measure import interval, note, options

from rarewords import LanguageModel, Store
from rarewords.mimic.learner import WordLearner
from rarewords.mimic.likeness import profiles, states
from rarewords.mimic.masked import MaskedContexts, contexts_of_sentences, contexts_of_words
from rarewords.teaching.learners import open_learner

NONCE, PARTS = "wug", ("train", "test")
_REPEATED = 0.6  # of a definition's tokens in a context


@dataclass(frozen=True)
class Nonce:
    word: str
    sentence: str


def load(path: Path) -> list[Nonce]:
    """The words of a file with their definitions."""
    lines = [
        line.split("\t") for line in path.read_text("utf-8").split("\n") if line.strip() and line[0] != "#"
    ]
    return [
        Nonce(word.strip(), text.replace("___", f" {NONCE} ").strip())
        for word, text, *_ in lines
        if "___" in text
    ]


def leaks(one: Nonce) -> bool:
    """Whether a word of the definition has the stem of the true word, or one of them holds the other.

    The stem is shared if they begin with the same four letters or more, six in ten of the shorter one's.

    >>> leaks(Nonce("farming", "wug is what a farmer does")), leaks(Nonce("telewest", "wug sells television"))
    (True, False)
    """
    for word in set(one.sentence.lower().split()) - {NONCE}:
        short, long = sorted((word, one.word.lower()), key=len)
        shared = next((n for n, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short))
        if len(short) >= 4 and (short in long or shared >= max(4, 0.6 * len(short))):
            return True
        if short == long:
            return True
    return False


def without_repeats(
    contexts: MaskedContexts, place: dict[str, int], rows: list[tuple[str, np.ndarray]]
) -> MaskedContexts:
    """The contexts without those that repeat a definition of their own word."""
    first = np.concatenate([[0], np.cumsum(contexts.counts)])
    kept = np.ones(len(contexts.rows), bool)
    for word, definition in rows:
        tokens = set(definition.tolist())
        for at in range(first[place[word]], first[place[word] + 1]):
            kept[at] &= len(tokens & set(contexts.rows[at].tolist())) < _REPEATED * len(tokens)
    counts = np.bincount(contexts.owner[kept], minlength=len(contexts.counts))
    left = [row for row, keep in zip(contexts.rows, kept, strict=True) if keep]
    return replace(contexts, rows=left, blank=contexts.blank[kept], counts=counts)


def ranks(ours: torch.Tensor, theirs: torch.Tensor, true: list[int]) -> np.ndarray:
    """The rank of the true row by cosine; a row of zeros comes last. *Shape:* (words,)"""
    unit = [torch.nn.functional.normalize(rows.float(), dim=1) for rows in (ours, theirs)]
    cosines = unit[0] @ unit[1].T
    cosines[:, ~theirs.any(1)] = -2
    own = cosines.gather(1, torch.tensor(true, device=cosines.device)[:, None])
    return (1 + (cosines > own).sum(1)).cpu().numpy()


def main() -> None:
    parser = options(__doc__, "the folder of the nonces")
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument(
        "--vocabulary", type=int, default=259_376, help="words to choose among; by default as published"
    )
    parser.add_argument("--contexts", type=int, default=6, help="of each of them")
    asked = parser.parse_args()
    size, contexts = (500, 2) if asked.quick else (asked.vocabulary, asked.contexts)
    torch.set_float32_matmul_precision("high")
    lm, store = LanguageModel.from_pretrained(asked.model), Store.open(asked.corpus)
    groups = {part: load(asked.data / f"n2v.definitional.dataset.{part}.txt") for part in PARTS}
    if asked.quick:
        groups = {part: own[:40] for part, own in groups.items()}
    every = [one for own in groups.values() for one in own]
    frequent = store.counts()[0]
    with_contexts = set(frequent)
    has = {one.word: one.word in with_contexts for one in every}
    vocabulary = list(dict.fromkeys([one.word for one in every if has[one.word]] + frequent))
    vocabulary = vocabulary[: max(size, sum(has.values()))]
    place = {word: row for row, word in enumerate(vocabulary)}
    usable = [one for one in every if has[one.word] and not leaks(one)]
    unseen = contexts_of_sentences(lm.tokens, [(NONCE, one.sentence) for one in usable])
    known = contexts_of_words(lm.tokens, store, vocabulary, contexts=contexts)
    known = without_repeats(
        known, place, [(one.word, row) for one, row in zip(usable, unseen.rows, strict=True)]
    )
    seen = states(lm, known)
    true = [place[one.word] for one in usable]
    ones = np.ones(len(usable), np.int64)
    theirs = profiles(seen, known.counts)
    found = {"likeness": (len(vocabulary), ranks(profiles(states(lm, unseen), ones, seen), theirs, true))}
    learner, _ = open_learner(lm, None, store)
    assert isinstance(learner, WordLearner)
    mean, whole = learner.known.mean, lm.whole_words
    true_words = list(dict.fromkeys(one.word for one in usable if one.word not in whole))
    made = learner.infer_words(true_words, store, contexts=contexts).vectors
    row_of = {word: row for row, word in enumerate([*whole, *made.words])}
    rows = torch.cat([lm.embeddings[list(whole.values())].float(), torch.tensor(made.matrix).to(mean)]) - mean
    true = [row_of[one.word] for one in usable]
    mine = learner.infer_each([(NONCE, [one.sentence]) for one in usable])
    vectors = torch.tensor(np.stack([one.vector for one in mine if one is not None]), device=lm.device)
    found["input vectors"] = (len(rows), ranks(vectors - mean, rows, true))
    for way, (among, rank) in found.items():
        for part, own in groups.items():
            chosen = np.array([one in set(own) for one in usable])
            low, high = interval(1 / rank[chosen])
            note(
                asked.out,
                task="nonce definitions",
                model=asked.name,
                way=way,
                part=part,
                given=len(own),
                leaking=sum(leaks(one) for one in own),
                not_in_text=sum(not has[one.word] for one in own if not leaks(one)),
                items=int(chosen.sum()),
                vocabulary=among,
                mrr=float((1 / rank[chosen]).mean()),
                low=low,
                high=high,
                median_rank=float(np.median(rank[chosen])),
            )


if __name__ == "__main__":
    main()
