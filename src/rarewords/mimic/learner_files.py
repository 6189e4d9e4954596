"""A learner as a folder: a small config and one matrix."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from rarewords.errors import InputError
from rarewords.files import read_json, whole_folder, write_json

FORMAT = "rarewords.learner/1"


def write_learner(folder: Path, config: Mapping[str, Any], transform: Tensor | None) -> None:
    """Write a learner; half precision is enough for its matrix."""
    from safetensors.torch import save_file

    with whole_folder(folder) as temporary:
        tensors = {} if transform is None else {"transform": transform.cpu().half().contiguous()}
        save_file(tensors, temporary / "model.safetensors", metadata={"format": "pt"})
        write_json(temporary / "config.json", {"format": FORMAT, **config})


def read_learner(folder: Path) -> tuple[dict[str, Any], Tensor | None]:
    """The config and the matrix of a folder written by :func:`write_learner`."""
    from safetensors.torch import load_file

    if not is_learner(folder):
        raise InputError(f"{folder} is not a learner; make one with rarewords mimic train --preset readings")
    return read_json(folder / "config.json"), load_file(folder / "model.safetensors").get("transform")


def is_learner(folder: Path) -> bool:
    """Whether a folder holds a learner, and not an attentive mimicking model."""
    path = folder / "config.json"
    return path.is_file() and read_json(path).get("format") == FORMAT


def bundled_learner() -> Path | None:
    """The learner that ships for the bundled model."""
    from importlib.resources import files

    folder = Path(str(files("rarewords") / "assets" / "minilm-learner"))
    return folder if (folder / "config.json").is_file() else None
