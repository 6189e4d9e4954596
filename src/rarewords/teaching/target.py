"""Does a model without a masked-LM head read a word better with its vector than with its pieces?

The vector comes from a reader, the model that is taught is the target, and the target judges, on held-out
sentences of the word:

* a **causal LM** by the log-probability of the tokens that follow the word;
* an **encoder** by where it puts the sentence: nearer to the same sentence with the words that the reader
  expects in the place of the word, and further from such sentences of other words.

A word is taught only if the gain exceeds two standard errors over its sentences.
"""

from __future__ import annotations

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
_TOKENS_AROUND = 32  # on either side of the word
_TOKENS_PER_BATCH = 2048
_EXPECTED = 3  # words that the reader puts in the place of the word
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
    """How much nearer each sentence is to its own meaning than to those of other words, on average.

    The sentences that have one, with pieces and with vector. *Shapes:* (sentences,)
    """
    wished = _with_expected(target, reader, held_out)
    usable = [one for one, readings in zip(held_out, wished, strict=True) if readings]
    flat = [reading for readings in wished for reading in readings]
    if not flat:
        return [], np.zeros(0), np.zeros(0)
    meanings = sentence_embeddings(target, flat).split([len(own) for own in wished if own])
    goals = torch.nn.functional.normalize(torch.stack([own.mean(dim=0) for own in meanings]), dim=-1)
    owners = torch.tensor([one.owner for one in usable])
    others = (owners[:, None] != owners[None, :]).float()
    scores = []
    for readings in ([one.pieces for one in usable], [one.vector for one in usable]):
        near = sentence_embeddings(target, readings) @ goals.T
        far = (near * others).sum(dim=1) / others.sum(dim=1).clamp_min(1)
        scores.append((near.diagonal() - far).double().numpy())
    return usable, scores[0], scores[1]


def _with_expected(
    target: LanguageModel, reader: LanguageModel, held_out: Sequence[HeldOut]
) -> list[list[Reading]]:
    """Each sentence with the words in the place of the word that the reader expects most there."""
    texts, asked = [], []
    for place, one in enumerate(held_out):
        held = one.occurrence
        text = held.sentence.replace("_", " ")
        texts.append((text[: held.start], text[held.start : held.end], text[held.end :]))
        if reader.tokens.mask_token not in text:
            asked.append(place)
    answers = reader.fill([Query(_around(reader, *texts[place])) for place in asked], top_k=_ASKED)
    before, after = target.tokens.special_tokens
    result: list[list[Reading]] = [[] for _ in held_out]
    for row, place in enumerate(asked):
        left, word, right = texts[place]
        known = [
            answer
            for answer in answers.words(row)
            if answer.isalpha() and answer in reader.whole_words and answer.lower() != word.lower()
        ][:_EXPECTED]
        spans = [(left + answer + right, len(left), len(left) + len(answer)) for answer in known]
        result[place] = [Reading((*before, *a, *b, *c, *after)) for a, b, c in _cut(target, spans)]
    return result


def _around(reader: LanguageModel, left: str, _: str, right: str) -> str:
    """The sentence with a blank, cut to what a reader of 512 tokens takes in any case."""
    most = 2 * reader.max_length // 3
    return left[-most:] + "_" + right[:most]


def _batches(readings: Sequence[Reading]) -> list[list[int]]:
    return batches_by_length([len(one.ids) for one in readings], _TOKENS_PER_BATCH)


def _inputs(target: LanguageModel, readings: Sequence[Reading]) -> Tensor:
    """Input vectors of readings of one length. *Shape:* (readings, length, dim)"""
    ids = torch.tensor([one.ids for one in readings], device=target.device)
    slots = torch.tensor([one.slot for one in readings], device=target.device)
    none = np.zeros(target.dim, np.float32)
    vectors = np.stack([none if one.vector is None else one.vector for one in readings])
    return target.embed(ids, slots, torch.from_numpy(vectors).to(target.device))
