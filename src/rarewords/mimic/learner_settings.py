"""The settings of :class:`~rarewords.mimic.learner.WordLearner`, and the folders that keep them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from rarewords.errors import InputError
from rarewords.files import checked_settings, read_json

FORMAT = "rarewords.learner/1"
READINGS = ("masked", "shown", "both")
# Settings of earlier versions, with the value at which they change nothing.
_REMOVED = {"attention": 0.0, "condense": 0}


@dataclass(frozen=True, kw_only=True)
class LearnerSettings:
    """How a word is learned.

    :param contexts: the number of contexts per word that are taken from a store, at most.
    :param length: cut a context to this many tokens around the word.
    :param reading: ``masked`` puts the mask in the word's place; ``shown`` keeps the word and puts the mask
        behind it, ``kumquat / [MASK]``; ``both`` takes the mean of the two, at twice the cost.
    :param matrix: how far the fitted matrix moves a reading, from 0 (not at all) to 1.
    :param spelling: the weight of the spelling for a word that surely resembles a known one; readings have 1.
    :param resemblance: the resemblance at which the spelling has half its weight.
    :param resemblance_width: how quickly the weight rises around that point.
    :param temperature: of the softmax over resembling words.
    :param pieces: the weight of the one-token approximation of the pieces.
    :param pieces_alone: its weight for a word without contexts, where the spelling has 1.
    :param scale: the distance from the mean embedding, in units of the mean distance of known words.
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
    scale: float = 1.0

    def __post_init__(self) -> None:
        problems = [
            (self.contexts < 1, "contexts must be at least 1"),
            (self.reading not in READINGS, f"reading must be one of {', '.join(READINGS)}"),
            (self.length < 8, "length must be at least 8 tokens"),
            (not 0 <= self.matrix <= 1, "matrix must be from 0 to 1"),
            (min(self.spelling, self.pieces, self.pieces_alone) < 0, "weights must not be negative"),
            (self.resemblance_width <= 0, "resemblance_width must be above 0"),
            (self.temperature <= 0, "temperature must be above 0"),
            (self.scale <= 0, "scale must be above 0"),
        ]
        for wrong, reason in problems:
            if wrong:
                raise InputError(f"learner settings: {reason}")

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], path: str | Path) -> LearnerSettings:
        """Settings from a saved file; unknown names and other types are an error."""
        kept = {name: value for name, value in values.items() if _REMOVED.get(name) != value}
        return cls(**checked_settings(cls, kept, path))


def is_learner(folder: str | Path) -> bool:
    """Whether a folder holds a learner, as opposed to an attentive mimicking model."""
    path = Path(folder) / "config.json"
    config = read_json(path) if path.is_file() else None
    return isinstance(config, dict) and config.get("format") == FORMAT


def bundled_learner(fingerprint: str) -> Path | None:
    """The learner that ships for the bundled language model, if that is the model."""
    folder = Path(str(files("rarewords") / "assets" / "gte-learner"))
    fits = is_learner(folder) and read_json(folder / "config.json")["fingerprint"] == fingerprint
    return folder if fits else None
