"""Which words of a text does a model not have, and which of them would gain most from teaching?

A word is missing when the model's tokenizer splits it. Splitting as such is no harm: ``red-tailed`` is read
as two words the model knows. Harm is done where what is left are fragments, so that ``gain`` is the number of
occurrences times the share of the word's letters outside the longest piece of each of its parts between
hyphens and periods: ``skier ##s`` loses 1/6, ``ku ##m ##qua ##t`` 4/7, ``red - tailed`` nothing, a word the
tokenizer cannot write at all everything.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rarewords.bundled import DEFAULT_MODEL, bundled_model
from rarewords.corpus.count_only import count_words
from rarewords.corpus.settings import CorpusSettings, WordRule
from rarewords.errors import InputError
from rarewords.files import whole_file
from rarewords.progress import progress
from rarewords.tokens import Tokens

_WORDS_AT_ONCE = 4096
_COMPONENT = re.compile(r"[^.\-]+")


@dataclass(frozen=True)
class MissingWord:
    """A word the model does not have as one piece."""

    word: str
    count: int
    pieces: tuple[str, ...]
    lost: float

    @property
    def gain(self) -> float:
        """Occurrences times the share of the word that is lost in fragments."""
        return self.count * self.lost


@dataclass(frozen=True)
class Scan:
    """What a model lacks of a text; ``missing`` is ordered by gain, the largest first.

    ``words`` and ``occurrences`` are those of the whole text under the word rule.
    """

    model: str
    words: int
    occurrences: int
    missing: list[MissingWord]

    @property
    def missing_occurrences(self) -> int:
        """How many words of the running text are not one piece."""
        return sum(word.count for word in self.missing)


def scan_text(
    texts: Sequence[str | Path],
    model: str = DEFAULT_MODEL,
    *,
    field: str = "text",
    words: WordRule = "english",
    min_count: int = 1,
    workers: int | None = None,
) -> Scan:
    """Count the words of a text and find those the model's tokenizer splits."""
    tokens = load_tokens(model)
    settings = CorpusSettings(lower_case=tokens.lower_case, words=words)
    names, counts = count_words(texts, settings, field=field, workers=workers)
    return scan_counts(names, counts, tokens, model=model, min_count=min_count)


def scan_counts(
    words: Sequence[str], counts: np.ndarray, tokens: Tokens, *, model: str = "model", min_count: int = 1
) -> Scan:
    """Find the words the tokenizer splits among counted words. *Shape:* counts (words,)"""
    asked = [(word, int(count)) for word, count in zip(words, counts, strict=True) if count >= min_count]
    missing = []
    with progress("Splitting words", total=len(asked), unit="words") as bar:
        for start in range(0, len(asked), _WORDS_AT_ONCE):
            batch = asked[start : start + _WORDS_AT_ONCE]
            for (word, count), (ids, spans) in zip(
                batch, _pieces([w for w, _ in batch], tokens), strict=True
            ):
                if len(ids) != 1 or tokens.has_unknown(ids):
                    lost = 1.0 if tokens.has_unknown(ids) or not ids else _lost(word, spans)
                    missing.append(MissingWord(word, count, tuple(tokens.piece_strings(ids)), lost))
            bar.advance(len(batch))
    missing.sort(key=lambda word: (-word.gain, -word.count, word.word))
    return Scan(model, len(words), int(sum(counts)), missing)


def load_tokens(model: str = DEFAULT_MODEL) -> Tokens:
    """The tokenizer of a model, without its weights."""
    from transformers import AutoTokenizer

    source = str(bundled_model()) if model == DEFAULT_MODEL else model
    try:
        return Tokens(AutoTokenizer.from_pretrained(source, trust_remote_code=False))
    except (OSError, ValueError, KeyError, ImportError) as error:
        if isinstance(error, InputError):
            raise
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise InputError(
            f"the tokenizer of {model} cannot be loaded: {reason}; give a model folder, a hub name or default"
        ) from None


def write_words(path: str | Path, words: Sequence[MissingWord]) -> None:
    """Write a words file: on each line a word, a tab and its count."""
    with whole_file(path) as temporary:
        temporary.write_text("".join(f"{word.word}\t{word.count}\n" for word in words), "utf-8")


def _pieces(words: list[str], tokens: Tokens) -> list[tuple[list[int], list[tuple[int, int]]]]:
    """The pieces of each word behind a space, and the letters of the word each covers."""
    before = "a "
    encoded: Any = tokens.tokenizer(
        [before + word for word in words], add_special_tokens=False, return_offsets_mapping=True
    )
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
