"""How a word is learned from what the model reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from rarewords.errors import InputError

READINGS = ("masked", "shown", "both")


@dataclass(frozen=True, kw_only=True)
class LearnerSettings:
    """How a word is learned.

    :param contexts: read at most so many contexts of a word.
    :param length: cut each to so many tokens around the word.
    :param reading: ``masked`` puts the mask in the word's place; ``shown`` keeps the word, the mask behind:
        ``kumquat / [MASK]``; ``both`` takes the mean of the two, at twice the cost.
    :param matrix: how far a reading is moved by the fitted matrix, from 0 (not at all) to 1.
    :param spelling: the weight of the spelling beside the readings' 1, for a word that surely resembles.
    :param resemblance: from here on the spelling has half its weight …
    :param resemblance_width: … and so quickly it rises to all of it.
    :param temperature: of the softmax over resembling words.
    :param pieces: the weight of the one-token approximation of the pieces.
    :param pieces_alone: its weight beside the spelling's 1 for a word without contexts.
    :param attention: how much contexts count that agree with the pieces' approximation: a context weighs
        ``exp(attention * cosine)``; 0: all count the same.
    :param condense: so many gradient steps bring a vector nearer to what ``word / <vector>`` does
        (:mod:`rarewords.ota.condense`).
    :param scale: how far from the mean embedding, in units of what known words have.
    """

    contexts: int = 32
    length: int = 64
    reading: str = "shown"
    matrix: float = 1.0
    spelling: float = 0.5
    resemblance: float = 0.5
    resemblance_width: float = 0.1
    temperature: float = 0.03
    pieces: float = 0.0
    pieces_alone: float = 0.5
    attention: float = 0.0
    condense: int = 0
    scale: float = 1.0

    def __post_init__(self) -> None:
        problems = [
            (self.contexts < 1, "contexts must be at least 1"),
            (self.reading not in READINGS, f"reading must be one of {', '.join(READINGS)}"),
            (self.length < 8, "length must be at least 8 tokens"),
            (not 0 <= self.matrix <= 1, "matrix must be from 0 to 1"),
            (min(self.spelling, self.pieces, self.pieces_alone) < 0, "weights must not be negative"),
            (self.attention < 0 or self.condense < 0, "attention and condense must not be negative"),
            (self.resemblance_width <= 0, "resemblance_width must be above 0"),
            (self.temperature <= 0, "temperature must be above 0"),
            (self.scale <= 0, "scale must be above 0"),
        ]
        for wrong, reason in problems:
            if wrong:
                raise InputError(f"learner settings: {reason}")

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> LearnerSettings:
        """Settings from a saved file; unknown names are refused."""
        unknown = sorted(set(values) - {field.name for field in fields(cls)})
        if unknown:
            raise InputError(f"unknown learner setting {unknown[0]!r}; was it written by a newer rarewords?")
        return cls(**values)
