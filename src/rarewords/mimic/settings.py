"""The settings of attentive mimicking, and the presets of the paper."""

from dataclasses import dataclass, replace
from typing import Any

from rarewords._internal.schema import LARGEST_NUMBER, bounded, check_bounds
from rarewords.errors import InputError


@dataclass(frozen=True, kw_only=True)
class MimicSettings:
    """What a mimic model consists of and how it is trained; the defaults are the paper's AM.

    :param form: use the spelling; ``context``: use the contexts.
    :param ngram_threshold: give an embedding to n-grams that at least N frequent words of the text contain.
    :param ngram_limit: keep only the N n-grams that most words contain; 0 keeps all.
    :param ngram_dropout: share of n-grams to drop from each training instance.
    :param form_dropout: share of training instances whose form is hidden (not in the paper).
    :param contexts_min: the fewest contexts to draw for a training instance; ``contexts_max``: the most.
    :param scale: bring inferred embeddings to N times the usual distance from the mean embedding (not in the
        paper), because the language model hardly reacts to short ones; 0 leaves them as they are.
    :param min_count: train on words that occur at least N times.
    :param copies_per_count: a word has one training instance per epoch for every N occurrences, …
    :param copies_max: … but at most this many.
    :param held_out: share of the words to measure the cosine on instead of training on them.
    """

    form: bool = True
    context: bool = True
    ngram_threshold: int = bounded(4, at_least=1)
    ngram_limit: int = bounded(0, at_least=0)
    ngram_dropout: float = bounded(0.0, at_least=0, below=1)
    form_dropout: float = bounded(0.0, at_least=0, below=1)
    contexts_min: int = bounded(1, at_least=1)
    contexts_max: int = 64
    scale: float = bounded(0.0, at_least=0)
    min_count: int = bounded(100, at_least=1)
    copies_per_count: int = bounded(100, at_least=1)
    copies_max: int = bounded(5, at_least=1)
    epochs: int = bounded(10, at_least=1)
    batch_size: int = bounded(64, at_least=1)
    learning_rate: float = bounded(0.01, above=0)
    held_out: float = bounded(0.0, at_least=0, below=1)
    seed: int = bounded(0, at_least=0, at_most=LARGEST_NUMBER)

    def __post_init__(self) -> None:
        check_bounds(self)
        if not (self.form or self.context):
            raise InputError("form and context cannot both be off", code="settings")
        if self.contexts_max < self.contexts_min:
            raise InputError("contexts_max must not be below contexts_min", code="settings")


PRESETS = {"am": MimicSettings(), "am+context": MimicSettings(contexts_min=8, ngram_dropout=0.1)}


def preset(name: str, **changes: Any) -> MimicSettings:
    """The settings of a preset with some changes: ``preset("am+context", epochs=5)``."""
    if name not in PRESETS:
        raise InputError(f"no mimic preset {name!r}; use {' or '.join(PRESETS)}", code="settings")
    return replace(PRESETS[name], **changes)
