"""The folder of a mimic model: config.json, model.safetensors, ngrams.txt and the targets it read with."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from rarewords.errors import InputError
from rarewords.files import read_json, whole_folder, write_json
from rarewords.mimic.ngrams import NgramTable
from rarewords.vectors import WordVectors

_FORMAT = "rarewords.mimic/1"
_WORDS = "targets.txt"


def pack(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """A matrix as int8 with one scale a row: ``matrix ≈ numbers * scale``."""
    scale = matrix.abs().amax(dim=1).clamp_min(1e-12) / 127
    return torch.round(matrix / scale[:, None]).to(torch.int8), scale.half()


def unpack(numbers: Tensor, scale: Tensor) -> Tensor:
    """The matrix that :func:`pack` made small, in float32."""
    return numbers.float() * scale.float()[:, None]


def write_mimic(
    folder: Path,
    config: Mapping[str, Any],
    state: Mapping[str, Tensor],
    table: NgramTable,
    targets: WordVectors | None,
    *,
    packed: bool,
) -> None:
    """Write a mimic model, whole or not at all."""
    from safetensors.torch import save_file

    tensors = {name: value.detach().cpu().contiguous() for name, value in state.items()}
    if targets is not None:
        tensors["targets"] = torch.from_numpy(targets.matrix.copy())
    if packed:
        large = [name for name, value in tensors.items() if value.ndim == 2 and len(value) > 1]
        for name in large:
            tensors[f"{name}.int8"], tensors[f"{name}.scale"] = pack(tensors.pop(name))
    with whole_folder(folder) as temporary:
        save_file(tensors, temporary / "model.safetensors", metadata={"format": "pt"})
        (temporary / "ngrams.txt").write_text("\n".join(table.known), "utf-8")
        if targets is not None:
            (temporary / _WORDS).write_text("\n".join(targets.words), "utf-8")
        write_json(
            temporary / "config.json",
            {**config, "format": _FORMAT, "ngrams": [table.shortest, table.longest], "packed": packed},
        )


def bundled_mimic(fingerprint: str) -> Path:
    """The attentive mimicking model that ships for the bundled language model, if that is the one."""
    from importlib.resources import files

    folder = Path(str(files("rarewords") / "assets" / "minilm-am"))
    if (
        not (folder / "config.json").is_file()
        or read_json(folder / "config.json")["fingerprint"] != fingerprint
    ):
        raise InputError(
            "a mimic model ships for the bundled language model alone; train one with rarewords mimic train "
            "--preset am+context and give its folder with --mimic"
        )
    return folder


def read_mimic(folder: Path) -> tuple[dict[str, Any], dict[str, Tensor], NgramTable, WordVectors | None]:
    """Read a mimic model: its config, its weights, its n-grams and the vectors it was trained to mimic."""
    from safetensors.torch import load_file

    if not (folder / "config.json").is_file():
        raise InputError(f"{folder} is not a mimic model; make one with rarewords mimic train")
    config = read_json(folder / "config.json")
    if config.get("format") != _FORMAT:
        raise InputError(f"{folder} is not a mimic model of this version; train it again")
    tensors = load_file(folder / "model.safetensors")
    for name in [name for name in tensors if name.endswith(".int8")]:
        key = name.removesuffix(".int8")
        tensors[key] = unpack(tensors.pop(name), tensors.pop(f"{key}.scale"))
    known = (folder / "ngrams.txt").read_text("utf-8")
    table = NgramTable(known.split("\n") if known else [], *config["ngrams"])
    targets = None
    if "targets" in tensors:
        words = (folder / _WORDS).read_text("utf-8").split("\n")
        targets = WordVectors(words, tensors.pop("targets").numpy(), {"fingerprint": config["fingerprint"]})
    return config, tensors, table, targets
