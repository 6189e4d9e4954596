"""Finding and loading a model by name, and choosing where and in which numbers it computes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from rarewords.bundled import DEFAULT_MODEL, bundled_model
from rarewords.errors import InputError


def load_pretrained(name: str | Path = DEFAULT_MODEL) -> tuple[Any, Any]:
    """The Hugging Face model (float32, on the CPU) and tokenizer for a name, with clear errors."""
    from transformers import AutoModelForMaskedLM, AutoTokenizer
    from transformers.utils import logging

    logging.disable_progress_bar()  # weights load in a moment; a bar per load only clutters stderr
    source = str(bundled_model()) if str(name) == DEFAULT_MODEL else str(name)
    _check_source(source)
    try:
        model, report = AutoModelForMaskedLM.from_pretrained(
            source, trust_remote_code=False, output_loading_info=True
        )
        tokenizer = AutoTokenizer.from_pretrained(source, trust_remote_code=False)
    except (OSError, ValueError, KeyError, RuntimeError, ImportError) as error:
        raise InputError(f"the model {name} cannot be loaded: {_first_line(error)}") from error
    missing = sorted(set(report["missing_keys"]))
    if missing:
        raise InputError(
            f"{name} lacks weights of a masked language model ({missing[0]} and {len(missing) - 1} more); "
            "it may have been saved without its masked-LM head: use the original masked LM"
        )
    return model.float(), tokenizer


def choose_device(device: str = "auto") -> torch.device:
    """A device by name; ``auto`` takes cuda, then mps, then cpu."""
    if device == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        chosen = torch.device(device)
    except RuntimeError:
        raise InputError(f"unknown device {device!r}; use auto, cuda, cuda:N, mps or cpu") from None
    if chosen.type == "cuda" and not torch.cuda.is_available():
        raise InputError("this machine has no CUDA device that PyTorch can use; use --device cpu")
    if chosen.type == "mps" and not torch.backends.mps.is_available():
        raise InputError("this machine has no MPS device; use --device cpu")
    return chosen


def choose_dtype(dtype: str) -> torch.dtype:
    """``float32`` or ``bfloat16`` as a torch type."""
    types = {"float32": torch.float32, "bfloat16": torch.bfloat16}
    if dtype not in types:
        raise InputError(f"unknown number type {dtype!r}; use float32 or bfloat16")
    return types[dtype]


def _check_source(source: str) -> None:
    path = Path(source)
    looks_local = (
        path.is_absolute() or source.startswith((".", "~")) or source.count("/") > 1 or path.is_file()
    )
    if path.is_file():
        raise InputError(f"{source} is a file; give the model's folder")
    if looks_local and not path.is_dir():
        raise InputError(f"the model folder {source} does not exist")
    if path.is_dir() and not (path / "config.json").is_file():
        raise InputError(f"{source} has no config.json, so it is not a Hugging Face model folder")


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__
