"""Settings of the learner and of attentive mimicking, the paper's presets, and the folders that keep them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, Self

from rarewords.errors import InputError
from rarewords.files import read_json
from rarewords.settings import bounded, check_bounds, checked_settings

LEARNER_FORMAT, MIMIC_FORMAT = "rarewords.learner/1", "rarewords.mimic/2"
_MADE_BY = {
    LEARNER_FORMAT: ("a learner", "rarewords mimic fit"),
    MIMIC_FORMAT: ("a mimic model", "rarewords mimic train"),
}
Reading = Literal["masked", "shown", "both"]


@dataclass(frozen=True, kw_only=True)
class LearnerSettings:
    """How a word is learned.

    :param contexts: the number of contexts per word that are taken from a store, at most.
    :param length: cut a context to this many tokens around the word.
    :param reading: ``masked`` puts the mask in the word's place; ``shown`` keeps the word and puts the mask
        behind it, ``kumquat / [MASK]``; ``both`` takes the mean of the two, at twice the cost.
    :param spelling: the weight of the spelling for a word that surely resembles a known one; readings have 1.
    :param condense: condense what ``word or <vector>`` does into one vector. It is the best vector to stand
        in the place of the pieces, and takes 200 gradient steps per word.
    """

    contexts: int = bounded(32, at_least=1)
    length: int = bounded(64, at_least=8)
    reading: Reading = "shown"
    spelling: float = bounded(0.5, at_least=0)
    condense: bool = False

    def __post_init__(self) -> None:
        check_bounds(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], path: str | Path) -> Self:
        """Settings from a saved file; unknown names and other types are an error."""
        return cls(**checked_settings(cls, values, path))


@dataclass(frozen=True, kw_only=True)
class MimicSettings:
    """What a mimic model consists of and how it is trained; the defaults are the paper's AM.

    :param form: use the spelling.
    :param context: use the contexts.
    :param attention: weigh contexts by their similarity to each other; otherwise all have the same weight.
    :param punctuation: count punctuation marks and numbers among the words of a context.
    :param ngram_min: the shortest character n-gram, boundary marks included; ``ngram_max``: the longest.
    :param ngram_threshold: give an embedding to n-grams that at least N frequent words of the text contain.
    :param ngram_limit: keep only the N n-grams that most words contain; 0 keeps all.
    :param ngram_dropout: share of n-grams to drop from each training instance.
    :param form_dropout: share of training instances whose form is hidden (not in the paper).
    :param contexts_min: the fewest contexts to draw for a training instance; ``contexts_max``: the most.
    :param scale: bring inferred vectors to N times the usual distance from the mean embedding (not in the
        paper); 0 leaves them as the model gives them. Least squares shortens a vector the less certain it is,
        and the language model hardly reacts to short vectors.
    :param min_count: train on words that occur at least N times.
    :param copies_per_count: a word has one training instance per epoch for every N occurrences, …
    :param copies_max: … but at most this many.
    :param held_out: share of the words to measure the cosine on instead of training on them.
    """

    form: bool = True
    context: bool = True
    attention: bool = True
    punctuation: bool = True
    ngram_min: int = bounded(3, at_least=1)
    ngram_max: int = 5
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
    seed: int = bounded(0, at_least=0)

    def __post_init__(self) -> None:
        check_bounds(self)
        if not (self.form or self.context):
            raise InputError("form and context cannot both be off")
        if self.ngram_max < self.ngram_min:
            raise InputError("ngram_max must not be below ngram_min")
        if self.contexts_max < self.contexts_min:
            raise InputError("contexts_max must not be below contexts_min")


PRESETS: dict[str, MimicSettings] = {
    "am": MimicSettings(),
    "am+context": MimicSettings(contexts_min=8, ngram_dropout=0.1),
}


def preset(name: str, **changes: Any) -> MimicSettings:
    """The settings of a preset with some changes: ``preset("am+context", epochs=5)``."""
    if name not in PRESETS:
        raise InputError(f"no mimic preset {name!r}; use {' or '.join(PRESETS)}")
    return replace(PRESETS[name], **changes)


def _config(folder: Path) -> dict[str, Any]:
    path = folder / "config.json"
    config = read_json(path) if path.is_file() else None
    return config if isinstance(config, dict) else {}


def is_learner(folder: str | Path) -> bool:
    """Whether a folder holds a learner, as opposed to an attentive mimicking model."""
    return _config(Path(folder)).get("format") == LEARNER_FORMAT


def read_config(folder: Path, expected: str, fingerprint: str) -> dict[str, Any]:
    """The config of a folder of the expected format, made for the language model of this fingerprint."""
    config, (what, command) = _config(folder), _MADE_BY[expected]
    if config.get("format") != expected:
        raise InputError(f"{folder} is not {what} of this version; make one with {command}")
    if config["fingerprint"] != fingerprint:
        raise InputError(f"{folder} was made for another model, {config['model']}; make one with {command}")
    return config


def bundled_learner(fingerprint: str) -> Path | None:
    """The learner that ships for the bundled language model, if that is the model."""
    return _bundled("gte-learner", fingerprint)


def bundled_mimic(fingerprint: str) -> Path:
    """The mimic model that ships for the bundled language model; for any other it is refused."""
    folder = _bundled("gte-am", fingerprint)
    if folder is None:
        ships = "the mimic model that ships is for the bundled language model only"
        raise InputError(f"{ships}; make one with rarewords mimic train and name it with --learner")
    return folder


def _bundled(name: str, fingerprint: str) -> Path | None:
    folder = Path(str(files("rarewords") / "assets" / name))
    return folder if _config(folder).get("fingerprint") == fingerprint else None
