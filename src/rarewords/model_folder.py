"""What rarewords reads from a model folder itself, checked before any work.

A model folder is untrusted input. Its files must have the expected shape, and every path in it must stay
inside the folder. Files of a download in the hub's cache are links to its blobs, which is fine.
"""

import operator
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rarewords._internal.files import read_json
from rarewords._internal.schema import parse
from rarewords.errors import InputError

REPORT = "teaching.json"
_MODULES = "modules.json"  # what makes a folder one of sentence-transformers
_HUGE = 2**31
# Positive numbers of a config. A model is built layer by layer, so too many would take hours.
_MOST = dict.fromkeys(("num_hidden_layers", "n_layer", "n_layers", "num_layers", "num_hidden_groups"), 1000)
_MOST |= {"num_labels": 10**6, "rarewords_first_token": _HUGE, "rarewords_rows": _HUGE}
_UNKNOWN_SIZE = 1 << 26  # bytes of weights that a config may describe whatever the files hold
_INDEXES = ("model.safetensors.index.json", "pytorch_model.bin.index.json")  # of weights in several files


@dataclass(frozen=True)
class _Word:
    word: str
    count: int
    verdict: str
    forms: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Run:
    learner: str
    words: tuple[_Word, ...] = ()
    model: str = ""
    settings: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class _Report(_Run):  # the words' answers and checks are for ``teach`` alone
    earlier: tuple[_Run, ...] = ()


def check_folder(folder: Path) -> None:
    """Refuse a folder whose files have the wrong shape, or that leads to files outside of it."""
    nested = is_sentence_transformer(folder)
    for place, folders, names in os.walk(folder):  # which follows no links
        for name in (*folders, *names):
            _check_entry(folder, Path(place) / name)
        if not nested:  # subfolders do not belong to the model
            break
    for module, _ in modules(folder) if nested else ():
        if (module / "config.json").is_file():
            _read_object(module / "config.json")
    inner = transformer_folder(folder)
    for index in (inner / name for name in _INDEXES):
        shards = _read_object(index).get("weight_map") if index.is_file() else {}
        files = shards.values() if isinstance(shards, dict) else [None]
        if not all(isinstance(file, str) and Path(file).name == file for file in files):
            raise InputError(f"{index}: its weights are not in this folder; do not use it", code="model-folder")
    config = inner / "config.json"
    if config.is_file():
        values = _read_object(config)
        kinds = values.get("architectures") or []
        if not isinstance(kinds, list) or not all(isinstance(kind, str) for kind in kinds):
            raise InputError(f"{config}: architectures cannot be {kinds!r:.40}; use the original", code="model-folder")
        for name, most in _MOST.items():
            value = values.get(name, 1)
            unset = value is None and not name.startswith("rarewords")
            if not unset and (type(value) is not int or not 1 <= value <= most):
                raise InputError(f"{config}: {name} cannot be {value!r:.40}; use the original", code="model-folder")
    read_report(folder)


def check_size(folder: Path, outline: Any) -> None:
    """Refuse a config that describes, in a model without numbers, far more weights than the files hold."""
    described = sum(one.numel() for one in (*outline.parameters(), *outline.buffers()))
    stored = sum(path.stat().st_size for path in folder.iterdir() if path.suffix in (".safetensors", ".bin"))
    if described // 2 > stored + _UNKNOWN_SIZE:  # half a byte is the least that a weight takes
        problem = f"config.json describes {described:,} weights, which the files do not hold"
        raise InputError(f"{folder}: {problem}; use the original", code="model-folder")


def check_loaded(name: str | Path, model: Any, tokenizer: Any) -> None:
    """Refuse a model whose weights, tokenizer and settings do not fit together or could not be saved."""
    import torch  # takes seconds, and the folder is checked without it

    for key, weight in model.named_parameters():
        ends = torch.aminmax(weight.detach()) if weight.numel() and weight.itemsize > 1 else ()
        if not all(end.isfinite() for end in ends):
            raise InputError(f"{name}: {key} holds values that are no numbers; download it again", code="damaged")
    # Special tokens may lack an embedding: no text is read as one.
    special = {token for token, one in tokenizer.added_tokens_decoder.items() if one.special}
    ids, rows = set(tokenizer.get_vocab().values()), len(model.get_input_embeddings().weight)
    last = max(ids - special, default=0)
    if last >= rows or len(ids) < len(tokenizer.get_vocab()):
        problem = f"a token {last}, but the model has {rows} embeddings" if last >= rows else "two tokens of one id"
        raise InputError(f"{name}: the tokenizer has {problem}; restore its files", code="model")
    text = tokenizer.encode("a", add_special_tokens=False)
    if text and model.dtype != torch.float16:  # which may overflow in a model that is well
        with torch.no_grad():
            states = model(input_ids=torch.tensor([text]))[0]
        if not states.isfinite().all():
            raise InputError(f"{name} answers with values that are no numbers; restore config.json", code="model")
    if model.can_generate():
        try:
            model.generation_config.validate(strict=True)  # as saving it will
            sorted(map(operator.index, model.generation_config.suppress_tokens or ()))
        except (AttributeError, TypeError, ValueError) as error:
            reason = " ".join(str(error).split())
            raise InputError(f"{name}: {reason}; correct generation_config.json", code="model") from None


def is_sentence_transformer(folder: str | Path) -> bool:
    """Whether a folder is one of sentence-transformers."""
    return (Path(folder) / _MODULES).is_file()


def transformer_folder(folder: str | Path) -> Path:
    """Where the transformer of a model folder is."""
    return modules(folder)[0][0] if is_sentence_transformer(folder) else Path(folder)


def modules(folder: str | Path) -> list[tuple[Path, str]]:
    """The modules of a sentence-transformers folder: the place of each, which is inside of it, and its type."""
    file = Path(folder) / _MODULES
    found = read_json(file)
    if not isinstance(found, list) or not found or not all(isinstance(one, dict) for one in found):
        raise InputError(f"{file} lists no modules; give a sentence-transformers folder", code="model-folder")
    result = []
    for one in found:
        path, kind = one.get("path", ""), one.get("type", "")
        if not isinstance(path, str) or not isinstance(kind, str):
            raise InputError(f"{file} is damaged: path and type must be text; download it again", code="damaged")
        if "\0" in path or Path(path).is_absolute() or not _is_inside(Path(folder) / path, Path(folder)):
            raise InputError(f"{file}: the path {path!r} leaves the folder; do not use it", code="model-folder")
        result.append((Path(folder) / path, kind))
    return result


def pooling(folder: str | Path) -> str:
    """How an encoder makes one embedding of a text: ``cls``, ``lasttoken`` or ``mean``."""
    for module, kind in modules(folder) if is_sentence_transformer(folder) else ():
        if kind.endswith("Pooling"):
            chosen = _read_object(module / "config.json")
            for mode, old in (("cls", "cls_token"), ("lasttoken", "lasttoken")):
                if chosen.get("pooling_mode") == mode or chosen.get(f"pooling_mode_{old}"):
                    return mode
    return "mean"


def read_report(folder: str | Path) -> dict[str, Any]:
    """What ``teach`` wrote into a folder; empty if it was not made by ``teach``."""
    file = Path(folder) / REPORT
    if not file.is_file():
        return {}
    report = _read_object(file)
    parse(_Report, report, file, "teach the model again")
    return report


def _read_object(file: Path) -> dict[str, Any]:
    found = read_json(file)
    if not isinstance(found, dict):
        raise InputError(f"{file} is damaged: it holds no named values; use the original file", code="damaged")
    return found


def _check_entry(folder: Path, path: Path) -> None:
    try:
        if path.is_symlink():
            target = path.resolve(strict=True)
            home = folder.resolve()
            blobs = home.parents[1] / "blobs" if home.parent.name == "snapshots" else home
            if target.is_dir() or not (target.is_relative_to(home) or target.is_relative_to(blobs)):
                raise InputError(f"{path} is a link to {target}; copy the model without links", code="model-folder")
        mode = path.stat().st_mode
    except (OSError, RuntimeError) as error:
        raise InputError(f"{path} cannot be read: {error}; copy the model without links", code="unreadable") from None
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise InputError(f"{path} is not a regular file; remove it", code="unreadable")


def _is_inside(path: Path, folder: Path) -> bool:
    try:
        return ".." not in path.relative_to(folder).parts and path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError, ValueError):
        return False
