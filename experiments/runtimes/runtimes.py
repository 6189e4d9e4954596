"""One function per runtime: the token ids of some sentences in a taught folder, and outputs for some of them.

The output of a sentence is one row: the mean over its tokens of logits (masked and causal LMs) or states
(encoders).
"""

import importlib
import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer
from transformers import AutoModel, AutoModelForCausalLM, AutoModelForMaskedLM, AutoTokenizer

Outputs = tuple[list[list[int]], list[np.ndarray | None]]
_HERE = Path(__file__).parent
_CLASSES = {"masked": AutoModelForMaskedLM, "encoder": AutoModel, "causal": AutoModelForCausalLM}
_INPUTS = ("input_ids", "attention_mask")
_SLOWER = 10  # llama.cpp runs one of so many sentences through a causal LM


class _Outputs(torch.nn.Module):
    """A model as a function of tensors."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        return _output(self.model(input_ids=input_ids, attention_mask=attention_mask))


def _output(found: Any) -> Any:
    return found.logits if "logits" in found else found.last_hidden_state


def _load(folder: Path, kind: str) -> Any:
    return _CLASSES[kind].from_pretrained(folder, dtype=torch.float32).eval()


@torch.no_grad()
def in_transformers(folder: Path, kind: str, lines: Sequence[str], shown: Sequence[int]) -> Outputs:
    """Transformers, with which the others are compared."""
    ids, model = AutoTokenizer.from_pretrained(folder)(list(lines))["input_ids"], _load(folder, kind)
    return ids, [_output(model(input_ids=torch.tensor([ids[row]])))[0].mean(dim=0).numpy() for row in shown]


def in_sentence_transformers(folder: Path, kind: str, lines: Sequence[str], shown: Sequence[int]) -> Outputs | None:
    """sentence-transformers, which are for encoders; the mean of states before they are normalized."""
    if kind != "encoder":
        return None
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(folder))
    ids = [model.tokenize([line])["input_ids"][0].tolist() for line in lines]
    states = model.encode([lines[row] for row in shown], output_value="token_embeddings")
    return ids, [one.mean(dim=0).cpu().numpy() for one in states]


def in_onnxruntime(folder: Path, kind: str, lines: Sequence[str], shown: Sequence[int]) -> Outputs:
    """ONNX Runtime with the tokenizers library; also writes ``onnx/model.onnx`` into the folder."""
    runtime = importlib.import_module("onnxruntime")
    path = folder / "onnx" / "model.onnx"
    path.parent.mkdir(exist_ok=True)
    ones = torch.ones(2, 8, dtype=torch.long)
    shape = {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}
    own = {"input_names": _INPUTS, "output_names": ["last_hidden_state" if kind == "encoder" else "logits"]}
    own |= {"dynamic_shapes": (shape, shape), "external_data": False}
    model = _load(folder, kind)
    model.config.use_cache = False
    torch.onnx.export(_Outputs(model).eval(), (ones, ones.clone()), path, dynamo=True, verbose=False, **own)
    session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    ids = [one.ids for one in Tokenizer.from_file(str(folder / "tokenizer.json")).encode_batch(list(lines))]
    given = [np.array([ids[row]]) for row in shown]
    return ids, [
        session.run(None, dict(zip(_INPUTS, (one, np.ones_like(one)), strict=True)))[0][0].mean(0) for one in given
    ]


def in_javascript(folder: Path, kind: str, lines: Sequence[str], shown: Sequence[int]) -> Outputs:
    """transformers.js in Node, after ONNX Runtime."""
    node = shutil.which("node")
    if node is None or not (_HERE / "node_modules").is_dir():
        raise ImportError("needs Node.js, and npm install --ignore-scripts in experiments/runtimes")
    asked = json.dumps({"lines": list(lines), "shown": list(shown), "kind": kind})
    answer = subprocess.run(
        [node, _HERE / "outputs.mjs", folder], input=asked, stdout=subprocess.PIPE, text=True, check=True
    )
    rows = np.fromfile(folder / "outputs.bin", np.float32).reshape(len(shown), -1)
    return json.loads(answer.stdout), list(rows)


def in_llama_cpp(
    folder: Path, kind: str, lines: Sequence[str], shown: Sequence[int], *, user_defined: bool = False
) -> Outputs | None:
    """llama.cpp through a GGUF file. It has no masked LMs, so of these it is asked for token ids only.

    :param user_defined: taught words of a causal LM as plain strings, which are looked for before anything else.
    """
    if user_defined and kind != "causal":
        return None
    library = importlib.import_module("llama_cpp")
    from experiments.runtimes.gguf_file import write_gguf

    path = folder / "model.gguf"
    write_gguf(folder, path, kind, user_defined=user_defined)
    own = {"vocab_only": kind == "masked", "embedding": kind == "encoder", "logits_all": kind == "causal"}
    model = library.Llama(str(path), n_ctx=512, n_threads=1, pooling_type=1, verbose=False, **own)
    ids = [model.tokenize(line.encode(), special=False) for line in lines]
    if kind == "masked":
        return ids, []
    few = shown if kind == "encoder" else shown[::_SLOWER]
    return ids, [_run_llama(model, kind, lines[row], ids[row]) if row in few else None for row in shown]


def _run_llama(model: Any, kind: str, line: str, ids: list[int]) -> np.ndarray:
    if kind == "encoder":
        return np.array(model.embed(line, normalize=False))
    model.reset()
    model.eval(ids)
    rows: np.ndarray = model.scores[: len(ids)].mean(0)
    return rows
