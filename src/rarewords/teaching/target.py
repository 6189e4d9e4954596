"""Does a model without a masked-LM head read a word better with its vector than with its pieces?

The vector comes from a reader, the model that is taught is the target, and the target judges, on held-out
sentences of the word, each way to read it: ``word / <vector>`` or the vector in the place of the pieces.

* A **causal LM** by the log-probability of the tokens that follow the word, in the way that gains most.
* An **encoder** by where it puts the word alone: nearer to the words that the reader expects in its place in
  the sentence than to random words. The vector must add twice as much as the pieces say: then the word is a
  name that the encoder cannot know. With pieces that it reads well, a vector only blurs the spelling that
  queries ask for. A taught word's vector stands in the place of its pieces.

A word that was listed is taught if its gain is a standard error above that. Words that a search found need
two, and encoders are not taught such words at all.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from rarewords.corpus.store import Context
from rarewords.lm import InputRow, LanguageModel, Query
from rarewords.model_folder import pooling
from rarewords.teaching.judge import Judgement, Made
from rarewords.teaching.splits import around
from rarewords.tokens import with_slot

# By how many standard errors the gain must exceed what is asked for. Who lists a word has a reason to; most
# words that a search finds in a text are read well. (An encoder judges these only with keep_all.)
_LISTED, _FOUND = 1.0, 2.0
_TIMES = 2.0  # what the pieces say: so much an encoder must gain
_TOKENS_AROUND = 16  # on either side of the word
_TOKENS_PER_BATCH = 2048
_CHARACTERS_AROUND = 80  # of what the reader sees on either side
_EXPECTED, _RANDOM = 2, 256  # words to which the word is compared
_ASKED = 20  # answers of the reader among which they are looked for


@dataclass(frozen=True)
class HeldOut:
    """A held-out sentence of word number ``owner``.

    :param readings: with the pieces, with the vector in their place, and with both if that is a choice.
    :param following: the number of tokens after the word, special tokens not counted.
    """

    owner: int
    readings: tuple[InputRow, ...]
    following: int


def judge_on_target(
    target: LanguageModel, reader: LanguageModel, made: Sequence[Made], *, slash: bool, listed: bool = False
) -> list[Judgement | None]:
    """Judge the vectors of each word; None if fewer than two held-out sentences can be used.

    :param slash: a causal LM may read ``word / <vector>``.
    :param listed: the words were given, not found in the text.
    """
    if target.kind == "causal":
        held_out = list(held_out_sentences(target, made, slash=slash))
        owners, scores = [one.owner for one in held_out], scores_of_what_follows(target, held_out)
        least = np.zeros(len(scores))
    else:
        owners, scores = _nearness(target, reader, made)
        least = _TIMES * scores[:, 0]
    errors = _LISTED if listed else _FOUND
    rows = np.array(owners, np.int64) == np.arange(len(made))[:, None]
    return [_judgement(scores[own], least[own], errors) for own in rows]


def sentence_embeddings(target: LanguageModel, readings: Sequence[InputRow]) -> Tensor:
    """Pooled last states of unit length. *Shape:* (readings, hidden)"""
    mode = pooling(target.name)

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


def _judgement(scores: np.ndarray, least: np.ndarray, errors: float) -> Judgement | None:
    """The judgement of the better way to read a word.

    :param scores: with pieces, with the vector in their place, with both. *Shape:* (sentences, 2 or 3)
    :param least: what must be gained, besides standard errors. *Shape:* (sentences,)
    """
    if len(scores) < 2:
        return None
    way = 1 + int(scores[:, 1:].mean(axis=0).argmax())
    gains = scores[:, way] - scores[:, 0]
    error = float((gains - least).std(ddof=1)) / len(scores) ** 0.5
    needed = max(0.0, float(least.mean())) + errors * error
    pieces, vector, error, needed = (
        round(float(value), 6) for value in (scores[:, 0].mean(), scores[:, way].mean(), error, needed)
    )
    return Judgement(len(scores), len(scores), pieces, vector, error, needed, replace=way == 1)


def held_out_sentences(target: LanguageModel, made: Sequence[Made], *, slash: bool) -> Iterator[HeldOut]:
    """The held-out sentences that go on behind the word; ``slash``: also as ``word / <vector>``."""
    marks = (None, target.tokens.behind_a_word("/")) if slash else (None,)
    before, _ = target.tokens.special_tokens  # nothing is predicted behind the end of a text
    for owner, one in enumerate(made):
        for fold, vector in zip(one.split.folds, one.fold_vectors, strict=True):
            for left, pieces, right in _cut(target, fold.held_out):
                ids = (*before, *left, *pieces, *right)
                start = len(before) + len(left)
                ways = (with_slot(ids, start, start + len(pieces), mark) for mark in marks)
                taught = (InputRow(*way, vector) for way in ways)
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
    target: LanguageModel, reader: LanguageModel, made: Sequence[Made]
) -> tuple[list[int], np.ndarray]:
    """How much nearer a word is to what the reader expects in its sentences than to random words, in cosines.

    Each word is embedded alone, so that neither the rest of a sentence nor a disturbed sentence counts.

    :return: the word's number for each held-out sentence that could be used; and the nearness of the pieces
        and of the vector, *shape* (sentences, 2)
    """
    folds = [
        (owner, vector, held)
        for owner, one in enumerate(made)
        for fold, vector in zip(one.split.folds, one.fold_vectors, strict=True)
        for held in fold.held_out
        if reader.tokens.mask_token not in held[0]
    ]
    expected = _expected_words(reader, [held for _, _, held in folds])
    usable = [(*one[:2], words) for one, words in zip(folds, expected, strict=True) if words]
    if not usable:
        return [], np.zeros((0, 2))
    known = sorted(word for word in reader.whole_words.keys() & target.whole_words.keys() if len(word) > 2)
    drawn = random.Random(0).sample(known, min(_RANDOM, len(known)))
    others = list(dict.fromkeys([*drawn, *(word for _, _, words in usable for word in words)]))
    row_of = {word: row for row, word in enumerate(others)}

    def alone(word: str) -> InputRow:
        return InputRow(tuple(target.tokenizer(word)["input_ids"]))

    pieces = [alone(one.split.word) for one in made]
    before, after = target.tokens.special_tokens
    vectors = [InputRow((*before, 0, *after), len(before), vector) for _, vector, _ in usable]
    embedded = sentence_embeddings(target, [*map(alone, others), *pieces, *vectors]).double()
    words, owns, taught = embedded.split([len(others), len(pieces), len(vectors)])
    owners = [owner for owner, _, _ in usable]
    near = torch.stack([words[[row_of[word] for word in expected]].mean(0) for _, _, expected in usable])
    far = words[: len(drawn)].mean(0)
    ways = torch.stack([owns[owners], taught], dim=1)  # (sentences, 2, hidden)
    return owners, ((ways * (near - far)[:, None]).sum(-1)).numpy()


def _expected_words(reader: LanguageModel, held_out: Sequence[Context]) -> list[list[str]]:
    """The words that the reader expects most in the place of each word; none if it expects too few."""
    cut = [around(span, _CHARACTERS_AROUND) for span in held_out]
    answers = reader.fill([Query(f"{before}_{after}") for before, _, after in cut], top_k=_ASKED)
    result = []
    for row, (_, own, _) in enumerate(cut):
        words = [word for word in answers.words(row) if word in reader.whole_words]
        others = [word for word in words if word.lower() != own.lower()]
        result.append(others[:_EXPECTED] if len(others) >= _EXPECTED else [])
    return result
