"""The mimic model that ships: a folder of ``rarewords mimic train`` with its matrices as int8.

    python training/pack_mimic.py MIMIC OUT

A quarter of the size; ``AttentiveMimicking.from_pretrained`` reads either.
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor


def pack(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Matrices as ``NAME.int8`` and ``NAME.scale``, ``matrix ≈ int8 * scale``; the rest stays as it is."""
    packed = {}
    for name, tensor in tensors.items():
        if tensor.ndim == 2 and len(tensor) > 1:
            scale = tensor.abs().amax(dim=1).clamp_min(1e-12) / 127
            packed[f"{name}.int8"] = torch.round(tensor / scale[:, None]).to(torch.int8)
            packed[f"{name}.scale"] = scale.half()
        else:
            packed[name] = tensor
    return packed


def pack_folder(mimic: Path, out: Path) -> None:
    """Write a mimic model as a packed folder."""
    shutil.copytree(mimic, out)
    save_file(pack(load_file(mimic / "model.safetensors")), out / "model.safetensors", metadata={"format": "pt"})


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("mimic", type=Path)
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    pack_folder(arguments.mimic, arguments.out)
