"""Entities in IOB tags, and the F1 of those that are found exactly."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

Span = tuple[int, int, str]  # first word, word behind the last, kind


@dataclass(frozen=True)
class Sentence:
    words: tuple[str, ...]
    tags: tuple[str, ...]

    @property
    def entities(self) -> list[Span]:
        return spans(self.tags)

    def surface(self, span: Span) -> str:
        return " ".join(self.words[span[0] : span[1]]).lower()


def read(path: Path) -> list[Sentence]:
    """The sentences of a file with a word and its tag per line."""
    found: list[Sentence] = []
    words: list[str] = []
    tags: list[str] = []
    for line in [*path.read_text("utf-8").split("\n"), ""]:
        if line.strip():
            word, tag = line.rstrip("\r").split("\t")[:2]
            words.append(word)
            tags.append(tag)
        elif words:
            found.append(Sentence(tuple(words), tuple(tags)))
            words, tags = [], []
    return found


def spans(tags: Sequence[str]) -> list[Span]:
    """The entities of IOB tags; an I that continues nothing begins one.

    >>> spans(["B-x", "I-x", "B-x", "O", "I-y", "I-x"])
    [(0, 2, 'x'), (2, 3, 'x'), (4, 5, 'y'), (5, 6, 'x')]
    """
    found: list[Span] = []
    start, kind = 0, ""
    for at, tag in enumerate([*tags, "O"]):
        mark, _, own = tag.partition("-")
        if kind and (mark != "I" or own != kind):
            found.append((start, at, kind))
            kind = ""
        if own and not kind:
            start, kind = at, own
    return found


def f1(sums: np.ndarray) -> np.ndarray:
    """F1 of sums of right, found and true entities. *Shape:* (any, 3) -> (any,)"""
    return 2 * sums[:, 0] / np.maximum(sums[:, 1] + sums[:, 2], 1)


def counts(
    sentences: Sequence[Sentence], tags: Sequence[Sequence[str]], wanted: Callable[[int, Span], bool]
) -> np.ndarray:
    """Right, found and true entities among the wanted ones of each sentence. *Shape:* (sentences, 3)"""
    rows = []
    for number, (one, own) in enumerate(zip(sentences, tags, strict=True)):
        true = {span for span in one.entities if wanted(number, span)}
        found = {span for span in spans(own) if wanted(number, span)}
        rows.append((len(true & found), len(found), len(true)))
    return np.array(rows)


def total_f1(rows: np.ndarray) -> float:
    return float(f1(rows.sum(0)[None])[0])
