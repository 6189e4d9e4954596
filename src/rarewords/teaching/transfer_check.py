"""The held-out check of models without a masked-LM head.

The embedding comes from a reader model, the model that is taught is the target, and the target checks it on
held-out sentences of the word.

* A **causal LM** by the log-probability of the tokens that follow the word, in the placement that gains most.
* An **encoder** by where it puts the word alone: how much nearer to the words that the reader model expects
  in its place in the sentence than to random words, in cosines.

A word that you list is skipped only if its gain is below zero by two standard errors. A word that a search
found needs a gain of two standard errors, and on an encoder twice what its subwords already say on top: with
subwords that the encoder understands, an embedding only blurs the spelling that queries ask for.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from rarewords._internal.cache import key_of
from rarewords.corpus.corpus import Context
from rarewords.lm import LanguageModel
from rarewords.queries import InputRow, Query
from rarewords.teaching.check import SURELY_WORSE, Candidate, CheckResult, Mismatch, readable_around
from rarewords.teaching.questions import WordAnswers
from rarewords.tokens import Placement, with_slot

_FOUND = 2.0  # standard errors by which the gain of a word that a search found must exceed what is needed
_TOKENS_AROUND = 16  # on either side of the word
_TOKENS_PER_BATCH = 2048
_CHARACTERS_AROUND = 80  # of what the reader model sees on either side
_EXPECTED, _RANDOM = 2, 256  # words to which the word is compared
_ASKED = 20  # answers of the reader model among which they are looked for
_NEAREST, _COMPARED = 5, 4000  # words shown as nearest, among so many frequent ones
_CONTINUATION, _PROMPT = 6, "A <W> is a"  # tokens


@dataclass(frozen=True)
class CausalCheck:
    """The check of a causal LM."""

    target: LanguageModel
    placement: Placement
    listed: bool

    def run(self, candidates: Sequence[Candidate]) -> list[CheckResult | None]:
        """Compare the log-probability of what follows the word."""
        held_out = list(held_out_sentences(self.target, candidates, placement=self.placement))
        owners, scores = [one.owner for one in held_out], scores_of_what_follows(self.target, held_out)
        return _results(len(candidates), owners, scores, np.zeros(len(scores)), self.listed)

    def show(self, candidates: Sequence[Candidate]) -> list[WordAnswers]:
        """How the model continues ``A <word> is a``, before and after."""
        return [
            WordAnswers(_PROMPT, self._continue(one.word), self._continue(one.word, one.embedding))
            for one in candidates
        ]

    def mismatch(self, words: Sequence[str], embeddings: np.ndarray) -> list[Mismatch]:  # noqa: ARG002
        """A causal LM has no blanks to ask about."""
        return [Mismatch()] * len(words)

    @property
    def key(self) -> str:
        """A digest of everything the results depend on besides the candidates."""
        return key_of("causal", self.target.fingerprint, self.placement, self.listed)

    @torch.no_grad()
    def _continue(self, word: str, embedding: np.ndarray | None = None) -> tuple[str, ...]:
        before, _ = self.target.tokens.special_tokens
        left, subwords, right = next(_cut(self.target, [_prompt(word)]))
        ids, start = (*before, *left, *subwords, *right), len(before) + len(left)
        slot = -1
        if embedding is not None:
            mark = self.target.tokens.behind_a_word("/") if self.placement == "append" else None
            ids, slot = with_slot(ids, start, start + len(subwords), mark)
        inputs = self.target.embed(
            torch.tensor([ids], device=self.target.device),
            torch.tensor([slot], device=self.target.device),
            None if embedding is None else torch.from_numpy(embedding)[None].to(self.target.device),
        )
        added: list[int] = []
        for _ in range(_CONTINUATION):
            added.append(int(self.target.model(inputs_embeds=inputs).logits[0, -1].argmax()))
            following = self.target.embed(torch.tensor([[added[-1]]], device=self.target.device))
            inputs = torch.cat([inputs, following], dim=1)
        return (self.target.tokenizer.decode(added, skip_special_tokens=True).strip(),)


@dataclass(frozen=True)
class EncoderCheck:
    """The check of an encoder; ``reader_model`` says which words it expects in a sentence."""

    target: LanguageModel
    reader_model: LanguageModel
    listed: bool

    def run(self, candidates: Sequence[Candidate]) -> list[CheckResult | None]:
        """Compare how near the word alone is to the words that its sentences ask for."""
        owners, scores = _nearness(self.target, self.reader_model, candidates)
        return _results(len(candidates), owners, scores, 2 * scores[:, 0], self.listed)

    def show(self, candidates: Sequence[Candidate]) -> list[WordAnswers]:
        """The nearest frequent words by the encoder's own embeddings, before and after."""
        words, embedded = _frequent_words(self.target)
        rows = [_alone(self.target, one.word) for one in candidates]
        rows += [_alone(self.target, "", one.embedding) for one in candidates]
        nearest = (sentence_embeddings(self.target, rows) @ embedded.T).topk(_NEAREST).indices.tolist()
        found = [tuple(words[at] for at in row) for row in nearest]
        half = len(candidates)
        return [WordAnswers("", found[row], found[half + row]) for row in range(half)]

    def mismatch(self, words: Sequence[str], embeddings: np.ndarray) -> list[Mismatch]:  # noqa: ARG002
        """An encoder has no blanks to ask about."""
        return [Mismatch()] * len(words)

    @property
    def key(self) -> str:
        """A digest of everything the results depend on besides the candidates."""
        models = self.target.fingerprint, self.target.pooling, self.reader_model.fingerprint
        return key_of("encoder", *models, self.listed)


@lru_cache(maxsize=1)
def _frequent_words(target: LanguageModel) -> tuple[list[str], Tensor]:
    """The first long words of the vocabulary and their embeddings as texts. *Shape:* (words, hidden)"""
    words = [word for word in target.whole_words if len(word) > 3][:_COMPARED]
    return words, sentence_embeddings(target, [_alone(target, word) for word in words])


def _alone(target: LanguageModel, word: str, embedding: np.ndarray | None = None) -> InputRow:
    """A text that is a word and nothing else, or the embedding in its place."""
    if embedding is None:
        return InputRow(tuple(target.tokenizer(word)["input_ids"]))
    before, after = target.tokens.special_tokens
    return InputRow((*before, 0, *after), len(before), embedding)


def _prompt(word: str) -> Context:
    before, after = _PROMPT.split("<W>")
    return Context(f"{before}{word}{after}", len(before), len(before) + len(word))


@dataclass(frozen=True)
class HeldOut:
    """A held-out sentence of word number ``owner``.

    :param readings: with the subwords, with the embedding in their place, and with both if that is a choice.
    :param following: the number of tokens after the word, special tokens not counted.
    """

    owner: int
    readings: tuple[InputRow, ...]
    following: int


def sentence_embeddings(target: LanguageModel, readings: Sequence[InputRow]) -> Tensor:
    """Pooled last states of unit length. *Shape:* (readings, hidden)"""
    mode = target.pooling

    def pooled(_: list[int], inputs: Tensor) -> Tensor:
        states = target.last_hidden_state(inputs)
        one = {"cls": states[:, 0], "lasttoken": states[:, -1]}.get(mode, states.mean(dim=1))
        return torch.nn.functional.normalize(one.float(), dim=-1).cpu()

    result = torch.zeros(len(readings), target.hidden)
    for batch, found in target.in_batches(readings, pooled, _TOKENS_PER_BATCH):
        result[batch] = found
    return result


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


def _results(
    words: int, owners: Sequence[int], scores: np.ndarray, needed: np.ndarray, listed: bool
) -> list[CheckResult | None]:
    """The result of each word; None if fewer than two held-out sentences can be used.

    :param owners: the word's number for each sentence.
    :param scores: with subwords, with the embedding in their place, with both. *Shape:* (sentences, 2 or 3)
    :param needed: what a word that a search found must gain. *Shape:* (sentences,)
    """
    rows = np.array(owners, np.int64) == np.arange(words)[:, None]
    return [_result(scores[own], needed[own], listed) for own in rows]


def _result(scores: np.ndarray, needed: np.ndarray, listed: bool) -> CheckResult | None:
    if len(scores) < 2:
        return None
    way = 1 + int(scores[:, 1:].mean(axis=0).argmax())
    gains = scores[:, way] - scores[:, 0]
    error = float((gains if listed else gains - needed).std(ddof=1)) / len(scores) ** 0.5
    threshold = -SURELY_WORSE * error if listed else max(0.0, float(needed.mean())) + _FOUND * error
    subwords, embedding, error, threshold = (
        round(float(value), 6) for value in (scores[:, 0].mean(), scores[:, way].mean(), error, threshold)
    )
    placement: Placement = "replace" if way == 1 else "append"
    return CheckResult(len(scores), len(scores), subwords, embedding, error, threshold, placement=placement)


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


def _cut(
    target: LanguageModel, held_out: Sequence[Context]
) -> Iterator[tuple[list[int], list[int], list[int]]]:
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
    known = sorted(
        word for word in reader_model.whole_words.keys() & target.whole_words.keys() if len(word) > 2
    )
    drawn = random.Random(0).sample(known, min(_RANDOM, len(known)))
    others = list(dict.fromkeys([*drawn, *(word for _, _, words in usable for word in words)]))
    row_of = {word: row for row, word in enumerate(others)}

    subwords = [_alone(target, one.word) for one in candidates]
    embeddings = [_alone(target, "", embedding) for _, embedding, _ in usable]
    rows = [*(_alone(target, word) for word in others), *subwords, *embeddings]
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
