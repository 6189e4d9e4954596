"""Embeddings from the bundled model's space to that of a model with other embeddings."""

import numpy as np
import pytest
import torch

from rarewords import LanguageModel, WordLearner
from rarewords.learner.evidence import Evidence
from rarewords.learner.known_words import KnownWords
from rarewords.learner.transfer import TransferLearner
from rarewords.models import load_pretrained
from tests.architectures import small_causal, small_model
from tests.errors import refused_with


def test_a_rotated_space_is_found_again(lm):
    model, tokenizer = load_pretrained()
    torch.manual_seed(0)
    rotation = torch.linalg.qr(torch.randn(lm.dim, lm.dim)).Q
    weight = model.get_input_embeddings().weight
    with torch.no_grad():
        weight.copy_(3 * weight @ rotation + 1)
    target = LanguageModel(model, tokenizer)
    learner = TransferLearner.fit(WordLearner(lm), target)
    row = lm.whole_words["harbour"]
    moved = torch.from_numpy(learner.transport(lm.embeddings[[row]].numpy()))
    known = KnownWords.of(target)
    assert known.ids[(known.directions(known.embeddings) @ known.directions(moved)[0]).argmax()] == row
    assert float((moved - known.mean).norm()) == pytest.approx(known.spread, rel=1e-4)


def test_the_same_words_give_the_same_key_and_others_another(lm):
    targets = [LanguageModel(*small_causal("llama")) for _ in range(2)]
    learner = WordLearner(lm)
    first, second = (TransferLearner.fit(learner, target) for target in targets)
    assert first.key == second.key
    with torch.no_grad():
        targets[1].model.get_input_embeddings().weight[300:].mul_(2)
    assert TransferLearner.fit(learner, targets[1]).key != first.key
    assert first.transport(np.zeros((3, lm.dim), np.float32)).shape == (3, 32)


def test_models_of_different_languages_are_refused(lm):
    target = LanguageModel(*small_causal("gpt2"), name="strange")
    target.tokens.__dict__["whole_words"] = {"straße": 5, "the": 6}
    with refused_with("learner"):
        TransferLearner.fit(WordLearner(lm), target)


def test_a_cased_reader_model_finds_the_word_of_an_uncased_model():
    reader = LanguageModel(*small_model("roberta"))
    learner = TransferLearner.fit(WordLearner(reader), LanguageModel(*small_model("bert")))
    (learned,) = learner.learn_each([Evidence("torvane", ["Torvane is loud."])])
    assert learned.embedding.shape == (32,)
    with refused_with("word-not-found"):
        learner.learn_each([Evidence("torvane", ["Another word is loud."])])
