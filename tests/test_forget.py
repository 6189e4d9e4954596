"""What a folder was taught can be listed and forgotten, and more can be taught onto it."""

import numpy as np
import pytest
import torch

from rarewords import InputError, LanguageModel, Query, WordVectors, inject, inject_folder
from rarewords.forget import forget, forget_everything, taught_tokens
from rarewords.injection import save_folder
from rarewords.models import load_pretrained
from tests.architectures import ARCHITECTURES, small_model

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
