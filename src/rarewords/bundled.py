"""The model that ships with the package, unpacked on first use into the user's cache.

In the package it is packed: each large matrix as int8 with one scale per row, the rest as float16. In the
cache it is an ordinary Hugging Face folder in float32. Unpacking happens once under a lock, appears whole
or not at all, and is checked against known checksums whenever the model is asked for.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from importlib.resources import as_file, files
from pathlib import Path

from filelock import FileLock

from rarewords.errors import InputError
from rarewords.files import explain_os_error, file_digest, read_json, whole_folder

DEFAULT_MODEL = "default"
BUNDLED_NAME = "minilm-mlm"
_PACKED_WEIGHTS = "weights.int8.safetensors"
_MANIFEST = "manifest.json"


def cache_folder() -> Path:
    """Where rarewords keeps what it can make again; set ``RAREWORDS_CACHE`` to move it."""
    chosen = os.environ.get("RAREWORDS_CACHE")
    if chosen:
        return Path(chosen)
    from platformdirs import user_cache_path

    return user_cache_path("rarewords")


def bundled_model() -> Path:
    """The bundled model as a Hugging Face folder, unpacked or repaired first where that is needed."""
    with as_file(files("rarewords") / "assets" / BUNDLED_NAME) as packed:
        expected: dict[str, str] = read_json(packed / _MANIFEST)["unpacked"]
        target = cache_folder() / "models" / f"{BUNDLED_NAME}-{expected['model.safetensors'][:12]}"
        if _intact(target, expected):
            return target
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with FileLock(target.with_name(target.name + ".lock")):
                if not _intact(target, expected):  # another process may have just made it
                    _unpack(packed, target, expected)
        except OSError as error:
            problem = explain_os_error(error, target)
            raise InputError(
                f"{problem} (RAREWORDS_CACHE sets where the bundled model is unpacked)"
            ) from error
        return target


def unpack_weights(packed: Path, target: Path) -> None:
    """Turn packed weights into a float32 safetensors file."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file, save_file

    stored, tensors = load_file(packed), {}
    for name, value in stored.items():
        if name.endswith(".int8"):
            key = name.removesuffix(".int8")
            tensors[key] = value.float() * stored[f"{key}.scale"].float()[:, None]
        elif not name.endswith(".scale"):
            tensors[name] = value.float()
    try:
        save_file(tensors, target, metadata={"format": "pt"})
    except SafetensorError as error:
        if "os error 28" in str(error).lower() or "no space" in str(error).lower():
            raise InputError(f"{target.parent}: no space left on the disk; free some space") from error
        raise


def _unpack(packed: Path, target: Path, expected: Mapping[str, str]) -> None:
    with whole_folder(target, replace=True) as folder:
        unpack_weights(packed / _PACKED_WEIGHTS, folder / "model.safetensors")
        for name in expected:
            if name != "model.safetensors":
                shutil.copyfile(packed / name, folder / name)
        damaged = _first_difference(folder, expected)
        if damaged:
            raise InputError(f"the bundled model is damaged ({damaged}); install rarewords again")


def _intact(folder: Path, expected: Mapping[str, str]) -> bool:
    return folder.is_dir() and _first_difference(folder, expected) is None


def _first_difference(folder: Path, expected: Mapping[str, str]) -> str | None:
    for name, digest in expected.items():
        try:
            if file_digest(folder / name) != digest:
                return name
        except OSError:
            return name
    return None
