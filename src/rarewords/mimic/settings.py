"""What a mimic model is and how it is trained, with the paper's presets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from rarewords.errors import InputError

LOSSES = ("squared", "cosine")


@dataclass(frozen=True, kw_only=True)
class MimicSettings:
    """Settings of an attentive mimicking model; the defaults are the paper's AM.

    :param form: learn from the spelling.
    :param context: learn from the sentences.
    :param reading: let the language model read the contexts (:mod:`rarewords.mimic.readings`) instead of
        taking the mean of their words' embeddings; A then starts as the identity (not in the paper).
    :param attention: weigh contexts by how much they resemble the others; otherwise all count the same.
    :param ngram_min: the shortest character n-gram, boundary marks included.
    :param ngram_max: the longest.
    :param ngram_threshold: an n-gram is kept when that many training words contain it.
    :param ngram_limit: keep at most this many n-grams, those of the most training words; 0 keeps all.
    :param ngram_dropout: the share of a word's n-grams left out of each training instance.
    :param form_dropout: the share of training instances that get no form at all (not in the paper).
    :param contexts_min: the fewest contexts drawn for a training instance.
    :param contexts_max: the most.
    :param skip_frequent: leave the so many most frequent words out of every context (not in the paper).
    :param centre: learn vectors as differences from the mean embedding (not in the paper).
    :param scale: bring inferred vectors to this length, measured from the mean embedding in units of the
        embeddings' own; 0 leaves them as the model gives them (as in the paper). Least squares makes a vector
        the shorter the less sure it is, and short vectors say little to the language model.
    :param pieces: the weight, beside the model's 1, of what the language model knows by the word's pieces:
        their one-token approximation, added to the vectors once both have the same length (not in the paper).
    :param pieces_alone: that weight for a word without contexts, which may well be a misspelling.
    :param loss: ``squared`` distance to the true vector (the paper's), or ``cosine``: only the direction from
        the mean embedding counts, as where vectors are brought to one length anyway.
    :param min_count: train on words that occur at least that often.
    :param copies_per_count: a word has one training instance an epoch for each so many occurrences …
    :param copies_max: … but at most this many.
    """

    form: bool = True
    context: bool = True
    reading: bool = False
    attention: bool = True
    ngram_min: int = 3
    ngram_max: int = 5
    ngram_threshold: int = 4
    ngram_limit: int = 0
    ngram_dropout: float = 0.0
    form_dropout: float = 0.0
    contexts_min: int = 1
    contexts_max: int = 64
    skip_frequent: int = 0
    centre: bool = False
    scale: float = 0.0
    pieces: float = 0.0
    pieces_alone: float = 0.0
    loss: str = "squared"
    min_count: int = 100
    copies_per_count: int = 100
    copies_max: int = 5
    epochs: int = 10
    batch_size: int = 64
    learning_rate: float = 0.01
    final_learning_rate: float = 0.01
    held_out: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        problems = [
            (not (self.form or self.context), "form and context cannot both be off"),
            (self.reading and not self.context, "reading is a way to use contexts; context is off"),
            (self.reading and not self.centre, "reading needs centre: readings differ little from the mean"),
            (not 1 <= self.ngram_min <= self.ngram_max, "ngram_min must be from 1 to ngram_max"),
            (self.ngram_threshold < 1, "ngram_threshold must be at least 1"),
            (self.ngram_limit < 0, "ngram_limit must be at least 0"),
            (not 0 <= self.ngram_dropout < 1, "ngram_dropout must be from 0 to below 1"),
            (not 0 <= self.form_dropout < 1, "form_dropout must be from 0 to below 1"),
            (not 1 <= self.contexts_min <= self.contexts_max, "contexts_min must be from 1 to contexts_max"),
            (self.skip_frequent < 0, "skip_frequent must be at least 0"),
            (self.scale < 0, "scale must be at least 0"),
            (min(self.pieces, self.pieces_alone) < 0, "weights of pieces must be at least 0"),
            (
                (self.pieces > 0 or self.pieces_alone > 0) and not self.scale,
                "pieces are added to vectors of one length; set a scale as well",
            ),
            (self.loss not in LOSSES, f"loss must be one of {', '.join(LOSSES)}"),
            (self.min_count < 1, "min_count must be at least 1"),
            (self.copies_per_count < 1 or self.copies_max < 1, "copies must be at least 1"),
            (self.epochs < 1 or self.batch_size < 1, "epochs and batch_size must be at least 1"),
            (self.learning_rate <= 0 or self.final_learning_rate <= 0, "learning rates must be above 0"),
            (not 0 <= self.held_out < 0.9, "held_out must be from 0 to below 0.9"),
        ]
        for wrong, reason in problems:
            if wrong:
                raise InputError(f"mimic settings: {reason}")

    def to_dict(self) -> dict[str, Any]:
        """The settings as JSON can hold them."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> MimicSettings:
        """Settings from a saved file; unknown names are refused."""
        known = {field.name for field in fields(cls)}
        unknown = sorted(set(values) - known)
        if unknown:
            raise InputError(f"unknown mimic setting {unknown[0]!r}; was it written by a newer rarewords?")
        return cls(**values)


_PRESETS: dict[str, dict[str, Any]] = {
    "am": {},
    "am+context": {"contexts_min": 8, "ngram_dropout": 0.1},
    # Chosen on WNLaMPro dev: contexts count more, and what the pieces say is not thrown away.
    "am+pieces": {
        "contexts_min": 8,
        "ngram_dropout": 0.3,
        "form_dropout": 0.5,
        "loss": "cosine",
        "learning_rate": 0.005,
        "final_learning_rate": 0.0005,
        "epochs": 5,
        "scale": 2.0,
        "pieces": 0.6,
        "pieces_alone": 0.2,
    },
    # The paper's model over readings; learned from words of one piece, whose readings may not be themselves.
    "am+readings": {
        "reading": True,
        "centre": True,
        "scale": 1.0,
        "ngram_dropout": 0.1,
        "form_dropout": 0.3,
        "contexts_max": 16,
        "learning_rate": 0.001,
        "final_learning_rate": 0.0001,
    },
}


def preset(name: str, **changes: Any) -> MimicSettings:
    """The settings of a preset, some changed: ``preset("am+context", epochs=5)``."""
    if name not in _PRESETS:
        raise InputError(f"no mimic preset {name!r}; there are readings, {', '.join(_PRESETS)}")
    return replace(MimicSettings(**_PRESETS[name]), **changes)
