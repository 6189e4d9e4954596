"""The held-out check: does the model understand a word better with its embedding (docs/concepts/check.md)?

A word is skipped only if its gain is below zero by two standard errors: a smaller gain says little about what the
word is worth elsewhere (``experiments/check``).
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import torch
from torch import Tensor

from rarewords._internal.cache import key_of
from rarewords.corpus.corpus import Context
from rarewords.learner.english import FUNCTION_WORDS
from rarewords.learner.known_words import KnownWords
from rarewords.lm import LanguageModel
from rarewords.queries import InputRow, Query
from rarewords.teaching.ask import WordAnswers, ask_about, show_words
from rarewords.teaching.holdout import HoldOut
from rarewords.tokens import WORD_SLOT, Placement

# Letters that are a word by themselves, not part of a hyphenation, a contraction or a number.
_NEIGHBOUR = re.compile(r"(?<![\w'’-])[^\W\d_]{3,}(?![\w'’-])")
# Text further away says little about the word and costs time.
_CHARACTERS_AROUND = 60
NEIGHBOURS = 3  # of the word, masked in each held-out context
_ROOM = 16  # tokens for what is put into a text: special tokens, the mask, a slash and an embedding
_TOKENS_ON_CPU, _TOKENS_ON_GPU = 2048, 65536  # per batch
SURELY_WORSE = 2.0  # standard errors below zero


@dataclass(frozen=True)
class CheckResult:
    """The mean score of a word with its ``subwords`` and with its ``embedding``, and what follows from it.

    :param contexts: held-out contexts that could be used; ``neighbours``: scores taken in them.
    :param error: the standard error of the gain.
    :param threshold: the gain below which the word is skipped.
    """

    contexts: int
    neighbours: int
    subwords: float
    embedding: float
    error: float
    threshold: float

    @classmethod
    def of(cls, contexts: int, subwords: np.ndarray, embedding: np.ndarray, error: float, threshold: float) -> Self:
        """The result from the scores of all neighbours. *Shapes:* (neighbours,)"""
        old, new = (round(float(scores.mean()), 6) for scores in (subwords, embedding))
        return cls(contexts, len(subwords), old, new, round(error, 6), round(threshold, 6))

    @property
    def gain(self) -> float:
        """How much better (above 0) or worse the embedding is."""
        return self.embedding - self.subwords

    @property
    def verdict(self) -> str:
        """``better`` if the gain is at least one standard error above what is needed, ``worse`` below it."""
        if self.gain < self.threshold:
            return "worse"
        return "better" if self.gain >= max(0.0, self.threshold) + self.error else "unclear"

    @property
    def reason(self) -> str:
        """The verdict's rule with its numbers: ``gain -0.30 ± 0.10, below the limit of -0.20``."""
        side = "below" if self.gain < self.threshold else "above"
        return f"gain {self.gain:+.2f} ± {self.error:.2f}, {side} the limit of {self.threshold:+.2f}"


@dataclass(frozen=True)
class Candidate:
    """A word and the embeddings that a learner made for it.

    :param embedding: the embedding to teach. *Shape:* (dim,)
    :param fold_embeddings: the embedding that each fold checks. *Shape:* (folds, dim)
    :param context_share: how much of ``embedding`` comes from its ``contexts``.
    """

    holdout: HoldOut
    embedding: np.ndarray
    fold_embeddings: np.ndarray
    context_share: float
    contexts: int

    @property
    def word(self) -> str:
        """The word."""
        return self.holdout.word


@dataclass(frozen=True)
class Mismatch:
    """What a model makes of a word now, compared with an embedding of it.

    :param mismatch: how far its answers are from the embedding, from 0 to 1; None if it cannot be asked.
    :param drop: how much lower the mismatch is once the embedding is added, as a cosine.
    :param answers: its first answers.
    """

    mismatch: float | None = None
    drop: float | None = None
    answers: tuple[str, ...] = ()


class Check(ABC):
    """Does a model do better with this embedding? One subclass per kind of model."""

    lm: LanguageModel

    @abstractmethod
    def run(self, candidates: Sequence[Candidate]) -> list[CheckResult | None]:
        """The result for each word; None if nothing could be held out."""

    @abstractmethod
    def show(self, candidates: Sequence[Candidate]) -> list[WordAnswers]:
        """What the model says about each word, before and after."""

    @property
    def key(self) -> str:
        """A digest of everything the results depend on besides the candidates."""
        models = {name: one.fingerprint for name, one in vars(self).items() if isinstance(one, LanguageModel)}
        return key_of(type(self).__name__, self.lm.pooling, vars(self) | models)

    def mismatch(self, words: Sequence[str], embeddings: np.ndarray) -> list[Mismatch]:  # noqa: ARG002
        """How far the model's answers are from each embedding; unknown without blanks. *Shape:* (words, dim)"""
        return [Mismatch()] * len(words)


@dataclass(frozen=True)
class MaskedCheck(Check):
    """The check of a masked LM.

    :param question: asked about every word, instead of one that suits how the text uses it.
    """

    lm: LanguageModel
    placement: Placement
    question: str | None = None

    def run(self, candidates: Sequence[Candidate]) -> list[CheckResult | None]:
        """Compare the log-probability of true neighbours; None if there is no neighbour to mask."""
        before, after, owners = [], [], []
        for owner, embedding, span in held_out_contexts(candidates):
            if neighbours := mask_neighbours(self.lm, span):
                word = candidates[owner].word
                owners.append(owner)
                before.append([(Query(pattern, word), token) for pattern, token in neighbours])
                taught = word, embedding, self.placement
                after.append([(Query(pattern, *taught), token) for pattern, token in neighbours])
        # All at once: rows of the same length are computed together.
        scores = _score_neighbours(self.lm, [*before, *after]).reshape(2, -1, NEIGHBOURS)
        return [_result(*scores[:, np.array(owners) == number]) for number in range(len(candidates))]

    def show(self, candidates: Sequence[Candidate]) -> list[WordAnswers]:
        """The first answers to a question about each word."""
        if not candidates:
            return []
        return show_words(
            self.lm,
            [one.word for one in candidates],
            np.stack([one.embedding for one in candidates]),
            [one.holdout.sentences for one in candidates],
            placement=self.placement,
            question=self.question,
        )

    def mismatch(self, words: Sequence[str], embeddings: np.ndarray) -> list[Mismatch]:
        """How far the answers to a few plain questions are from each embedding."""
        asked = self.lm, KnownWords.of(self.lm), words, embeddings
        (answers, old), (_, new) = ask_about(*asked), ask_about(*asked, placement=self.placement)
        return [
            Mismatch(round(1 - max(0.0, agreement), 2), round(drop, 4), shown[:3])
            for agreement, drop, shown in zip(old.tolist(), (new - old).tolist(), answers, strict=True)
        ]


def held_out_contexts(candidates: Sequence[Candidate]) -> Iterator[tuple[int, np.ndarray, Context]]:
    """Each held-out context with the number of its word and the embedding that it checks."""
    for number, one in enumerate(candidates):
        for fold, embedding in zip(one.holdout.folds, one.fold_embeddings, strict=True):
            for span in fold.held_out:
                yield number, embedding, span


def mask_neighbours(lm: LanguageModel, span: Context) -> list[tuple[str, int]]:
    """The content words nearest to the word that the model has as one subword, each masked once.

    :return: a pattern with ``<W>`` for the word and ``_`` for its neighbour, and the neighbour's token.
    """
    if lm.tokens.mask_token in span[0]:
        return []
    before, word, after = around(lm, span, _CHARACTERS_AROUND)
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


def around(lm: LanguageModel, span: Context, most: int) -> tuple[str, str, str]:
    """The text before the word, the word, and the text behind it.

    :param most: characters on either side, or fewer if the model could not read them all.
    """
    sentence, start, end = span
    # An underscore or a slot in the text itself must not be taken for those of a pattern.
    text, room = sentence.replace("_", " ").replace(WORD_SLOT, " " * len(WORD_SLOT)), lm.max_length - _ROOM
    while True:
        first, last = max(0, start - most), end + most
        seen = text[first:last]
        # No token has less than a byte, so that a short text need not be tokenized.
        if not most or len(seen.encode()) <= room or len(lm.tokenizer(seen)["input_ids"]) <= room:
            return text[first:start], text[start:end], text[end:last]
        most //= 2


def _result(subwords: np.ndarray, embedding: np.ndarray) -> CheckResult | None:
    """The result of one word from the scores of its neighbours, NaN for none. *Shapes:* (contexts, neighbours)"""
    used = ~np.isnan(subwords)
    old, new = subwords[used], embedding[used]
    if not len(old):
        return None
    # One more neighbour, a nat off the mean, keeps the error of a few that agree from being zero.
    error = round(float(np.sqrt(((new - old).var() * len(old) + 1) / len(old) ** 2)), 6)
    return CheckResult.of(int(used.any(axis=1).sum()), old, new, error, -SURELY_WORSE * error)


def _score_neighbours(lm: LanguageModel, contexts: Sequence[Sequence[tuple[Query, int]]]) -> np.ndarray:
    """The log-probability of each true neighbour, all of a context masked in one row; NaN for none.

    :param contexts: for each neighbour of a context a query with it as the blank, and its token.
    :return: *Shape:* (contexts, neighbours)
    """
    mask = lm.tokenizer.mask_token_id
    made = iter(lm.input_rows([query for neighbours in contexts for query, _ in neighbours]))
    rows: list[InputRow] = []
    places, wanted = np.zeros((2, len(contexts), NEIGHBOURS), np.int64)
    used = np.zeros((len(contexts), NEIGHBOURS), bool)
    for row, neighbours in enumerate(contexts):
        alone = [next(made) for _ in neighbours]
        ids = np.array(alone[0].ids)
        for at, (one, (_, token)) in enumerate(zip(alone, neighbours, strict=True)):
            blank = list(one.ids).index(mask)
            # Behind a bracket a neighbour may be other tokens than in running text; it is left as it is.
            if at == 0 or (blank < len(ids) and ids[blank] == token):
                ids[blank] = mask
                places[row, at], wanted[row, at], used[row, at] = blank, token, True
        rows.append(replace(alone[0], ids=ids))

    def scored(batch: list[int], inputs: Tensor) -> Tensor:
        at, true = (torch.from_numpy(one[batch]).to(lm.device) for one in (places, wanted))
        return lm.logits_at(inputs, at, quick=True).float().log_softmax(-1).gather(2, true[..., None])[..., 0]

    found = np.full(used.shape, np.nan, np.float32)
    budget = _TOKENS_ON_CPU if lm.device.type == "cpu" else _TOKENS_ON_GPU
    for batch, scores in lm.in_batches(rows, scored, budget):
        found[batch] = scores.cpu().numpy()
    return np.where(used, found, np.nan)
