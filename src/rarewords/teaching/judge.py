"""Does the model understand a word better with its vector than with its pieces?

In held-out contexts of the word, content words near it are masked one at a time, and the log-probability of
the true one is compared: once with the word's pieces, once with its vector. A logistic rule over four signs
makes a probability of that and of what the model answers. Its numbers are fitted by ``benchmarks/judge.py``
on words whose true change is known: the change of WNLaMPro's reciprocal rank when the word is read as its
pieces and its vector. Of the words that change at all, that share of those with probability p changes for
the better. For words that WNLaMPro covers, the ranks of its targets are compared as well.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rarewords.corpus.store import Context
from rarewords.english import FUNCTION_WORDS
from rarewords.errors import InputError
from rarewords.lm import LanguageModel, Query
from rarewords.probe.dataset import RELATIONS, Dataset
from rarewords.probe.evaluate import EvalSettings, evaluate
from rarewords.teaching.splits import NEIGHBOURS, Split, around
from rarewords.tokens import WORD_SLOT
from rarewords.vectors import WordVectors

# Letters that are a word by themselves, not part of a hyphenation, a contraction or a number.
_NEIGHBOUR = re.compile(r"(?<![\w'’-])[^\W\d_]{3,}(?![\w'’-])")
# Text further away says little about the word and costs time.
_CHARACTERS_AROUND = 160
# Below, a word is left alone; above the second, its verdict is "better".
WORSE, BETTER = 0.7, 0.85
_MOST_ERRORS = 4.0


@dataclass(frozen=True)
class Signs:
    """What is seen of a word before it is taught.

    :param errors: its held-out gain in standard errors.
    :param approach: how much nearer the answers about it come to its vector, as a cosine.
    :param sureness: the mean log-probability of the first answers about its pieces.
    :param context_share: how much of the vector comes from contexts; the more a word resembles a known one,
        the less.
    """

    errors: float
    approach: float
    sureness: float
    context_share: float

    @property
    def probability(self) -> float:
        """The probability that the vector helps."""
        errors = max(-_MOST_ERRORS, min(_MOST_ERRORS, self.errors))
        total = 0.222 * errors + 4.517 * self.approach - 0.184 * self.sureness + 3.761 * self.context_share
        return 1 / (1 + math.exp(3.327 - total))


@dataclass(frozen=True)
class Judgement:
    """Mean log-probability of the true neighbours of a word, with its pieces and with its vector.

    On a model without a masked-LM head it is the measure of :mod:`.target` instead.

    :param contexts: held-out contexts that had a neighbour to mask; ``neighbours``: all neighbours masked.
    :param error: the standard error of the gain.
    :param least: the gain below which the word is worse, if the rule cannot tell.
    :param signs: what the rule judges by; None for uses of a word that it was not fitted for.
    :param replace: the vector does best in the place of the pieces, also where both are a choice.
    """

    contexts: int
    neighbours: int
    pieces: float
    vector: float
    error: float
    least: float = 0.0
    signs: Signs | None = None
    replace: bool = False

    @property
    def probability(self) -> float | None:
        """The probability that the vector helps."""
        return None if self.signs is None else round(self.signs.probability, 4)

    @property
    def gain(self) -> float:
        """How much better (above 0) or worse the vector is, in nats per neighbour."""
        return self.vector - self.pieces

    @property
    def verdict(self) -> str:
        """``better``, ``unclear`` or ``worse``; a word that is worse is left alone.

        The rule was fitted on vectors that mean roughly what they should, so it may not overrule held-out
        contexts that speak against a vector by more than a standard error.
        """
        if self.probability is not None:
            bearable = self.gain >= -self.error
            sure, doubtful = (bearable and self.probability >= least for least in (BETTER, WORSE))
        else:
            sure, doubtful = self.gain >= self.least + self.error, self.gain >= self.least
        return "better" if sure else "unclear" if doubtful else "worse"

    @property
    def reason(self) -> str:
        """The figures behind the verdict."""
        gain = f"held-out gain {self.gain:+.2f} ± {self.error:.2f}"
        return gain if self.signs is None else f"helps with p = {self.probability:.2f}, {gain}"


@dataclass(frozen=True)
class Made:
    """What a learner made of one word.

    :param vector: the vector to teach. *Shape:* (dim,)
    :param fold_vectors: the vector that each fold of the split judges. *Shape:* (folds, dim)
    :param context_share: how much of ``vector`` comes from contexts.
    :param contexts: the number of contexts read for ``vector``.
    """

    split: Split
    vector: np.ndarray
    fold_vectors: np.ndarray
    context_share: float
    contexts: int


def mask_neighbours(lm: LanguageModel, span: Context) -> list[tuple[str, int]]:
    """The three content words nearest to the word that the model has as one piece, each masked once.

    :return: a pattern with ``<W>`` for the word and ``_`` for its neighbour, and the neighbour's token.
    """
    if lm.tokens.mask_token in span[0]:
        return []
    before, word, after = around(span, _CHARACTERS_AROUND)
    text, start, end = before + word + after, len(before), len(before + word)
    found = []
    for match in _NEIGHBOUR.finditer(text):
        name = match.group().lower() if lm.lower_case else match.group()
        token = lm.whole_words.get(name)
        if token is None or name.lower() in FUNCTION_WORDS or name.lower() == word.lower():
            continue
        a, b = match.span()
        if b <= start:
            found.append((start - b, a, f"{text[:a]}_{text[b:start]}{WORD_SLOT}{after}", token))
        elif a >= end:
            found.append((a - end, a, f"{before}{WORD_SLOT}{text[end:a]}_{text[b:]}", token))
    return [(pattern, token) for _, _, pattern, token in sorted(found)[:NEIGHBOURS]]


def judge(lm: LanguageModel, made: Sequence[Made], *, slash: bool) -> list[Judgement | None]:
    """Judge the vectors of each word; None if there is no neighbour to mask in its held-out contexts.

    :param slash: judge ``word / <vector>``, as the model will be used.
    """
    before, after, tokens, owners = [], [], [], []
    contexts = np.zeros(len(made), np.int64)
    for number, one in enumerate(made):
        for fold, vector in zip(one.split.folds, one.fold_vectors, strict=True):
            for span in fold.held_out:
                found = mask_neighbours(lm, span)
                contexts[number] += bool(found)
                owners += [number] * len(found)
                tokens += [token for _, token in found]
                before += [Query(pattern, one.split.word) for pattern, _ in found]
                after += [Query(pattern, one.split.word, vector, slash) for pattern, _ in found]
    # All at once: queries of the same length are computed together.
    pieces, vectors = lm.log_likelihood([*before, *after], [*tokens, *tokens]).reshape(2, -1)
    judged: list[Judgement | None] = [None] * len(made)
    owner = np.array(owners)
    for number in sorted(set(owners)):
        own = owner == number
        changes = vectors[own] - pieces[own]
        # One more neighbour, a nat off the mean, keeps the error of a few that agree from being zero.
        error = float(np.sqrt((changes.var() * len(changes) + 1) / len(changes) ** 2))
        old, new = (round(float(scores[own].mean()), 6) for scores in (pieces, vectors))
        judged[number] = Judgement(int(contexts[number]), len(changes), old, new, round(error, 6))
    return judged


@dataclass(frozen=True)
class RelationScore:
    """WNLaMPro's mean reciprocal rank of one relation (or ``all``) with pieces and with vectors."""

    relation: str
    words: int
    entries: int
    before: float
    after: float


@dataclass(frozen=True)
class Probed:
    """What WNLaMPro says about words; ``unmeasured`` tells why it says nothing."""

    scores: tuple[RelationScore, ...] = ()
    unmeasured: str = ""


def probe_words(lm: LanguageModel, vectors: WordVectors, *, slash: bool) -> Probed:
    """Probe the words that WNLaMPro covers, with their pieces and with their vectors."""
    if lm.kind != "masked":
        return Probed(unmeasured="it asks masked LMs")
    dataset = Dataset.load()
    own = tuple(entry for entry in dataset if entry.word.text in vectors)
    if not own:
        return Probed(unmeasured="the dataset has none of the words")
    chosen = Dataset(own, dataset.name)
    try:
        before = evaluate(lm, chosen, EvalSettings(method="pieces"))
        after = evaluate(lm, chosen, EvalSettings(method="vectors", slash=slash), vectors=vectors)
    except InputError as error:
        return Probed(unmeasured=str(error))
    scores = []
    for relation in (*RELATIONS, "all"):
        rows = before.chosen(relation)
        if rows.any():
            words = len({before.word[row] for row in rows.nonzero()[0].tolist()})
            old, new = (round(float(result.reciprocal[rows].mean()), 4) for result in (before, after))
            scores.append(RelationScore(relation, words, int(rows.sum()), old, new))
    return Probed(tuple(scores))
