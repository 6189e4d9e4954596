"""Settings of attentive mimicking with the paper's presets, and the files of a trained model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from rarewords.errors import InputError
from rarewords.files import checked_settings, read_json


@dataclass(frozen=True, kw_only=True)
class MimicSettings:
    """What a mimic model consists of and how it is trained; the defaults are the paper's AM.

    :param form: use the spelling.
    :param context: use the contexts.
    :param attention: weigh contexts by their similarity to each other; otherwise all have the same weight.
    :param punctuation: count punctuation marks and numbers among the words of a context.
    :param ngram_min: length of the shortest character n-gram, boundary marks included.
    :param ngram_max: length of the longest.
    :param ngram_threshold: give an embedding to n-grams that at least N frequent words of the text contain.
    :param ngram_limit: keep only the N n-grams that most words contain; 0 keeps all.
    :param ngram_dropout: share of n-grams to drop from each training instance.
    :param form_dropout: share of training instances whose form is hidden (not in the paper).
    :param contexts_min: the smallest number of contexts to draw for a training instance.
    :param contexts_max: the largest.
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
    ngram_min: int = 3
    ngram_max: int = 5
    ngram_threshold: int = 4
    ngram_limit: int = 0
    ngram_dropout: float = 0.0
    form_dropout: float = 0.0
    contexts_min: int = 1
    contexts_max: int = 64
    scale: float = 0.0
    min_count: int = 100
    copies_per_count: int = 100
    copies_max: int = 5
    epochs: int = 10
    batch_size: int = 64
    learning_rate: float = 0.01
    held_out: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        zero_or_more = ("ngram_limit", "scale", "seed")
        counts = ("min_count", "copies_per_count", "copies_max", "epochs", "batch_size")
        one_or_more = ("ngram_min", "ngram_threshold", "contexts_min", *counts)
        shares = ("ngram_dropout", "form_dropout", "held_out")
        problems = {
            "form and context cannot both be off": not (self.form or self.context),
            "ngram_max must not be below ngram_min": self.ngram_max < self.ngram_min,
            "contexts_max must not be below contexts_min": self.contexts_max < self.contexts_min,
            "learning_rate must be above 0": self.learning_rate <= 0,
            **{f"{name} must be at least 0": getattr(self, name) < 0 for name in zero_or_more},
            **{f"{name} must be at least 1": getattr(self, name) < 1 for name in one_or_more},
            **{f"{name} must be from 0 to below 1": not 0 <= getattr(self, name) < 1 for name in shares},
        }
        for reason, wrong in problems.items():
            if wrong:
                raise InputError(f"mimic settings: {reason}")


PRESETS: dict[str, MimicSettings] = {
    "am": MimicSettings(),
    "am+context": MimicSettings(contexts_min=8, ngram_dropout=0.1),
}


def preset(name: str, **changes: Any) -> MimicSettings:
    """The settings of a preset with some changes: ``preset("am+context", epochs=5)``."""
    if name not in PRESETS:
        raise InputError(f"no mimic preset {name!r}; use {' or '.join(PRESETS)}")
    return replace(PRESETS[name], **changes)


FORMAT = "rarewords.mimic/2"


def save_tensors(path: Path, tensors: Mapping[str, Tensor], *, packed: bool) -> None:
    """Write tensors; ``packed`` stores matrices as int8, ``matrix ≈ numbers * scale`` of the row."""
    kept = {}
    for name, tensor in tensors.items():
        matrix = tensor.detach().cpu().contiguous()
        if packed and matrix.ndim == 2 and len(matrix) > 1:
            scale = matrix.abs().amax(dim=1).clamp_min(1e-12) / 127
            kept[f"{name}.int8"] = torch.round(matrix / scale[:, None]).to(torch.int8)
            kept[f"{name}.scale"] = scale.half()
        else:
            kept[name] = matrix
    save_file(kept, path, metadata={"format": "pt"})


def load_tensors(path: Path) -> dict[str, Tensor]:
    """Read tensors that :func:`save_tensors` wrote, as float32."""
    tensors = load_file(path)
    for name in [name.removesuffix(".int8") for name in tensors if name.endswith(".int8")]:
        tensors[name] = tensors.pop(f"{name}.int8").float() * tensors.pop(f"{name}.scale").float()[:, None]
    return tensors


def read_config(folder: Path) -> tuple[dict[str, Any], MimicSettings]:
    """The config of a mimic model and its settings."""
    if not (folder / "config.json").is_file():
        raise InputError(f"{folder} is not a mimic model; make one with rarewords mimic train")
    config = read_json(folder / "config.json")
    if not isinstance(config, dict) or config.get("format") != FORMAT:
        raise InputError(f"{folder} is not a mimic model of this version; train it again")
    values = checked_settings(MimicSettings, config["settings"], folder / "config.json")
    return config, MimicSettings(**values)


def bundled_mimic(fingerprint: str) -> Path:
    """The folder of the mimic model that ships, if the fingerprint is the bundled language model's."""
    folder = Path(str(files("rarewords") / "assets" / "gte-am"))
    config = folder / "config.json"
    if not config.is_file() or read_json(config)["fingerprint"] != fingerprint:
        raise InputError(
            "the mimic model that ships is for the bundled language model only; train one with "
            "rarewords mimic train and give its folder with --learner"
        )
    return folder
