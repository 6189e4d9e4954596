"""What a model was taught is read from its files, and undone."""

import numpy as np
import pytest

from rarewords import LanguageModel, Query, WordEmbeddings, inject
from rarewords.injection.inject import save_folder
from rarewords.injection.taught import forget_everything, taught_tokens
from rarewords.models import load_pretrained
from tests.architectures import ARCHITECTURES, small_model
from tests.errors import refused_with

WORDS = ["kumquat", "salsify", "oldanka", "blimpet"]
QUESTION = "a <W> is a kind of _ ."


def embeddings_for(words, dim):
    numbers = np.random.default_rng(0).standard_normal((len(words), dim)).astype(np.float32) * 0.05
    return WordEmbeddings(words, numbers)


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("placement", ["append", "replace"])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_model_without_its_words_is_the_model_it_was(architecture, placement, tied, tmp_path):
    before = LanguageModel(*small_model(architecture, tied=tied))
    model, tokenizer = small_model(architecture, tied=tied)
    inject(model, tokenizer, embeddings_for(WORDS, before.dim), placement=placement)
    assert list(taught_tokens(model, tokenizer)) == WORDS
    save_folder(model, tokenizer, tmp_path / "taught", base=None, card="# taught")
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


def test_a_taught_model_with_the_tokenizer_it_had_before_is_refused():
    model, tokenizer = small_model("bert")
    dim = model.get_input_embeddings().weight.shape[1]
    inject(model, tokenizer, embeddings_for(WORDS, dim), placement="append")
    _, another = small_model("bert")
    with refused_with("word"):
        taught_tokens(model, another)
