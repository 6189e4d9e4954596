"""Model folders of every kind, damaged in any way: nothing outside the output is written, nothing is silent.

The suite tries a few, always the same; ``make fuzz`` tries thousands, drawn at random.
"""

import shutil
from contextlib import contextmanager

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoModel, AutoTokenizer

from rarewords import WordEmbeddings
from rarewords.model_folder import transformer_folder
from tests.fuzz.bench import examples, place_in, survives
from tests.fuzz.folders import VICTIM, changes, make_folders

_PLAIN = "Two plums and a lime grow here."
_TEXT = f"{_PLAIN}\nA ripe kumquat is a small fruit.\nNo salsify grew.\n"
COMMANDS = (
    "ask",
    "words",
    "forget",
    "affected",
    "inject",
    "inject -append",
    "scan",
    "teach",
    "reader",
    "ota",
    "corpus",
)


class Place:
    """Good model folders, made once, and what the commands need beside them."""

    def __init__(self, folder):
        self.folder, self.models = folder, make_folders(folder)
        (folder / "text.txt").write_text(_TEXT * 4, "utf-8")
        (folder / "words.txt").write_text("kumquat\nsalsify\n", "utf-8")
        numbers = np.random.default_rng(0).standard_normal((2, 32)).astype(np.float32)
        WordEmbeddings(["oldanka", "sorrel"], numbers).save(folder / "v.safetensors")

    @contextmanager
    def damaged(self, name, found):
        """A folder with a damaged copy of a model and a good model beside it."""
        with place_in(self.folder) as place:
            shutil.copytree(self.models["masked"], place / VICTIM)
            shutil.copytree(self.models[name], place / "model")
            for change in found:
                change.apply(place / "model")
            yield place


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    return Place(tmp_path_factory.mktemp("folders"))


def trials(bench):
    """The name of a model, a command, and what is done to the model."""
    return st.sampled_from(sorted(bench.models)).flatmap(
        lambda name: st.tuples(st.just(name), st.sampled_from(COMMANDS), changes(bench.models[name]))
    )


def trial(bench, name, command, found):
    """Damage a model and run a command on it. A model that is made reads other text as before."""
    with bench.damaged(name, found) as place:
        model, out = place / "model", ("--out", place / "out")
        text, words = bench.folder / "text.txt", ("--words", bench.folder / "words.txt")
        terms = ("--glossary", bench.folder / "terms.csv", "--set", "keep_all=true")
        vectors = ("--embeddings", bench.folder / "v.safetensors")
        masked, causal = bench.models["masked"], bench.models["causal"]
        arguments = {
            "ask": ("ask", "--model", model, "a kumquat is a _ ."),
            "words": ("words", model),
            "forget": ("forget", model, "kumquat", *out),
            "affected": ("affected", "--model", model, text),
            "inject": ("inject", "--model", model, *vectors, *out),
            "inject -append": ("inject", "--model", model, *vectors, *out, "--placement", "append"),
            "scan": ("scan", text, "--model", model, "--workers", 1),
            "teach": ("teach", *terms, "--model", model, "--reader-model", masked, *out),
            "reader": ("teach", *terms, "--model", causal, "--reader-model", model, *out),
            "ota": ("ota", *words, "--model", model, "--steps", 1, *out),
            "corpus": ("corpus", "build", text, "--model", model, *out, "--workers", 1),
        }
        code, said = survives(place, *arguments[command])
        if code == 0 and command in ("forget", "inject", "inject -append", "teach"):
            before, after = (_read(folder) for folder in (model, place / "out"))
            assert before[0] == after[0], "other text has other tokens"
            assert np.array_equal(before[1], after[1], equal_nan=True), "other text is read otherwise"
        return code, said


@torch.no_grad()
def _read(folder):
    inner = transformer_folder(folder)
    tokenizer, model = AutoTokenizer.from_pretrained(inner), AutoModel.from_pretrained(inner)
    encoded = tokenizer(_PLAIN, return_tensors="pt")
    return encoded["input_ids"].tolist(), model.eval()(**encoded).last_hidden_state.numpy()


@examples(42)
@given(st.data())
def test_model_folders(bench, data):
    trial(bench, *data.draw(trials(bench)))
