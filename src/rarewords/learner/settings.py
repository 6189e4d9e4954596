"""The settings of a learner, and the folders that learners and mimic models are saved in."""

from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from rarewords._internal.files import read_json
from rarewords._internal.schema import bounded, check_bounds, parse
from rarewords.errors import InputError

LEARNER_FORMAT, MIMIC_FORMAT = "rarewords.learner/2", "rarewords.mimic/2"
Reading = Literal["masked", "shown", "both"]
_ASSETS = Path(str(files("rarewords") / "assets"))
BUNDLED_MIMIC = _ASSETS / "gte-am"  # for the bundled language model


@dataclass(frozen=True, kw_only=True)
class LearnerSettings:
    """How a word is learned.

    :param contexts: the number of contexts per word that are taken from a corpus, at most.
    :param length: cut a context to this many tokens around the word.
    :param reading: ``masked`` puts the mask in the word's place; ``shown`` keeps the word and puts the mask
        behind it, ``kumquat / [MASK]``; ``both`` takes the mean of the two, at twice the cost.
    :param spelling: the weight of the spelling for a word that surely resembles a known one; readings have 1.
    """

    contexts: int = bounded(32, at_least=1)
    length: int = bounded(64, at_least=8)
    reading: Reading = "shown"
    spelling: float = bounded(0.5, at_least=0)

    def __post_init__(self) -> None:
        check_bounds(self)


def _config(folder: Path) -> dict[str, Any]:
    path = folder / "config.json"
    config = read_json(path) if path.is_file() else None
    return config if isinstance(config, dict) else {}


def is_learner(folder: str | Path) -> bool:
    """Whether a folder holds a learner, as opposed to an attentive mimicking model."""
    return _config(Path(folder)).get("format") == LEARNER_FORMAT


@dataclass(frozen=True)
class LearnerConfig:
    """What ``config.json`` of a learner or a mimic model holds."""

    model: str
    fingerprint: str
    settings: dict[str, Any]
    fitted: dict[str, Any] = field(default_factory=dict)
    history: list[dict[str, Any]] = field(default_factory=list)


def read_config(folder: Path, expected: str, fingerprint: str, remedy: str) -> LearnerConfig:
    """The config of a folder of the expected format, made for the language model of this fingerprint."""
    config = _config(folder)
    if config.get("format") != expected:
        raise InputError(f"{folder} holds no learner in the format {expected}; {remedy}", code="learner")
    found = parse(LearnerConfig, config, folder / "config.json", remedy)
    if found.fingerprint != fingerprint:
        raise InputError(f"{folder} was made for another model, {found.model}; {remedy}", code="model-mismatch")
    return found


def bundled_learner(fingerprint: str) -> Path | None:
    """The learner that ships for the bundled language model, if that is the model."""
    folder = _ASSETS / "gte-learner"
    return folder if _config(folder).get("fingerprint") == fingerprint else None
