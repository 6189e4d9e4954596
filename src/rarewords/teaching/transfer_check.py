"""The held-out check of models without a masked-LM head.

The embedding comes from a reader model, the model that is taught is the target, and the target checks it on
held-out sentences of the word.

* A **causal LM** by the log-probability of the tokens that follow the word, in the placement that gains most.
* An **encoder** by where it puts the word alone: how much nearer to the words that the reader model expects
  in its place in the sentence than to random words, in cosines.

A word is skipped only if its gain is below zero for sure: by two standard errors, or with few sentences by as
many as Student's t asks for, so that more sentences seldom change the verdict. Nothing tells beforehand whether a
causal LM understands a word that a search found, so such a word needs a gain of two standard errors.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from rarewords._internal.cache import key_of
from rarewords.corpus.corpus import Context
from rarewords.lm import LanguageModel
from rarewords.queries import InputRow, Query
from rarewords.teaching.ask import continuation, nearest_words, sentence_embeddings, text_row
from rarewords.teaching.check import SURELY_WORSE, Candidate, CheckResult, Mismatch, readable_around
from rarewords.teaching.questions import WordAnswers
from rarewords.tokens import Placement, with_slot

_FEW = (12.7, 4.3, 3.2, 2.8, 2.6, 2.4)  # Student's t at 97.5 % for 2, 3, ... sentences instead of two errors
_TOKENS_AROUND = 16  # on either side of the word
_TOKENS_PER_BATCH = 2048
_CHARACTERS_AROUND = 80  # of what the reader model sees on either side
_EXPECTED, _RANDOM = 2, 256  # words to which the word is compared
_ASKED = 20  # answers of the reader model among which they are looked for
_NEAREST, _PROMPT = 5, "A <W> is a"


@dataclass(frozen=True)
class CausalCheck:
    """The check of a causal LM.

    :param found: a search found the words, so that they must do better for sure.
    """

    target: LanguageModel
    placement: Placement
    found: bool

    def run(self, candidates: Sequence[Candidate]) -> list[CheckResult | None]:
        """Compare the log-probability of what follows the word."""
        held_out = list(held_out_sentences(self.target, candidates, placement=self.placement))
        owners, scores = [one.owner for one in held_out], scores_of_what_follows(self.target, held_out)
        return _results(len(candidates), owners, scores, found=self.found)

    def show(self, candidates: Sequence[Candidate]) -> list[WordAnswers]:
        """How the model continues ``A <word> is a``, before and after."""
        answers = [
            tuple(
                (continuation(self.target, self._prompt(one.word, embedding)),) for embedding in (None, one.embedding)
            )
            for one in candidates
        ]
        return [WordAnswers(_PROMPT, before, after) for before, after in answers]

    def mismatch(self, words: Sequence[str], embeddings: np.ndarray) -> list[Mismatch]:  # noqa: ARG002
        """A causal LM has no blanks to ask about."""
        return [Mismatch()] * len(words)

    @property
    def key(self) -> str:
        """A digest of everything the results depend on besides the candidates."""
        return key_of("causal", self.target.fingerprint, self.placement, self.found)

    def _prompt(self, word: str, embedding: np.ndarray | None) -> InputRow:
        """The beginning of a sentence about a word, by its subwords or with its embedding."""
        left, right = _PROMPT.split("<W>")
        span = Context(f"{left}{word}{right}", len(left), len(left) + len(word))
        before, _ = self.target.tokens.special_tokens
        (before_word, subwords, after_word) = next(_cut(self.target, [span]))
        ids, start = (*before, *before_word, *subwords, *after_word), len(before) + len(before_word)
        if embedding is None:
            return InputRow(ids)
        mark = self.target.tokens.behind_a_word("/") if self.placement == "append" else None
        return InputRow(*with_slot(ids, start, start + len(subwords), mark), embedding)


@dataclass(frozen=True)
class EncoderCheck:
    """The check of an encoder; ``reader_model`` says which words it expects in a sentence."""

    target: LanguageModel
    reader_model: LanguageModel
    placement: Placement

    def run(self, candidates: Sequence[Candidate]) -> list[CheckResult | None]:
        """Compare how near the word alone is to the words that its sentences ask for, whatever the placement."""
        owners, scores = _nearness(self.target, self.reader_model, candidates)
        results = _results(len(candidates), owners, scores)
        return [one and replace(one, placement=self.placement) for one in results]

    def show(self, candidates: Sequence[Candidate]) -> list[WordAnswers]:
        """The nearest frequent words by the encoder's own embeddings, before and after."""
        rows = [text_row(self.target, one.word) for one in candidates]
        rows += [self._as_read(one.word, one.embedding) for one in candidates]
        found = [tuple(word for word, _ in own) for own in nearest_words(self.target, rows, _NEAREST)]
        half = len(candidates)
        return [WordAnswers("nearest words", found[row], found[half + row]) for row in range(half)]

    def mismatch(self, words: Sequence[str], embeddings: np.ndarray) -> list[Mismatch]:  # noqa: ARG002
        """An encoder has no blanks to ask about."""
        return [Mismatch()] * len(words)

    def _as_read(self, word: str, embedding: np.ndarray) -> InputRow:
        """The word as a text of its own, as the model will read it with its embedding."""
        if self.placement == "replace":
            return _alone(self.target, embedding)
        before, after = self.target.tokens.special_tokens
        ids, slash = text_row(self.target, word).ids, self.target.tokens.behind_a_word("/")
        return InputRow(*with_slot(ids, len(before), len(ids) - len(after), slash), embedding)

    @property
    def key(self) -> str:
        """A digest of everything the results depend on besides the candidates."""
        models = self.target.fingerprint, self.target.pooling, self.reader_model.fingerprint
        return key_of("encoder", *models, self.placement)


def _alone(target: LanguageModel, embedding: np.ndarray) -> InputRow:
    """A text that is an embedding and nothing else."""
    before, after = target.tokens.special_tokens
    return InputRow((*before, 0, *after), len(before), embedding)


@dataclass(frozen=True)
class HeldOut:
    """A held-out sentence of word number ``owner``.

    :param readings: with the subwords, with the embedding in their place, and with both if that is a choice.
    :param following: the number of tokens after the word, special tokens not counted.
    """

    owner: int
    readings: tuple[InputRow, ...]
    following: int


def scores_of_what_follows(target: LanguageModel, held_out: Sequence[HeldOut]) -> np.ndarray:
    """The mean log-probability of the tokens after the word. *Shape:* (sentences, readings)"""
    readings = [reading for one in held_out for reading in one.readings]
    following = [one.following for one in held_out for _ in one.readings]

    def scored(batch: list[int], inputs: Tensor) -> list[float]:
        scores = []
        for row, own in zip(batch, target.model(inputs_embeds=inputs).logits, strict=True):
            true = torch.tensor(readings[row].ids[-following[row] :], device=own.device)
            found = own[-following[row] - 1 : -1].float().log_softmax(dim=-1).gather(1, true[:, None])
            scores.append(float(found.mean()))
        return scores

    result = np.zeros(len(readings))
    for batch, scores in target.in_batches(readings, scored, _TOKENS_PER_BATCH):
        result[batch] = scores
    return result.reshape(len(held_out), -1) if held_out else np.zeros((0, 2))


def _results(words: int, owners: Sequence[int], scores: np.ndarray, *, found: bool = False) -> list[CheckResult | None]:
    """The result of each word; None if fewer than two held-out sentences can be used.

    :param owners: the word's number for each sentence.
    :param scores: with subwords, with the embedding in their place, with both. *Shape:* (sentences, 2 or 3)
    """
    rows = np.array(owners, np.int64) == np.arange(words)[:, None]
    return [_result(scores[own], found) for own in rows]


def _result(scores: np.ndarray, found: bool) -> CheckResult | None:
    if len(scores) < 2:
        return None
    way = 1 + int(scores[:, 1:].mean(axis=0).argmax())
    gains = scores[:, way] - scores[:, 0]
    error = float(gains.std(ddof=1)) / len(scores) ** 0.5
    sure = _FEW[len(scores) - 2] if len(scores) - 2 < len(_FEW) else SURELY_WORSE
    threshold = SURELY_WORSE * error if found else -sure * error
    before, after = float(scores[:, 0].mean()), float(scores[:, way].mean())
    return CheckResult(
        contexts=len(scores),
        neighbours=len(scores),
        subwords=round(before, 6),
        embedding=round(after, 6),
        error=round(error, 6),
        threshold=round(threshold, 6),
        placement="replace" if way == 1 else "append",
    )


def held_out_sentences(
    target: LanguageModel, candidates: Sequence[Candidate], *, placement: Placement
) -> Iterator[HeldOut]:
    """The held-out sentences that go on behind the word; ``append``: also as ``word / <embedding>``."""
    marks = (None, target.tokens.behind_a_word("/")) if placement == "append" else (None,)
    before, _ = target.tokens.special_tokens  # nothing is predicted behind the end of a text
    for owner, one in enumerate(candidates):
        for fold, embedding in zip(one.holdout.folds, one.fold_embeddings, strict=True):
            for left, subwords, right in _cut(target, fold.held_out):
                ids = (*before, *left, *subwords, *right)
                start = len(before) + len(left)
                ways = (with_slot(ids, start, start + len(subwords), mark) for mark in marks)
                taught = (InputRow(*way, embedding) for way in ways)
                if right:
                    yield HeldOut(owner, (InputRow(ids), *taught), len(right))


def _cut(target: LanguageModel, held_out: Sequence[Context]) -> Iterator[tuple[list[int], list[int], list[int]]]:
    """The tokens before, of and after the word in each sentence, cut to those around it."""
    if not held_out:
        return
    texts = [sentence for sentence, _, _ in held_out]
    encoded = target.tokenizer(texts, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
    for ids, offsets, span in zip(encoded["input_ids"], encoded["offset_mapping"], held_out, strict=True):
        sentence, start, end = span
        spaced = sentence[:start].endswith(" ")  # the space belongs to the word's first token
        first = start - 1 if spaced else start
        inside = [at for at, (a, b) in enumerate(offsets) if b > max(a, first) and a < end]
        a, b = inside[0], inside[-1] + 1
        yield ids[max(0, a - _TOKENS_AROUND) : a], ids[a:b], ids[b : b + _TOKENS_AROUND]


def _nearness(
    target: LanguageModel, reader_model: LanguageModel, candidates: Sequence[Candidate]
) -> tuple[list[int], np.ndarray]:
    """How much nearer a word is to what the reader model expects in its sentences than to random words, in
    cosines.

    Each word is embedded alone, so that neither the rest of a sentence nor a disturbed sentence counts.

    :return: the word's number for each held-out sentence that could be used; and the nearness of the subwords
        and of the embedding, *shape* (sentences, 2)
    """
    folds = [
        (owner, embedding, held)
        for owner, one in enumerate(candidates)
        for fold, embedding in zip(one.holdout.folds, one.fold_embeddings, strict=True)
        for held in fold.held_out
        if reader_model.tokens.mask_token not in held[0]
    ]
    expected = _expected_words(reader_model, [held for _, _, held in folds])
    usable = [(*one[:2], words) for one, words in zip(folds, expected, strict=True) if words]
    if not usable:
        return [], np.zeros((0, 2))
    known = sorted(word for word in reader_model.whole_words.keys() & target.whole_words.keys() if len(word) > 2)
    drawn = random.Random(0).sample(known, min(_RANDOM, len(known)))
    others = list(dict.fromkeys([*drawn, *(word for _, _, words in usable for word in words)]))
    row_of = {word: row for row, word in enumerate(others)}

    subwords = [text_row(target, one.word) for one in candidates]
    embeddings = [_alone(target, embedding) for _, embedding, _ in usable]
    rows = [*(text_row(target, word) for word in others), *subwords, *embeddings]
    embedded = sentence_embeddings(target, rows).double()
    words, owns, taught = embedded.split([len(others), len(subwords), len(embeddings)])
    owners = [owner for owner, _, _ in usable]
    near = torch.stack([words[[row_of[word] for word in expected]].mean(0) for _, _, expected in usable])
    far = words[: len(drawn)].mean(0)
    ways = torch.stack([owns[owners], taught], dim=1)  # (sentences, 2, hidden)
    return owners, ((ways * (near - far)[:, None]).sum(-1)).numpy()


def _expected_words(reader_model: LanguageModel, held_out: Sequence[Context]) -> list[list[str]]:
    """The words that the reader model expects most in the place of each word; none if it expects too few."""
    cut = [readable_around(reader_model, span, _CHARACTERS_AROUND) for span in held_out]
    answers = reader_model.fill([Query(f"{before}_{after}") for before, _, after in cut], top_k=_ASKED)
    result = []
    for row, (_, own, _) in enumerate(cut):
        words = [word for word in answers.words(row) if word in reader_model.whole_words]
        others = [word for word in words if word.lower() != own.lower()]
        result.append(others[:_EXPECTED] if len(others) >= _EXPECTED else [])
    return result
