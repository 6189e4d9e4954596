"""Words of a folder are forgotten one by one, and the documents that hold them are found."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from huggingface_hub import ModelCard

from rarewords import LanguageModel, WordEmbeddings, inject, teach
from rarewords.injection.forget import affected, documents, forget, taught_words
from rarewords.injection.inject import inject_folder, save_folder
from rarewords.injection.taught import forget_everything, taught_tokens
from rarewords.models import load_pretrained
from tests.architectures import sentence_transformer, small_causal, small_model
from tests.errors import refused_with

WORDS = ["kumquat", "salsify", "oldanka", "blimpet"]


def embeddings_for(words, dim):
    numbers = np.random.default_rng(0).standard_normal((len(words), dim)).astype(np.float32) * 0.05
    return WordEmbeddings(words, numbers)


@pytest.mark.parametrize("placement", ["append", "replace"])
def test_forgetting_leaves_the_folder_that_was_never_taught_the_word(placement, tmp_path):
    for part in small_model("bert"):
        part.save_pretrained(tmp_path / "base")
    embeddings = embeddings_for(WORDS, 32)
    inject_folder(tmp_path / "base", embeddings, tmp_path / "all", placement=placement)
    inject_folder(tmp_path / "base", embeddings.subset(WORDS[1:]), tmp_path / "fewer", placement=placement)
    assert forget(tmp_path / "all", ["kumquat"], tmp_path / "left") == WORDS[1:]
    left, fewer = (load_pretrained(tmp_path / name) for name in ("left", "fewer"))
    assert left[1].backend_tokenizer.to_str() == fewer[1].backend_tokenizer.to_str()
    assert left[0].config.to_dict() == fewer[0].config.to_dict() | {"_name_or_path": str(tmp_path / "left")}
    for (name, one), (_, other) in zip(left[0].named_parameters(), fewer[0].named_parameters(), strict=True):
        assert torch.equal(one, other), name
    with refused_with("word"):
        forget(tmp_path / "left", ["kumquat"], tmp_path / "again")


def test_what_a_causal_model_may_not_say_follows_the_words_that_are_left(tmp_path):
    model, tokenizer = small_causal("llama")
    size, dim = len(tokenizer), model.get_input_embeddings().weight.shape[1]
    inject(model, tokenizer, embeddings_for(WORDS[:2], dim), placement="append")
    inject(model, tokenizer, embeddings_for(WORDS[2:], dim), placement="append", allow_prediction=True)
    save_folder(model, tokenizer, tmp_path / "all", base=None, card="# taught")
    assert forget(tmp_path / "all", ["kumquat"], tmp_path / "left") == WORDS[1:]
    left, own = load_pretrained(tmp_path / "left")
    assert own.tokenize("A salsify") == tokenizer.tokenize("A salsify")  # behind its subwords, as before
    assert left.generation_config.suppress_tokens == taught_tokens(left, own)["salsify"] == [size, size + 1]
    forget_everything(left, own)
    assert left.generation_config.suppress_tokens is None


def test_the_card_of_an_encoder_that_forgot_a_word_is_that_of_an_encoder(tmp_path):
    encoder = sentence_transformer(tmp_path / "encoder")
    inject_folder(encoder, embeddings_for(WORDS[:1], 384), tmp_path / "one", placement="append")
    inject_folder(tmp_path / "one", embeddings_for(WORDS[1:3], 384), tmp_path / "both")
    forget(tmp_path / "both", ["salsify"], tmp_path / "left")
    card = ModelCard.load(tmp_path / "left" / "README.md")
    assert card.data.library_name == "sentence-transformers"
    assert "\n\nkumquat, oldanka\n\n" in card.text
    assert "salsify" not in card.text


def _taught_small(folder, *, placement):
    """A small model that was taught kumquat, then salsify."""
    model, tokenizer = small_model("roberta")  # which keeps capitals
    words = ["kumquat", "Kumquat", "salsify", "Salsify"]
    inject(model, tokenizer, embeddings_for(words, LanguageModel(model, tokenizer).dim), placement=placement)
    first, second = (
        {"learner": "none", "words": [{"word": word, "count": 1, "verdict": "better", "forms": [word.title()]}]}
        for word in ("kumquat", "salsify")
    )
    report = {**second, "earlier": [first]}
    save_folder(model, tokenizer, folder, base=None, card="# taught", report=report)
    return folder


@pytest.mark.parametrize("placement", ["append", "replace"])
def test_affected_finds_every_form_of_every_word_that_was_ever_taught(placement, tmp_path):
    texts = ["Nothing.", "Salsify is a root.", "A kumquat and Kumquat, salsify"]
    expected = [(1, ("salsify",)), (2, ("kumquat", "salsify"))]
    assert list(affected(_taught_small(tmp_path / "taught", placement=placement), enumerate(texts))) == expected


def test_affected_wants_pairs_and_a_folder(tmp_path):
    taught = _taught_small(tmp_path / "taught", placement="replace")
    with refused_with("no-input"):
        list(affected(taught, ["salsify", "kumquat"]))
    with refused_with("missing-file"):
        list(affected(tmp_path / "none", enumerate(["salsify"])))


def test_forget_takes_a_word_as_the_glossary_spells_it(tmp_path):
    teach(glossary={"NX-Lumo": "a lamp for a helmet", "oldanka": "a boat"}).save_pretrained(tmp_path / "taught")
    for number, spelled in enumerate(["NX-Lumo", "nx-lumo"]):
        assert forget(tmp_path / "taught", [spelled], tmp_path / f"left{number}") == ["oldanka"]
        assert list(affected(tmp_path / f"left{number}", [(1, "an oldanka")])) == [(1, ("oldanka",))]


def test_a_form_that_is_forgotten_is_no_longer_listed(tmp_path):
    taught = _taught_small(tmp_path / "taught", placement="replace")
    forget(taught, ["Salsify"], tmp_path / "left")
    assert {one.word: one.forms for one in taught_words(tmp_path / "left")}["salsify"] == ()


def test_affected_pairs_texts_and_ids_record_by_record(tmp_path):
    taught = _taught_small(tmp_path / "taught", placement="replace")
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
            (one.number, one.id, words) for one, words in affected(taught, documents([tmp_path / name], id_field="id"))
        ]
        assert found == [(2, None, ("salsify",)), (3, str(2**40), ("kumquat",))]
