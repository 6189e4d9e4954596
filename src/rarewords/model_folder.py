"""What rarewords reads from a model folder itself, checked before any work.

A model folder is untrusted input. Its files must have the expected shape, and every path in it must stay
inside the folder. Files of a download in the hub's cache are links to its blobs, which is fine.
"""

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from rarewords._internal.files import read_json
from rarewords.errors import InputError

REPORT = "teaching.json"
_MODULES = "modules.json"  # what makes a folder one of sentence-transformers
_DEPTHS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers")
_MARKS = ("rarewords_first_token", "rarewords_rows")


class Module(NamedTuple):
    """A module of a sentence-transformers folder."""

    folder: Path
    type: str


def check_folder(folder: Path) -> None:
    """Refuse a folder whose files have the wrong shape, or that leads to files outside of it."""
    nested = is_sentence_transformer(folder)
    for path in _entries(folder, nested=nested):
        _check_entry(folder, path)
    for module in modules(folder) if nested else ():
        if (module.folder / "config.json").is_file():
            _read_object(module.folder / "config.json")
    config = transformer_folder(folder) / "config.json"
    if config.is_file():
        values = _read_object(config)
        for name in _DEPTHS:
            if values.get(name) is not None:
                _require_number(config, name, values[name], 1)
        for name in _MARKS:
            if name in values:
                _require_number(config, name, values[name], 1)
    read_report(folder)


def is_sentence_transformer(folder: str | Path) -> bool:
    """Whether a folder is one of sentence-transformers."""
    return (Path(folder) / _MODULES).is_file()


def transformer_folder(folder: str | Path) -> Path:
    """Where the transformer of a model folder is."""
    return modules(folder)[0].folder if is_sentence_transformer(folder) else Path(folder)


def modules(folder: str | Path) -> list[Module]:
    """The modules of a sentence-transformers folder, each in a folder inside of it."""
    file = Path(folder) / _MODULES
    found = read_json(file)
    if not isinstance(found, list) or not found or not all(isinstance(one, dict) for one in found):
        raise InputError(f"{file} lists no modules; give a sentence-transformers folder", code="model-folder")
    result = []
    for one in found:
        path, kind = one.get("path", ""), one.get("type", "")
        if not isinstance(path, str) or not isinstance(kind, str):
            raise InputError(
                f"{file} is damaged: path and type of a module must be text; download it again",
                code="damaged",
            )
        if "\0" in path or Path(path).is_absolute() or not _is_inside(Path(folder) / path, Path(folder)):
            raise InputError(
                f"{file}: the path {path!r} leaves the model folder; do not use this model",
                code="model-folder",
            )
        result.append(Module(Path(folder) / path, kind))
    return result


def pooling(folder: str | Path) -> str:
    """How an encoder makes one embedding of a text: ``cls``, ``lasttoken`` or ``mean``."""
    for module in modules(folder) if is_sentence_transformer(folder) else ():
        if module.type.endswith("Pooling"):
            chosen = _read_object(module.folder / "config.json")
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
    _require(file, report, "earlier", list, [])
    for run in (report, *report.get("earlier", ())):
        _require(file, run, "words", list, [])
        _require(file, run, "model", str, "")
        _require(file, run, "settings", dict, {})
        for word in run.get("words", ()):
            _require(file, run, "learner", str)
            for name, kind in (("word", str), ("count", int), ("verdict", str)):
                _require(file, word, name, kind)
    return report


def _require(file: Path, values: Any, name: str, kind: type, default: Any = None) -> None:
    value = values.get(name, default) if isinstance(values, dict) else None
    if not isinstance(value, kind) or isinstance(value, bool):
        raise InputError(
            f"{file} is damaged ({name!r} is missing or wrong); teach the model again", code="damaged"
        )


def _require_number(file: Path, name: str, value: Any, least: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise InputError(
            f"{file}: {name} cannot be {value!r:.40}; use the original file", code="model-folder"
        )


def _read_object(file: Path) -> dict[str, Any]:
    found = read_json(file)
    if not isinstance(found, dict):
        raise InputError(
            f"{file} is damaged: it holds no named values; use the original file", code="damaged"
        )
    return found


def _entries(folder: Path, *, nested: bool) -> Iterator[Path]:
    """What is in a folder, links not followed; of subfolders only if they belong to the model."""
    for place, folders, names in os.walk(folder):
        yield from (Path(place) / name for name in (*folders, *names))
        if not nested:
            return


def _check_entry(folder: Path, path: Path) -> None:
    try:
        if path.is_symlink():
            target = path.resolve(strict=True)
            home = folder.resolve()
            blobs = home.parents[1] / "blobs" if home.parent.name == "snapshots" else home
            if target.is_dir() or not (target.is_relative_to(home) or target.is_relative_to(blobs)):
                raise InputError(
                    f"{path} is a link to {target}; copy the model without links", code="model-folder"
                )
        mode = path.stat().st_mode
    except (OSError, RuntimeError) as error:
        raise InputError(
            f"{path} cannot be read: {error}; copy the model without links", code="unreadable"
        ) from None
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise InputError(f"{path} is not a regular file; remove it", code="unreadable")


def _is_inside(path: Path, folder: Path) -> bool:
    try:
        return ".." not in path.relative_to(folder).parts and path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError, ValueError):
        return False
