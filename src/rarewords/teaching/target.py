"""Does a model without a masked-LM head read a word better with its vector than with its pieces?

The vector comes from a reader, the model that is taught is the target, and the target judges, on held-out
sentences of the word:

* a **causal LM** by the log-probability of the tokens that follow the word;
* an **encoder** by where it puts the sentence: nearer to the same sentence with the words that the reader
  expects in the place of the word, and further from the same sentence with random words there.

A word is taught only if the gain exceeds two standard errors over its sentences.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from rarewords.engine import in_threads
from rarewords.lm import LanguageModel, Query, batches_by_length
from rarewords.models import pooling
from rarewords.teaching.judge import Judgement, Made
from rarewords.teaching.splits import Occurrence
from rarewords.tokens import EncodedBlank

_STANDARD_ERRORS = 2.0
_TOKENS_AROUND = 16  # on either side of the word
_TOKENS_PER_BATCH = 2048
_EXPECTED, _RANDOM = 2, 2  # words put in the place of the word
_ASKED = 20  # answers of the reader among which they are looked for


@dataclass(frozen=True)
class Reading:
    """Token ids that a model reads, with a vector in place of ``ids[slot]`` if there is one."""

    ids: tuple[int, ...]
    slot: int = -1
    vector: np.ndarray | None = None


@dataclass(frozen=True)
class HeldOut:
    """A held-out sentence of word number ``owner``, with its pieces and with its vector.

    :param following: the number of tokens after the word, special tokens not counted.
    """

    owner: int
    occurrence: Occurrence
    pieces: Reading
    vector: Reading
    following: int


def judge_on_target(
    target: LanguageModel, reader: LanguageModel, made: Sequence[Made], *, slash: bool
) -> list[Judgement | None]:
    """Judge the vectors of each word; None if fewer than two held-out sentences can be used.

    :param slash: judge ``word / <vector>``, as the model will be used.
    """
    held_out = list(_held_out(target, made, slash))
    if target.kind == "causal":
        held_out = [one for one in held_out if one.following]
        before, after = _following(target, held_out)
    else:
        held_out, before, after = _nearness(target, reader, held_out)
    owners = np.array([one.owner for one in held_out], np.int64)
    return [_judgement(before[owners == number], after[owners == number]) for number in range(len(made))]


def sentence_embeddings(target: LanguageModel, readings: Sequence[Reading]) -> Tensor:
    """Pooled last states of unit length. *Shape:* (readings, hidden)"""
    mode = pooling(target.name)

    def pooled(batch: list[int]) -> tuple[list[int], Tensor]:
        states = target.last_hidden_state(_inputs(target, [readings[row] for row in batch]))
        one = {"cls": states[:, 0], "lasttoken": states[:, -1]}.get(mode, states.mean(dim=1))
        return batch, torch.nn.functional.normalize(one.float(), dim=-1).cpu()

    result = torch.zeros(len(readings), target.hidden)
    for batch, found in in_threads(torch.no_grad()(pooled), _batches(readings), target.device.type):
        result[batch] = found
    return result


def following_log_probability(
    target: LanguageModel, readings: Sequence[Reading], following: Sequence[int]
) -> np.ndarray:
    """The mean log-probability of the last ``following`` tokens of each reading. *Shape:* (readings,)"""

    def scored(batch: list[int]) -> list[tuple[int, float]]:
        logits = target.model(inputs_embeds=_inputs(target, [readings[row] for row in batch])).logits
        scores = []
        for row, own in zip(batch, logits, strict=True):
            true = torch.tensor(readings[row].ids[-following[row] :], device=own.device)
            found = own[-following[row] - 1 : -1].float().log_softmax(dim=-1).gather(1, true[:, None])
            scores.append((row, float(found.mean())))
        return scores

    result = np.zeros(len(readings))
    for scores in in_threads(torch.no_grad()(scored), _batches(readings), target.device.type):
        for row, score in scores:
            result[row] = score
    return result


def _judgement(before: np.ndarray, after: np.ndarray) -> Judgement | None:
    if len(before) < 2:
        return None
    error = float((after - before).std(ddof=1)) / len(before) ** 0.5
    pieces, vector, error, least = (
        round(float(value), 6) for value in (before.mean(), after.mean(), error, _STANDARD_ERRORS * error)
    )
    return Judgement(len(before), len(before), pieces, vector, error, least)


def _held_out(target: LanguageModel, made: Sequence[Made], slash: bool) -> Iterator[HeldOut]:
    mark = target.tokens.slash if slash else None
    before, after = target.tokens.special_tokens
    if target.kind == "causal":
        after = ()  # nothing is predicted behind the end of a text
    for owner, one in enumerate(made):
        for fold, vector in zip(one.split.folds, one.fold_vectors, strict=True):
            found = _cut(target, [(held.sentence, held.start, held.end) for held in fold.held_out])
            for held, (left, pieces, right) in zip(fold.held_out, found, strict=True):
                ids = (*before, *left, *pieces, *right, *after)
                start = len(before) + len(left)
                placed = EncodedBlank(ids, 0, start, start + len(pieces))
                taught = placed.with_slot(mark)
                reading = Reading(taught.ids, taught.word_end - 1, vector)
                yield HeldOut(owner, held, Reading(ids), reading, len(right))


def _cut(
    target: LanguageModel, spans: Sequence[tuple[str, int, int]]
) -> list[tuple[list[int], list[int], list[int]]]:
    """The tokens before, of and after the characters of each sentence, cut to those around the word."""
    if not spans:
        return []
    texts = [text for text, _, _ in spans]
    encoded = target.tokenizer(texts, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
    result = []
    for ids, offsets, (text, start, end) in zip(
        encoded["input_ids"], encoded["offset_mapping"], spans, strict=True
    ):
        first = start - 1 if start and text[start - 1] == " " else start
        inside = [
            at for at, (left, right) in enumerate(offsets) if right > left and right > first and left < end
        ]
        a, b = inside[0], inside[-1] + 1
        result.append((ids[max(0, a - _TOKENS_AROUND) : a], ids[a:b], ids[b : b + _TOKENS_AROUND]))
    return result


def _following(target: LanguageModel, held_out: Sequence[HeldOut]) -> tuple[np.ndarray, np.ndarray]:
    readings = [one.pieces for one in held_out] + [one.vector for one in held_out]
    counts = [one.following for one in held_out] * 2
    before, after = following_log_probability(target, readings, counts).reshape(2, -1)
    return before, after


def _nearness(
    target: LanguageModel, reader: LanguageModel, held_out: Sequence[HeldOut]
) -> tuple[list[HeldOut], np.ndarray, np.ndarray]:
    """How much nearer each sentence is to itself with expected words than with random words, in cosines.

    Only the word differs, so that neither the rest of the sentence nor a disturbed sentence counts. The
    sentences that could be used, with pieces and with vector. *Shapes:* (sentences,)
    """
    pairs = list(zip(held_out, _expected_words(reader, held_out), strict=True))
    usable = [one for one, words in pairs if words]
    if not usable:
        return [], np.zeros(0), np.zeros(0)
    known = sorted(word for word in reader.whole_words if len(word) > 2 and word in target.whole_words)
    readings = [reading for one in usable for reading in (one.pieces, one.vector)]
    for one, words in pairs:
        if words:
            drawn = random.Random(one.occurrence.sentence).sample(known, _RANDOM)
            readings += _with_words(target, one.occurrence, [*words, *drawn])
    embedded = sentence_embeddings(target, readings)
    own = embedded[: 2 * len(usable)].reshape(len(usable), 2, -1)
    means = embedded[2 * len(usable) :].reshape(len(usable), _EXPECTED + _RANDOM, -1)
    cosines = own @ means.transpose(1, 2)  # (sentences, pieces and vector, expected and random)
    scores = cosines[..., :_EXPECTED].mean(dim=-1) - cosines[..., _EXPECTED:].mean(dim=-1)
    before, after = scores.double().numpy().T
    return usable, before, after


def _expected_words(reader: LanguageModel, held_out: Sequence[HeldOut]) -> list[list[str]]:
    """The words that the reader expects most in the place of each word; none if it expects too few."""
    asked = [
        row for row, one in enumerate(held_out) if reader.tokens.mask_token not in one.occurrence.sentence
    ]
    answers = reader.fill([Query(_blanked(reader, held_out[row].occurrence)) for row in asked], top_k=_ASKED)
    result: list[list[str]] = [[] for _ in held_out]
    for answer, row in enumerate(asked):
        held = held_out[row].occurrence
        own = held.sentence[held.start : held.end].lower()
        found = [one for one in answers.words(answer) if one in reader.whole_words and one.lower() != own]
        result[row] = found[:_EXPECTED] if len(found) >= _EXPECTED else []
    return result


def _with_words(target: LanguageModel, held: Occurrence, words: Sequence[str]) -> list[Reading]:
    """A sentence with other words in the place of the word."""
    left, right = held.sentence[: held.start], held.sentence[held.end :]
    spans = [(left + word + right, len(left), len(left) + len(word)) for word in words]
    before, after = target.tokens.special_tokens
    return [Reading((*before, *a, *b, *c, *after)) for a, b, c in _cut(target, spans)]


def _blanked(reader: LanguageModel, held: Occurrence) -> str:
    """The sentence with a blank, cut to what the reader takes however it splits the text."""
    text, most = held.sentence.replace("_", " "), reader.max_length // 2 - 8
    return text[max(0, held.start - most) : held.start] + "_" + text[held.end : held.end + most]


def _batches(readings: Sequence[Reading]) -> list[list[int]]:
    return batches_by_length([len(one.ids) for one in readings], _TOKENS_PER_BATCH)


def _inputs(target: LanguageModel, readings: Sequence[Reading]) -> Tensor:
    """Input vectors of readings of one length. *Shape:* (readings, length, dim)"""
    ids = torch.tensor([one.ids for one in readings], device=target.device)
    slots = torch.tensor([one.slot for one in readings], device=target.device)
    none = np.zeros(target.dim, np.float32)
    vectors = np.stack([none if one.vector is None else one.vector for one in readings])
    return target.embed(ids, slots, torch.from_numpy(vectors).to(target.device))
