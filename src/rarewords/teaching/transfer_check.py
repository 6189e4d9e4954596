"""The held-out check of models without a masked-LM head: causal LMs and encoders (docs/concepts/check.md).

A word is skipped only if its gain is below zero for sure: by two standard errors, or with few sentences by as
many as Student's t asks for, so that more sentences seldom change the verdict. Nothing tells beforehand whether a
causal LM understands a word that a search found, so such a word needs a gain of two standard errors.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from rarewords.corpus.corpus import Context
from rarewords.lm import LanguageModel
from rarewords.queries import InputRow, Query
from rarewords.teaching.ask import WordAnswers, continuation, nearest_words, sentence_embeddings, text_row
from rarewords.teaching.check import SURELY_WORSE, Candidate, Check, CheckResult, around, held_out_contexts
from rarewords.tokens import Placement, with_slot

_FEW = (12.7, 4.3, 3.2, 2.8, 2.6, 2.4)  # Student's t at 97.5 % for 2, 3, ... sentences instead of two errors
# Few sentences may agree by chance. As one more that differs by so much, in cosines or nats, this keeps the limit
# below which a listed word is skipped away from zero.
_DOUBT = {"encoder": 0.1, "causal": 1.0}
_TOKENS_AROUND = 16  # on either side of the word
_TOKENS_PER_BATCH = 2048
_CHARACTERS_AROUND = 80  # of what the reader model sees on either side
_EXPECTED, _RANDOM = 2, 256  # words to which the word is compared
_ASKED = 20  # answers of the reader model among which they are looked for
_NEAREST, _PROMPT = 5, "A <W> is a"


@dataclass(frozen=True)
class CausalCheck(Check):
    """The check of a causal LM.

    :param found: a search found the words, so that they must do better for sure.
    """

    lm: LanguageModel
    placement: Placement
    found: bool

    def run(self, candidates: Sequence[Candidate]) -> list[CheckResult | None]:
        """Compare the log-probability of what follows the word."""
        held_out = list(held_out_sentences(self.lm, candidates, placement=self.placement))
        owners, scores = np.array([one.owner for one in held_out]), scores_of_what_follows(self.lm, held_out)
        return [_result(scores[owners == word], _DOUBT["causal"], self.found) for word in range(len(candidates))]

    def show(self, candidates: Sequence[Candidate]) -> list[WordAnswers]:
        """How the model continues ``A <word> is a``, before and after."""
        shown, start = [], _PROMPT.index("<W>")
        for one in candidates:
            span = Context(_PROMPT.replace("<W>", one.word), start, start + len(one.word))
            prompts = _held_out(self.lm, 0, span, one.embedding, self.placement).readings
            before, after = (continuation(self.lm, prompt) for prompt in prompts)
            shown.append(WordAnswers(_PROMPT, (before,), (after,)))
        return shown


@dataclass(frozen=True)
class EncoderCheck(Check):
    """The check of an encoder; ``reader_model`` says which words it expects in a sentence."""

    lm: LanguageModel
    reader_model: LanguageModel
    placement: Placement

    def run(self, candidates: Sequence[Candidate]) -> list[CheckResult | None]:
        """Compare how near the word alone is to the words that its sentences ask for, whatever the placement."""
        owners, scores = _nearness(self.lm, self.reader_model, candidates)
        return [_result(scores[owners == word], _DOUBT["encoder"]) for word in range(len(candidates))]

    def show(self, candidates: Sequence[Candidate]) -> list[WordAnswers]:
        """The nearest frequent words by the encoder's own embeddings, before and after."""
        rows = [text_row(self.lm, one.word) for one in candidates]
        rows += [_taught_row(self.lm, one.word, one.embedding, self.placement) for one in candidates]
        found = [tuple(word for word, _ in own) for own in nearest_words(self.lm, rows, _NEAREST)]
        pairs = zip(found[: len(candidates)], found[len(candidates) :], strict=True)
        return [WordAnswers("nearest words", before, after) for before, after in pairs]


def _taught_row(encoder: LanguageModel, word: str, embedding: np.ndarray, placement: Placement) -> InputRow:
    """A word as a text of its own, as the model will read it with its embedding."""
    before, after = encoder.tokens.special_tokens
    ids, slash = tuple(text_row(encoder, word).ids), encoder.tokens.behind_a_word("/")
    place = len(before), len(ids) - len(after)
    return InputRow(*with_slot(ids, *place, slash if placement == "append" else None), embedding)


@dataclass(frozen=True)
class HeldOut:
    """A held-out sentence of word number ``owner``.

    :param readings: with the subwords, and with the embedding.
    :param following: the number of tokens after the word, special tokens not counted.
    """

    owner: int
    readings: tuple[InputRow, ...]
    following: int


def held_out_sentences(
    target: LanguageModel, candidates: Sequence[Candidate], *, placement: Placement
) -> Iterator[HeldOut]:
    """The held-out sentences that go on behind the word."""
    for owner, embedding, span in held_out_contexts(candidates):
        sentence = _held_out(target, owner, span, embedding, placement)
        if sentence.following:
            yield sentence


def _held_out(target: LanguageModel, owner: int, span: Context, embedding: np.ndarray, placement: Placement) -> HeldOut:
    """The text around a word, with its subwords and with its embedding."""
    sentence, start, end = span
    encoded = target.tokenizer(sentence, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
    first = start - 1 if sentence[:start].endswith(" ") else start  # the space belongs to the word's first token
    inside = [at for at, (a, b) in enumerate(encoded["offset_mapping"]) if b > max(a, first) and a < end]
    left = encoded["input_ids"][max(0, inside[0] - _TOKENS_AROUND) : inside[0]]
    rest = encoded["input_ids"][inside[0] : inside[-1] + 1 + _TOKENS_AROUND]
    before, _ = target.tokens.special_tokens  # nothing is predicted behind the end of a text
    ids, place = (*before, *left, *rest), len(before) + len(left)
    subwords = inside[-1] + 1 - inside[0]
    slash = target.tokens.behind_a_word("/") if placement == "append" else None
    taught = InputRow(*with_slot(ids, place, place + subwords, slash), embedding)
    return HeldOut(owner, (InputRow(ids), taught), following=len(rest) - subwords)


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


def _result(scores: np.ndarray, doubt: float, found: bool = False) -> CheckResult | None:
    """The result of one word, None from fewer than two sentences.

    :param scores: with subwords, and with the embedding. *Shape:* (sentences, 2)
    """
    sentences = len(scores)
    if sentences < 2:
        return None
    subwords, embedding = scores.T
    error = float((embedding - subwords).std(ddof=1)) / sentences**0.5
    sure = _FEW[sentences - 2] if sentences - 2 < len(_FEW) else SURELY_WORSE
    limit = SURELY_WORSE * error if found else -sure * float(np.hypot(error, doubt / sentences))
    return CheckResult.of(sentences, subwords, embedding, error, limit)


def _nearness(
    target: LanguageModel, reader_model: LanguageModel, candidates: Sequence[Candidate]
) -> tuple[np.ndarray, np.ndarray]:
    """How much nearer a word alone is to what the reader model expects in its sentences than to random words.

    :return: the word's number for each held-out sentence that could be used; and the difference of the cosines for
        the subwords and for the embedding, *shape* (sentences, 2)
    """
    held_out = [one for one in held_out_contexts(candidates) if reader_model.tokens.mask_token not in one[2].sentence]
    expected = _expected_words(reader_model, [span for _, _, span in held_out])
    usable = [(*one[:2], words) for one, words in zip(held_out, expected, strict=True) if words]
    if not usable:
        return np.zeros(0), np.zeros((0, 2))
    known = sorted(word for word in reader_model.whole_words.keys() & target.whole_words.keys() if len(word) > 2)
    drawn = random.Random(0).sample(known, min(_RANDOM, len(known)))
    others = list(dict.fromkeys([*drawn, *(word for _, _, words in usable for word in words)]))
    row_of = {word: row for row, word in enumerate(others)}
    rows = [text_row(target, word) for word in (*others, *(one.word for one in candidates))]
    # The embedding alone, in either placement: beside subwords it would be compared with them.
    rows += [_taught_row(target, candidates[owner].word, embedding, "replace") for owner, embedding, _ in usable]
    embedded = sentence_embeddings(target, rows).double()
    words, subwords, taught = embedded.split([len(others), len(candidates), len(usable)])
    owners = np.array([owner for owner, _, _ in usable])
    near = torch.stack([words[[row_of[word] for word in expected]].mean(0) for _, _, expected in usable])
    far = words[: len(drawn)].mean(0)
    ways = torch.stack([subwords[owners], taught], dim=1)  # (sentences, 2, hidden)
    return owners, (ways * (near - far)[:, None]).sum(-1).numpy()


def _expected_words(reader_model: LanguageModel, held_out: Sequence[Context]) -> list[list[str]]:
    """The words that the reader model expects most in the place of each word; none if it expects too few."""
    cut = [around(reader_model, span, _CHARACTERS_AROUND) for span in held_out]
    answers = reader_model.fill([Query(f"{before}_{after}") for before, _, after in cut], top_k=_ASKED)
    result = []
    for row, (_, own, _) in enumerate(cut):
        words = [word for word in answers.words(row) if word in reader_model.whole_words]
        others = [word for word in words if word.lower() != own.lower()]
        result.append(others[:_EXPECTED] if len(others) >= _EXPECTED else [])
    return result
