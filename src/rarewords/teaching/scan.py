"""Which words of a text does a model lack, and which of them would gain most from teaching?

A word is missing if the model's tokenizer splits it. Splitting alone does no harm: ``red-tailed`` is read as
two words the model knows. Fragments do. The *gain* of a word is therefore its count times the share of its
letters outside the longest piece of each of its parts between hyphens and periods: ``skier ##s`` loses 1/6,
``ku ##m ##qua ##t`` 4/7, ``red - tailed`` nothing, a word the tokenizer cannot represent everything.
Teaching takes the words with the largest gain, or those of a list.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rarewords.corpus.count import count_words
from rarewords.corpus.settings import CorpusSettings, WordRule
from rarewords.corpus.text import entry_pattern
from rarewords.errors import HopelessError, InputError
from rarewords.injection import unfit_words
from rarewords.models import DEFAULT_MODEL, load_tokens, shown_name
from rarewords.progress import progress
from rarewords.teaching.settings import TeachSettings
from rarewords.tokens import Tokens

NO_WORDS = "the text holds no words; check the files, or use --rule any if it is not written in letters a-z"
_WORDS_AT_ONCE = 4096
_COMPONENT = re.compile(r"[^.\-]+")


@dataclass(frozen=True)
class MissingWord:
    """A word the model does not have as one piece; ``lost`` is the share of it that is lost in fragments."""

    word: str
    count: int
    pieces: tuple[str, ...]
    lost: float

    @property
    def gain(self) -> float:
        """The count times the share that is lost."""
        return self.count * self.lost


@dataclass(frozen=True)
class Scan:
    """What a model lacks of a text.

    :param words: distinct words of the text under the word rule; ``occurrences``: how often they occur.
    :param missing_words: those that are not one piece; ``missing_occurrences``: how often they occur.
    :param missing: the missing words that occur at least ``min_count`` times, the largest gain first.
    :param left_out: distinct words that the rule leaves out of all of these.
    """

    model: str
    words: int
    occurrences: int
    missing_words: int
    missing_occurrences: int
    missing: tuple[MissingWord, ...]
    left_out: int


def scan(
    texts: Sequence[str | Path],
    model: str = DEFAULT_MODEL,
    *,
    rule: WordRule = "english",
    min_count: int = 1,
    field: str = "text",
    workers: int | None = None,
) -> Scan:
    """Count the words of a text and find those that the model's tokenizer splits.

    :param texts: files, folders, patterns, ``-`` for standard input.
    :param rule: what counts as a word: ``english`` (letters a-z, ``.`` and ``-``) or ``any`` script.
    """
    tokens = load_tokens(model)
    # Everything is counted, so that what the rule leaves out can be reported.
    every = CorpusSettings(lower_case=tokens.lower_case, words="any")
    names, counts = count_words(texts, every, field=field, workers=workers)
    fits = entry_pattern(rule, tokens.lower_case).fullmatch
    kept = [row for row, name in enumerate(names) if fits(name)]
    if not kept:
        raise InputError(NO_WORDS)
    missing = missing_words([names[row] for row in kept], counts[kept], tokens)
    return Scan(
        model=shown_name(model),
        words=len(kept),
        occurrences=int(counts[kept].sum()),
        missing_words=len(missing),
        missing_occurrences=sum(word.count for word in missing),
        missing=tuple(word for word in missing if word.count >= min_count),
        left_out=len(names) - len(kept),
    )


def missing_words(words: Sequence[str], counts: np.ndarray, tokens: Tokens) -> list[MissingWord]:
    """The words that the tokenizer splits, the largest gain first. *Shape:* counts (words,)"""
    missing = []
    with progress("Splitting words", total=len(words), unit="words") as bar:
        for start in range(0, len(words), _WORDS_AT_ONCE):
            batch = list(words[start : start + _WORDS_AT_ONCE])
            numbers = counts[start : start + _WORDS_AT_ONCE].tolist()
            for word, count, (ids, spans) in zip(batch, numbers, _pieces(batch, tokens), strict=True):
                unknown = not ids or tokens.has_unknown(ids)
                if len(ids) != 1 or unknown:
                    lost = 1.0 if unknown else _lost(word, spans)
                    missing.append(MissingWord(word, count, tuple(tokens.piece_strings(ids)), lost))
            bar.advance(len(batch))
    return sorted(missing, key=lambda word: (-word.gain, -word.count, word.word))


@dataclass(frozen=True)
class ChosenWords:
    """Words to teach with their counts in the text, and words that are not taught, with the reason."""

    counts: dict[str, int]
    refused: dict[str, str]


def choose_words(
    names: Sequence[str],
    counts: np.ndarray,
    tokens: Tokens,
    settings: TeachSettings,
    listed: Sequence[str] | None = None,
) -> ChosenWords:
    """Choose among the words of a text; it is an error if there is nothing to teach.

    :param names: the words of the text, with their ``counts``. *Shape of counts:* (names,)
    :param listed: the user's own list; without it the text is searched for words worth teaching.
    """
    if not len(names):
        raise HopelessError(NO_WORDS)
    below = settings.below or math.inf
    refused: dict[str, str] = {}
    if listed is None:
        rows = np.flatnonzero((counts >= settings.min_count) & (counts < below)).tolist()
        missing = missing_words([names[row] for row in rows], counts[rows], tokens)
        worth = [word for word in missing if word.gain > 0][: settings.top]
        wanted = {word.word: word.count for word in worth}
    else:
        known = dict(zip(names, counts.tolist(), strict=True))
        folded = list(dict.fromkeys(word.lower() if tokens.lower_case else word for word in listed))
        for word, pieces in zip(folded, tokens.pieces_of(folded), strict=True):
            if len(pieces) == 1 and not tokens.has_unknown(pieces):
                refused[word] = "the model already has it as one piece"
            elif word not in known:
                refused[word] = "the text does not contain it as a word"
            elif known[word] >= below:
                refused[word] = f"it occurs {known[word]} times, which is not below {below}"
        wanted = {word: known[word] for word in folded if word not in refused}
    refused |= unfit_words(tokens.tokenizer, list(wanted), slash=settings.slash)
    chosen = {word: count for word, count in wanted.items() if word not in refused}
    if not chosen and refused:
        word, reason = next(iter(refused.items()))
        raise HopelessError(f"none of the {len(refused)} words can be taught; {word!r}: {reason}")
    if not chosen:
        raise HopelessError(
            f"the text has no word worth teaching: none that the model splits occurs {settings.min_count} "
            "times; give more text, a lower --min-count, or a list of words with --words"
        )
    return ChosenWords(chosen, refused)


def _pieces(words: list[str], tokens: Tokens) -> list[tuple[list[int], list[tuple[int, int]]]]:
    """The pieces of each word behind a space, and the letters of the word that each covers."""
    texts = ["a " + word for word in words]
    encoded: Any = tokens.tokenizer(texts, add_special_tokens=False, return_offsets_mapping=True)
    result = []
    for ids, offsets in zip(encoded["input_ids"], encoded["offset_mapping"], strict=True):
        own = [(i, max(a - 2, 0), b - 2) for i, (a, b) in zip(ids, offsets, strict=True) if b > 1 and b > a]
        result.append(([i for i, _, _ in own], [(a, b) for _, a, b in own]))
    return result


def _lost(word: str, spans: list[tuple[int, int]]) -> float:
    """The share of the letters outside the longest piece of each part between hyphens and periods.

    >>> _lost("skiers", [(0, 5), (5, 6)])
    0.16666666666666666
    >>> _lost("red-tailed", [(0, 3), (3, 4), (4, 10)])
    0.0
    """
    letters = kept = 0
    for part in _COMPONENT.finditer(word):
        letters += part.end() - part.start()
        kept += max((min(b, part.end()) - max(a, part.start()) for a, b in spans), default=0)
    return 1 - kept / letters if letters else 0.0
