"""Weights as int8 with one scale per row, and the folder that ships in the package.

    python training/pack.py final.safetensors OUT --like src/rarewords/assets/NAME

makes the packed folder from a checkpoint of ``train.py``; vocabulary, config and card come from the folder
given with ``--like``.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor


def pack(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """Matrices as ``NAME.int8`` and ``NAME.scale``, ``matrix ≈ int8 * scale``; the rest as float16."""
    packed = {}
    for name, value in state.items():
        value = value.detach().float().cpu()
        if value.ndim == 2 and len(value) > 1:
            scale = (value.abs().amax(dim=1) / 127).clamp_min(1e-8).half()
            packed[f"{name}.int8"] = torch.round(value / scale.float()[:, None]).clamp(-127, 127).to(torch.int8)
            packed[f"{name}.scale"] = scale
        else:
            packed[name] = value.half()
    return packed


def unpack(packed: dict[str, Tensor]) -> dict[str, Tensor]:
    """The float32 weights of :func:`pack`."""
    state = {}
    for name, value in packed.items():
        if name.endswith(".int8"):
            key = name.removesuffix(".int8")
            state[key] = value.float() * packed[f"{key}.scale"].float()[:, None]
        elif not name.endswith(".scale"):
            state[name] = value.float()
    return state


def make_folder(checkpoint: Path, out: Path, like: Path) -> None:
    """Write the packed folder with a manifest of what unpacking it must give."""
    from rarewords._internal.files import file_digest, write_json
    from rarewords.models import load_packed

    out.mkdir(parents=True, exist_ok=True)
    names = [
        path.name for path in like.iterdir() if path.suffix in (".json", ".txt", ".md") and path.stem != "manifest"
    ]
    for name in names:
        if like != out:
            shutil.copyfile(like / name, out / name)
    shutil.copyfile(checkpoint, out / "weights.int8.safetensors")
    assert load_file(checkpoint)["bert.embeddings.word_embeddings.weight.int8"].dtype == torch.int8
    with tempfile.TemporaryDirectory() as temporary:
        tensors = load_packed(out / "weights.int8.safetensors")
        save_file(tensors, Path(temporary) / "model.safetensors", metadata={"format": "pt"})
        digests = {name: file_digest(out / name) for name in names}
        digests["model.safetensors"] = file_digest(Path(temporary) / "model.safetensors")
    write_json(out / "manifest.json", {"unpacked": digests})


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--like", type=Path, required=True)
    arguments = parser.parse_args()
    make_folder(arguments.checkpoint, arguments.out, arguments.like)
