"""The experiment on runtimes: which sentences hold a word, the GGUF file, and the page that shows the results."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from experiments.runtimes.texts import half_with, holds, sentences_of
from rarewords import WordEmbeddings, inject
from tests.architectures import small_causal

ROOT = Path(__file__).parents[2]
KINDS = {"masked": "masked LM", "encoder": "encoder", "causal": "causal LM"}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("two kumquats", True),
        ("Kúmquat-like", True),
        ("the ﬁsher", True),
        ("an unkumquat", False),
        ("well-kumquat", True),
    ],
)
def test_a_word_is_found_in_any_case_and_with_accents_where_a_word_begins(text, found):
    assert holds(["kumquat", "fish"], text) is found


def test_half_of_the_sentences_hold_a_word(tmp_path):
    path = tmp_path / "text.txt"
    lines = [f"Number {n} is a fruit that people grow. The kumquats of number {n} are small." for n in range(20)]
    path.write_text("\n".join(lines), "utf-8")
    found = half_with(["kumquat"], [path], 10)
    assert [holds(["kumquat"], line) for line in found] == [True] * 5 + [False] * 5
    assert len(list(sentences_of([path]))) == 40


def test_a_gguf_file_has_the_words_and_the_weights(tmp_path):
    gguf = pytest.importorskip("gguf")
    from experiments.runtimes.gguf_file import write_gguf

    model, tokenizer = small_causal("llama")
    inject(model, tokenizer, WordEmbeddings(["quillop"], np.ones((1, 32), np.float32)))
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    write_gguf(tmp_path, tmp_path / "model.gguf", "causal", user_defined=True)
    reader = gguf.GGUFReader(tmp_path / "model.gguf")
    tokens, types = (reader.fields[f"tokenizer.ggml.{name}"].contents() for name in ("tokens", "token_type"))
    token = tokenizer("a quillop")["input_ids"][-1]
    assert (tokens[token], types[token]) == (" quillop", gguf.TokenType.USER_DEFINED)
    (rows,) = (one.data for one in reader.tensors if one.name == "token_embd.weight")
    assert (rows == model.get_input_embeddings().weight.detach().numpy()).all()


def test_the_page_shows_the_results():
    results = ROOT / "experiments" / "runtimes" / "results"
    files = {kind: json.loads((results / f"compare-{kind}.json").read_text("utf-8")) for kind in KINDS}
    rows = [one for file in files.values() for one in file["rows"]]
    counts = {
        (KINDS[kind], one["placement"], one["runtime"]): one["same_with_words"]
        for kind, file in files.items()
        for one in file["rows"]
    }
    page = (ROOT / "docs" / "howto" / "runtimes.md").read_text("utf-8")
    _, *runtimes = re.search(r"^\| \|( ONNX.*)\|$", page, re.M)[0].strip("| ").split(" | ")
    shown = {}
    for kind, placement, cells in re.findall(r"^\| (\w+ ?\w*), `(\w+)` \|(.*) \|$", page, re.M):
        numbers = zip(["ONNX Runtime", *runtimes], cells.split("|"), strict=True)
        shown |= {(kind, placement, name): int(number) for name, number in numbers if number.strip()}
    assert shown == counts
    assert all(one["without"] == one["with_words"] == 500 for one in rows)
    assert all(one["same_without"] == 500 for one in rows if "user-defined" not in one["runtime"])
    assert all(
        one["difference"] < (0.01 if one["runtime"].startswith("llama") else 1e-4) for one in rows if one["outputs"]
    )
    unchanged = json.loads((results / "unchanged.json").read_text("utf-8"))["rows"]
    assert not any(one["differences"] for one in unchanged)
