"""Does the model read the word's own sentences better with its vector than with its pieces?

In sentences the vector was not made from, content words near the word are masked one at a time, and the
log-probability of the true one is compared: once with the word's pieces, once with its vector.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rarewords.lm import LanguageModel, Query
from rarewords.teaching.lessons import Use
from rarewords.tokens import WORD_SLOT

# Letters that are a word by themselves: not part of a hyphenation, a contraction or a number.
_NEIGHBOUR = re.compile(r"(?<![\w'’-])[^\W\d_]{3,}(?![\w'’-])")
# More of a sentence says little about the word and costs time.
_CHARACTERS_AROUND = 160
# Words that go with any word and say nothing about it. A text in another language loses nothing but time.
_NOT_CONTENT = """
    about above after again against all also although always among and another any are around because been
    before being below between both but can cannot could did does doing done down during each either else
    even ever every few first for from further had has have having her here hers herself him himself his how
    however into its itself just last least less like made make many may might more most much must near
    neither never next nor not now off often once one only other others our ours out over own per perhaps
    quite rather same several shall she should since some still such than that the their theirs them
    themselves then there these they this those though three through thus too toward towards two under until
    upon use used using usually very was were what when where whether which while who whom whose why will
    with within without would yet you your yours
"""
_FUNCTION_WORDS = frozenset(_NOT_CONTENT.split())


@dataclass(frozen=True)
class Place:
    """A masked neighbour: a pattern with ``<W>`` for the word and ``_`` for the neighbour, and its token."""

    pattern: str
    token: int


@dataclass(frozen=True)
class Judgement:
    """Mean log-probability of the true neighbours of a word, with its pieces and with its vector."""

    sentences: int
    places: int
    pieces: float
    vector: float

    @property
    def gain(self) -> float:
        """How much better (above 0) or worse the vector is, in nats a neighbour."""
        return self.vector - self.pieces


@dataclass(frozen=True)
class Candidate:
    """A word, a vector for it, and sentences to judge the vector by. *Shape of vector:* (dim,)"""

    word: str
    vector: np.ndarray
    uses: tuple[Use, ...]


def neighbours(lm: LanguageModel, use: Use, most: int) -> list[Place]:
    """The content words nearest to the word that the model has as one piece, each masked once."""
    cut_start = max(0, use.start - _CHARACTERS_AROUND)
    # An underscore or a slot in the text itself must not be taken for the pattern's own.
    text = use.sentence.replace("_", " ").replace(WORD_SLOT, " " * len(WORD_SLOT))
    if lm.tokens.mask_token in text:
        return []
    text = text[cut_start : use.end + _CHARACTERS_AROUND]
    start, end = use.start - cut_start, use.end - cut_start
    word = text[start:end].lower()
    found = []
    for match in _NEIGHBOUR.finditer(text):
        name = match.group().lower() if lm.lower_case else match.group()
        token = lm.whole_words.get(name)
        if token is None or name.lower() in _FUNCTION_WORDS or name.lower() == word:
            continue
        if match.end() <= start:
            found.append((start - match.end(), match.span(), token))
        elif match.start() >= end:
            found.append((match.start() - end, match.span(), token))
    return [_place(text, (start, end), span, token) for _, span, token in sorted(found)[:most]]


def judge(
    lm: LanguageModel, candidates: Sequence[Candidate], *, places: int, slash: bool
) -> list[Judgement | None]:
    """Judge each vector; None where its sentences have no neighbour to ask for.

    :param places: neighbours masked in a sentence, at most.
    :param slash: judge ``word / <vector>``, as the model will be used.
    """
    asked: list[tuple[int, Place]] = []
    sentences = [0] * len(candidates)
    for number, candidate in enumerate(candidates):
        for use in candidate.uses:
            found = neighbours(lm, use, places)
            sentences[number] += bool(found)
            asked += [(number, place) for place in found]
    owner = np.array([number for number, _ in asked], dtype=np.int64)
    tokens = [place.token for _, place in asked]
    before = [Query(place.pattern, candidates[number].word) for number, place in asked]
    after = [
        Query(place.pattern, candidates[number].word, candidates[number].vector, slash)
        for number, place in asked
    ]
    # In one go: queries of one length are computed together, and there are more of each length.
    pieces, vector = lm.log_likelihood([*before, *after], [*tokens, *tokens]).reshape(2, -1)
    result: list[Judgement | None] = []
    for number, count in enumerate(sentences):
        own = owner == number
        result.append(
            Judgement(count, int(own.sum()), float(pieces[own].mean()), float(vector[own].mean()))
            if own.any()
            else None
        )
    return result


def _place(text: str, word: tuple[int, int], neighbour: tuple[int, int], token: int) -> Place:
    first, second = sorted([(word, WORD_SLOT), (neighbour, "_")])
    (a, b), (c, d) = first[0], second[0]
    return Place(text[:a] + first[1] + text[b:c] + second[1] + text[d:], token)
