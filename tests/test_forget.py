"""What a folder was taught can be listed and forgotten, and more can be taught onto it."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from rarewords import InputError, LanguageModel, Query, WordVectors, inject, inject_folder
from rarewords.forget import affected, documents, forget, forget_everything, taught_tokens
from rarewords.injection import save_folder
from rarewords.models import load_pretrained
from tests.architectures import ARCHITECTURES, sentence_transformer, small_causal, small_model

WORDS = ["kumquat", "salsify", "oldanka", "blimpet"]
QUESTION = "a <W> is a kind of _ ."


def vectors_for(words, dim):
    numbers = np.random.default_rng(0).standard_normal((len(words), dim)).astype(np.float32) * 0.05
    return WordVectors(words, numbers)


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("slash", [True, False])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_model_without_its_words_is_the_model_it_was(architecture, slash, tied, tmp_path):
    before = LanguageModel(*small_model(architecture, tied=tied))
    model, tokenizer = small_model(architecture, tied=tied)
    inject(model, tokenizer, vectors_for(WORDS, before.dim), slash=slash)
    assert list(taught_tokens(model, tokenizer)) == WORDS
    save_folder(model, tokenizer, tmp_path / "taught", base="default", card="# taught")
    model, tokenizer = load_pretrained(tmp_path / "taught")
    assert list(taught_tokens(model, tokenizer)) == WORDS
    forget_everything(model, tokenizer)
    after = LanguageModel(model, tokenizer)
    assert taught_tokens(model, tokenizer) == {}
    if tied:  # an untied head may hold a second bias that nothing uses
        assert after.fingerprint == before.fingerprint
    assert len(after.tokenizer) == len(before.tokenizer)
    texts = ["A Kumquat, two kumquats; the salsify!", "<kumquat> / blimpet"]
    assert after.tokenizer(texts)["input_ids"] == before.tokenizer(texts)["input_ids"]
    asked = [Query(QUESTION, word) for word in WORDS]
    np.testing.assert_array_equal(after.fill(asked).ids, before.fill(asked).ids)


@pytest.mark.parametrize("slash", [True, False])
def test_forgetting_leaves_the_folder_that_was_never_taught_the_word(slash, tmp_path):
    vectors = vectors_for(WORDS, 384)
    inject_folder("default", vectors, tmp_path / "all", slash=slash)
    inject_folder("default", vectors.subset(WORDS[1:]), tmp_path / "fewer", slash=slash)
    assert forget(tmp_path / "all", ["kumquat"], tmp_path / "left") == WORDS[1:]
    left, fewer = (load_pretrained(tmp_path / name) for name in ("left", "fewer"))
    assert left[1].backend_tokenizer.to_str() == fewer[1].backend_tokenizer.to_str()
    assert left[0].config.to_dict() == fewer[0].config.to_dict() | {"_name_or_path": str(tmp_path / "left")}
    for (name, one), (_, other) in zip(left[0].named_parameters(), fewer[0].named_parameters(), strict=True):
        assert torch.equal(one, other), name
    with pytest.raises(InputError, match="was not taught 'kumquat'"):
        forget(tmp_path / "left", ["kumquat"], tmp_path / "again")


def test_what_a_causal_model_may_not_say_follows_the_words_that_are_left(tmp_path):
    model, tokenizer = small_causal("llama")
    size, dim = len(tokenizer), model.get_input_embeddings().weight.shape[1]
    inject(model, tokenizer, vectors_for(WORDS[:2], dim), slash=True)
    inject(model, tokenizer, vectors_for(WORDS[2:], dim), slash=True, predictable=True)
    save_folder(model, tokenizer, tmp_path / "all", base="small", card="# taught")
    assert forget(tmp_path / "all", ["kumquat"], tmp_path / "left") == WORDS[1:]
    left, own = load_pretrained(tmp_path / "left", "causal")
    assert left.generation_config.suppress_tokens == [size] == [taught_tokens(left, own)["salsify"]]
    forget_everything(left, own)
    assert left.generation_config.suppress_tokens is None


def test_the_card_of_an_encoder_that_forgot_a_word_is_that_of_an_encoder(tmp_path):
    encoder = sentence_transformer(tmp_path / "encoder")
    inject_folder(encoder, vectors_for(WORDS[:1], 384), tmp_path / "one", slash=True)
    inject_folder(tmp_path / "one", vectors_for(WORDS[1:], 384), tmp_path / "both")
    forget(tmp_path / "both", ["salsify"], tmp_path / "mixed")
    forget(tmp_path / "both", ["kumquat"], tmp_path / "alone")
    mixed, alone = ((tmp_path / name / "README.md").read_text("utf-8") for name in ("mixed", "alone"))
    for card in (mixed, alone):
        assert "library_name: sentence-transformers" in card
    assert "some behind their pieces" in mixed
    assert "each is read as one token with its own vector." in alone


def _taught_small(folder, *, slash):
    """A small model that was taught kumquat, then salsify."""
    model, tokenizer = small_model("roberta")  # which keeps capitals
    words = ["kumquat", "Kumquat", "salsify", "Salsify"]
    inject(model, tokenizer, vectors_for(words, LanguageModel(model, tokenizer).dim), slash=slash)
    first, second = (
        {"learner": "none", "words": [{"word": word, "count": 1, "verdict": "better"}]}
        for word in ("kumquat", "salsify")
    )
    report = {**second, "earlier": [first]}
    save_folder(model, tokenizer, folder, base="small", card="# taught", report=report)
    return folder


@pytest.mark.parametrize("slash", [True, False])
def test_affected_finds_every_form_of_every_word_that_was_ever_taught(slash, tmp_path):
    texts = ["Nothing.", "Salsify is a root.", "A kumquat and Kumquat, salsify"]
    expected = [(1, ("salsify",)), (2, ("kumquat", "salsify"))]
    assert list(affected(_taught_small(tmp_path / "taught", slash=slash), enumerate(texts))) == expected


def test_affected_pairs_texts_and_ids_record_by_record(tmp_path):
    taught = _taught_small(tmp_path / "taught", slash=False)
    records = [
        {"id": 7, "text": None},
        {"id": None, "text": "salsify"},
        {"id": 2**40, "text": "kumquat"},
        {"id": 9, "text": "x"},
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, records)) + "\n\n", "utf-8")
    table = pa.table({name: [one[name] for one in records] for name in ("id", "text")})
    pq.write_table(table, tmp_path / "a.parquet")
    rows = "".join(f"{one['id'] or ''},{one['text'] or ''}\n" for one in records)
    (tmp_path / "a.csv").write_text("id,text\n" + rows, "utf-8")
    for name in ("a.jsonl", "a.parquet", "a.csv"):
        found = [
            (one.number, one.id, words)
            for one, words in affected(taught, documents([tmp_path / name], id_field="id"))
        ]
        assert found == [(2, None, ("salsify",)), (3, str(2**40), ("kumquat",))]
