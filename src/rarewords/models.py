"""Finding and loading models: the bundled one, a local folder or a hub name.

The bundled model is packed as int8. On first use it is unpacked into the user's cache as an ordinary Hugging Face
folder in float32, and checked against known checksums whenever it is loaded.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from filelock import FileLock

from rarewords._internal.files import file_digest, read_json, whole_folder, writing
from rarewords.errors import InputError
from rarewords.model_folder import check_folder, check_loaded, check_size, is_sentence_transformer, transformer_folder

if TYPE_CHECKING:
    import torch

DEFAULT_MODEL = "default"
BUNDLED_NAME = "gte-mlm"
# Files of a model on the hub that are not needed: the same weights for other frameworks.
_OTHER_FRAMEWORKS = ["*.onnx", "*.h5", "*.msgpack", "*.ot", "*.tflite", "*.gguf", "onnx/*", "openvino/*", "coreml/*"]
_OTHER_WEIGHTS = [*_OTHER_FRAMEWORKS, "*.bin", "*.pt", "*.pth"]
_SECONDS_FOR_THE_HUB = 10.0

Kind = Literal["masked", "encoder", "causal"]
KIND_TITLES = {"masked": "a masked LM", "encoder": "an encoder", "causal": "a causal LM"}


def model_kind(name: str | Path = DEFAULT_MODEL) -> Kind:
    """What a model is, by its folder and its config; a sentence-transformers folder is an encoder."""
    from transformers import AutoConfig

    folder = model_folder(name)
    if is_sentence_transformer(folder):
        return "encoder"
    with _loading(f"the model {name}"):
        config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
    architecture = (config.architectures or [""])[0]
    if architecture.endswith(("ForCausalLM", "LMHeadModel")):
        return "causal"
    return "encoder" if architecture.endswith("Model") and not config.is_encoder_decoder else "masked"


def load_pretrained(name: str | Path = DEFAULT_MODEL) -> tuple[Any, Any]:
    """The Hugging Face model (on the CPU, numbers as stored) and the tokenizer for a name."""
    import torch
    from transformers import AutoConfig, AutoModel, AutoModelForCausalLM, AutoModelForMaskedLM, AutoTokenizer
    from transformers.utils import logging

    logging.disable_progress_bar()  # weights load in a moment; a bar per load only clutters stderr
    folder, kind = transformer_folder(model_folder(name)), model_kind(name)
    loader = {"encoder": AutoModel, "causal": AutoModelForCausalLM, "masked": AutoModelForMaskedLM}[kind]
    with _loading(f"the model {name}"):
        config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
        with torch.device("meta"):
            check_size(folder, loader.from_config(config, trust_remote_code=False))
        model, report = loader.from_pretrained(folder, trust_remote_code=False, output_loading_info=True)
        tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
        tokenizer("a")  # a damaged config may show only now
        check_loaded(name, model, tokenizer)
    missing = sorted(set(report["missing_keys"]))
    if kind == "encoder" and missing and all(key.startswith("pooler.") for key in missing):
        model.pooler, missing = None, []  # random weights would be saved
    if missing:
        problem = f"lacks weights of {KIND_TITLES[kind]} ({missing[0]} and {len(missing) - 1} more)"
        raise InputError(f"{name} {problem}; if it lost its head, use the original model", code="model-kind")
    return model, tokenizer


def load_tokenizer(name: str | Path = DEFAULT_MODEL) -> Any:
    """The tokenizer of a model, without its weights."""
    from transformers import AutoTokenizer

    with _loading(f"the tokenizer of {name}"):
        folder = transformer_folder(model_folder(name))
        tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
        tokenizer("a")
        return tokenizer


def choose_device(device: str = "auto") -> torch.device:
    """A device by name; ``auto`` prefers cuda, then mps, then cpu."""
    import torch

    there = {"cuda": torch.cuda.device_count(), "mps": int(torch.backends.mps.is_available()), "cpu": 1}
    if device == "auto":
        return torch.device(next(kind for kind, number in there.items() if number))
    try:
        chosen = torch.device(device)
    except RuntimeError:
        chosen = torch.device("meta")
    if chosen.type not in there:
        raise InputError(f"unknown device {device!r}; use auto, cuda, cuda:N, mps or cpu", code="device")
    if (chosen.index or 0) >= there[chosen.type]:
        raise InputError(f"this machine has no device {device} that PyTorch can use; use cpu", code="device")
    return chosen


def shown_name(model: str | Path) -> str:
    """A model's name for people, without a path of this machine."""
    if str(model) == DEFAULT_MODEL:
        return BUNDLED_NAME
    return Path(model).resolve().name if Path(model).is_dir() else str(model)


def cache_folder() -> Path:
    """Where rarewords keeps what it can make again; set ``RAREWORDS_CACHE`` to move it."""
    from huggingface_hub.constants import HF_HOME

    return Path(os.environ.get("RAREWORDS_CACHE") or Path(HF_HOME) / "rarewords")


def bundled_model() -> Path:
    """The bundled model as a Hugging Face folder, unpacked or repaired first if necessary."""
    packed = Path(__file__).parent / "assets" / BUNDLED_NAME
    expected: dict[str, str] = read_json(packed / "manifest.json")["unpacked"]
    target = cache_folder() / "models" / f"{BUNDLED_NAME}-{expected['model.safetensors'][:12]}"
    if _damaged(target, expected):
        with writing(f"{target} (RAREWORDS_CACHE sets its place)"):
            target.parent.mkdir(parents=True, exist_ok=True)
            with FileLock(target.with_name(target.name + ".lock")):
                if _damaged(target, expected):  # another process may have just made it
                    shutil.rmtree(target, ignore_errors=True)
                    _unpack(packed, target, expected)
    return target


def load_packed(path: Path) -> dict[str, torch.Tensor]:
    """The tensors of a file as float32; a packed matrix is stored as int8 with one scale per row."""
    from safetensors.torch import load_file

    stored, tensors = load_file(path), {}
    for name, value in stored.items():
        if name.endswith(".int8"):
            key = name.removesuffix(".int8")
            tensors[key] = value.float() * stored[f"{key}.scale"].float()[:, None]
        elif not name.endswith(".scale"):
            tensors[name] = value.float()
    return tensors


def model_folder(name: str | Path) -> Path:
    """The folder of a model, checked: the bundled one, a local folder, or a download from the hub."""
    source = str(bundled_model()) if str(name) == DEFAULT_MODEL else str(name)
    path = Path(source)
    looks_local = path.is_absolute() or source.startswith((".", "~")) or source.count("/") > 1
    if path.is_file() or (looks_local and not path.is_dir()):
        problem = "is a file; give the model's folder" if path.is_file() else "does not exist; check the path"
        raise InputError(f"{source} {problem}", code="model-not-found")
    path = path if path.is_dir() else _downloaded(source)
    check_folder(path)
    if not (transformer_folder(path) / "config.json").is_file():
        raise InputError(f"{path} is no Hugging Face folder: it lacks config.json", code="model-not-found")
    return path


@cache
def _downloaded(name: str) -> Path:
    """A model of the hub in the hub's cache, which is enough where there is no connection."""
    from huggingface_hub import HfApi, errors, snapshot_download

    try:  # one request; snapshot_download alone would retry for half a minute
        files = HfApi().model_info(name, timeout=_SECONDS_FOR_THE_HUB).siblings or ()
        safe = any(file.rfilename.endswith(".safetensors") for file in files)
        return Path(snapshot_download(name, ignore_patterns=_OTHER_WEIGHTS if safe else _OTHER_FRAMEWORKS))
    except errors.GatedRepoError:
        problem = f"the model {name} is gated; accept its conditions on the hub and log in (hf auth login)"
    except (errors.HFValidationError, errors.RepositoryNotFoundError):
        problem = f"the model {name} is neither a folder nor on the hub; check the spelling, or log in"
    except Exception as error:  # its class depends on the version of huggingface_hub
        with suppress(errors.LocalEntryNotFoundError):
            return Path(snapshot_download(name, local_files_only=True))
        problem = (
            f"the model {name} is neither a folder nor in the hub's cache, and the hub cannot be reached "
            f"({error}); check the spelling and the connection, or give a folder"
        )
    raise InputError(problem, code="model-not-found")


def _unpack(packed: Path, target: Path, expected: Mapping[str, str]) -> None:
    from safetensors.torch import save_file

    with whole_folder(target) as folder:
        tensors = load_packed(packed / "weights.int8.safetensors")
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
        for name in expected.keys() - {"model.safetensors"}:
            shutil.copyfile(packed / name, folder / name)
        if damaged := _damaged(folder, expected):
            raise InputError(f"the bundled model is damaged ({damaged}); install rarewords again", code="damaged")


def _damaged(folder: Path, expected: Mapping[str, str]) -> str | None:
    """The first file that is missing or not as expected."""
    files = ((folder / name, digest) for name, digest in expected.items())
    return next((file.name for file, digest in files if not file.is_file() or file_digest(file) != digest), None)


@contextmanager
def _loading(what: str) -> Iterator[None]:
    """Around calls of libraries that load files: a damaged folder makes them fail in any way there is."""
    try:
        yield
    except InputError:
        raise
    except BaseException as error:
        # A tokenizer of Rust that panics raises no Exception.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        reason = str(error).strip().split("\n")[0] or type(error).__name__
        raise InputError(f"{what} cannot be loaded: {reason}", code="model") from error
