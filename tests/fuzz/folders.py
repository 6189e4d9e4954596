"""Model folders of every kind, plain and taught, and ways to damage them as hypothesis strategies."""

import json
import os
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

from tests.architectures import small_causal, small_model
from tests.cli.run import rarewords
from tests.fuzz.damage import DEEP, ODD_VALUES, damaged, places

VICTIM = "victim"  # the folder beside the model that no path of the model may reach
_TRICKS = (
    *(f"../{VICTIM}", f"../{VICTIM}/config.json", f"{VICTIM}", "..", ".", "/", "~", "../../../x", "a/../../x"),
    *("/dev/zero", "\x00", "a\x00b", "x" * 5000, "model.safetensors", "config.json", "link"),
)
_LINKS = (
    *("..", ".", "link", f"../{VICTIM}", f"../{VICTIM}/config.json", "config.json", "/dev/zero", "missing"),
    *("1_Pooling", "/"),
)
_KINDS = ("masked", "encoder", "causal")
_DEFINITIONS = "term,definition\nkumquat,a small fruit\nsalsify,a long root\n"


def make_folders(place):
    """Small model folders by name: each kind as it is, and taught words in both placements."""
    folders = {kind: _FOLDERS[kind](place / kind) for kind in _KINDS}
    (place / "terms.csv").write_text(_DEFINITIONS)
    for kind in _KINDS:
        for placement in ("append", "replace"):
            out = place / f"{kind}-{placement}"
            rarewords(
                *("-q", "teach", "--glossary", place / "terms.csv", "--model", folders[kind], "--out", out),
                *("--reader-model", folders["masked"], "--placement", placement, "--set", "keep_all=true"),
            )
            folders[out.name] = out
    return folders


def masked_folder(folder):
    return _saved(folder, *small_model("bert"))


def causal_folder(folder):
    model, tokenizer = small_causal("llama")
    tokenizer.chat_template = {"default": "{{ messages }}", "other": "x"}
    return _saved(folder, model, tokenizer, max_shard_size="200KB")  # an index and several files


def encoder_folder(folder):
    model, tokenizer = small_model("bert")
    model.bert.config.architectures = ["BertModel"]
    _saved(folder, model.bert, tokenizer)
    kinds = (("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Dense", "Dense"), ("3_Normalize", "Normalize"))
    modules = [
        {"idx": at, "name": str(at), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for at, (path, kind) in enumerate(kinds)
    ]
    values = {
        "modules.json": modules,
        "1_Pooling/config.json": {"word_embedding_dimension": 32, "pooling_mode_mean_tokens": True},
        "2_Dense/config.json": {"in_features": 32, "out_features": 8, "bias": False},
        "sentence_bert_config.json": {"max_seq_length": 64, "do_lower_case": False},
        "config_sentence_transformers.json": {"prompts": {"query": "query: "}, "default_prompt_name": None},
    }
    (folder / "3_Normalize").mkdir()
    for name, value in values.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(json.dumps(value), "utf-8")
    save_file({"linear.weight": np.ones((8, 32), np.float32)}, folder / "2_Dense" / "model.safetensors")
    return folder


_FOLDERS = {"masked": masked_folder, "encoder": encoder_folder, "causal": causal_folder}


def _saved(folder, model, tokenizer, **how):
    model.save_pretrained(folder, **how)
    tokenizer.save_pretrained(folder)
    return folder


@dataclass(frozen=True)
class Change:
    """Something done to a file of a folder; shown by hypothesis when it makes a test fail."""

    file: str
    way: str
    value: object = None

    def apply(self, folder):
        path = folder / self.file
        if self.way != "tensor":
            path.parent.mkdir(exist_ok=True)
            path.unlink(missing_ok=True)
        _WAYS[self.way](path, self.value)


def _write_tensors(path, change):
    name, harm = change
    tensors = load_file(path)
    array = tensors[name].copy()
    if harm in ("nan", "inf", "-inf"):
        array.reshape(-1)[-1 if array.size else 0 :] = float(harm)
    elif harm == "all nan":
        array[...] = np.nan
    tensors[name] = {
        "rows": array[: len(array) // 2],
        "row": array[:-1],
        "empty": array[:0],
        "int": array.astype(np.int8),
        "double": array.astype(np.float64),
        "flat": array.reshape(-1),
    }.get(harm, array)
    if harm in ("missing", "renamed"):
        del tensors[name]
    if harm == "renamed":
        tensors["x"] = array
    save_file({name: np.ascontiguousarray(one) for name, one in tensors.items()}, path, {"format": "pt"})


_WAYS = {
    "bytes": lambda path, raw: path.write_bytes(raw),
    "tensor": _write_tensors,
    "missing": lambda *_: None,
    "link": lambda path, target: path.symlink_to(target),
    "folder": lambda path, _: path.mkdir(),
    "pipe": lambda path, _: os.mkfifo(path),
}
_HARMS = (*("nan", "inf", "-inf", "all nan", "rows", "row", "empty", "int", "double", "flat", "missing", "renamed"),)


@st.composite
def changes(draw, folder: Path):
    """One or two changes of a model folder."""
    names = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    found = []
    for name in draw(st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True)):
        path = folder / name
        way = draw(st.sampled_from(("content",) * 8 + ("bytes", "bytes", "file", "more")))
        if way == "file":
            kind = draw(st.sampled_from(("missing", "missing", "link", "link", "folder", "pipe")))
            found.append(Change(name, kind, draw(st.sampled_from(_LINKS)) if kind == "link" else None))
        elif way == "more":
            place = draw(st.sampled_from(("link", "1_Pooling/link", "extra.json", "adapter_config.json")))
            found.append(Change(place, "link", draw(st.sampled_from(_LINKS))))
        elif way == "content" and path.suffix == ".json":
            changed = draw(_json_changes(json.loads(path.read_text("utf-8"))))
            found.append(Change(name, "bytes", changed))
        elif way == "content" and path.suffix == ".safetensors":
            tensors = sorted(load_file(path))
            found.append(Change(name, "tensor", (draw(st.sampled_from(tensors)), draw(st.sampled_from(_HARMS)))))
        else:
            found.append(Change(name, "bytes", draw(damaged(path.read_bytes()))))
    return found


@st.composite
def _json_changes(draw, value):
    """JSON in which one or two values are missing, of another type, huge, negative or a path elsewhere."""
    value = deepcopy(value)
    for _ in range(draw(st.sampled_from((1, 1, 1, 2)))):
        found = list(places(value))
        if not found:
            break
        holder, key = draw(st.sampled_from(found))
        action = draw(st.sampled_from(("remove", "odd", "odd", "odd", "trick", "near", "deep", "more")))
        if action == "remove":
            del holder[key]
        elif action == "odd":
            holder[key] = deepcopy(draw(st.sampled_from(ODD_VALUES)))
        elif action == "trick":
            holder[key] = draw(st.sampled_from(_TRICKS))
        elif action == "near" and isinstance(holder[key], int):
            holder[key] += draw(st.sampled_from((-1, 1, 2, 1000, 10**6, 2**31, 2**62)))
        elif action == "more" and isinstance(holder, dict):
            holder[draw(st.sampled_from(_MORE_KEYS))] = draw(st.sampled_from(("x", 5, None, [], {}, *_TRICKS[:2])))
        elif action == "deep":
            holder[key] = "<deep>"
    return json.dumps(value).replace('"<deep>"', "[" * DEEP + "]" * DEEP).encode()


_MORE_KEYS = (
    *("x", "", "auto_map", "quantization_config", "format", "chat_template", "tokenizer_file", "vocab_file"),
    *("rarewords_rows", "rarewords_first_token", "dtype", "is_decoder", "is_encoder_decoder", "text_config"),
    *("base_model_name_or_path", "suppress_tokens", "max_length", "temperature", "model_type", "path"),
)
