"""The experiment on runtimes: which sentences hold a word, the GGUF file, and the page that shows the results."""

import numpy as np
import pytest

from experiments.runtimes.texts import half_with, holds, sentences_of
from rarewords import WordEmbeddings, inject
from tests.architectures import small_causal


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
