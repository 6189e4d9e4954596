"""Refinement: the words around become more probable, on sentences that were not learned from."""

import numpy as np
import pytest
import torch

from rarewords import InputError, WordVectors
from rarewords.mimic.masked import contexts_of_sentences, contexts_of_words
from rarewords.mimic.refine import RefineSettings, _nearest, refine
from tests.cli.run import rarewords, refused

QUICK = RefineSettings(steps=6, every=3)
SENTENCES = {
    "blimpet": [
        "She peeled a blimpet and ate it with sugar.",
        "The blimpet is sweeter than the orange and the lemon.",
        "Fresh blimpet juice is sold at the market.",
        "They grow blimpet, apple and cherry trees.",
        "He put the blimpet into the fruit basket.",
    ],
    "torvane": ["A torvane blew over the village."],
}


@pytest.fixture(scope="module")
def masked(lm):
    return contexts_of_sentences(lm.tokens, SENTENCES)


@pytest.fixture(scope="module")
def start(lm):
    words = [lm.whole_words["horse"], lm.whole_words["storm"]]
    return lm.embeddings[words].clone()


def test_a_vector_gets_better_on_sentences_it_was_not_refined_on(lm, masked, start):
    done = refine(lm, masked, start, QUICK)
    assert done.after[0] < done.before[0]
    assert not torch.equal(done.vectors[0], start[0])
    assert torch.isnan(done.before[1])  # one sentence: nothing to judge by
    assert torch.equal(done.vectors[1], start[1])


def test_a_word_is_refined_the_same_in_any_company(lm, masked, start):
    alone = contexts_of_sentences(lm.tokens, {"blimpet": SENTENCES["blimpet"]})
    one = refine(lm, alone, start[:1], QUICK).vectors[0]
    assert torch.allclose(one, refine(lm, masked, start, QUICK).vectors[0], atol=1e-4)


def test_a_step_too_large_leaves_the_vector_as_it_was(lm, masked, start):
    wild = refine(lm, masked, start, RefineSettings(steps=2, every=1, rate=1e4))
    assert (wild.after <= wild.before)[0]


def test_the_nearest_known_words_are_asked_for():
    known = np.array([False, True, True, False, True, False, True, True])
    assert _nearest(known, 3, 1) == [2, 4]
    assert _nearest(known, 3, 9) == [1, 2, 4, 6, 7]


def test_mistakes_are_named(lm, masked, start):
    with pytest.raises(InputError, match="1 vectors for 2 words"):
        refine(lm, masked, start[:1])
    for wrong in ({"steps": 0}, {"rate": 0.0}, {"held_out": 1.0}, {"fewest": 1}):
        with pytest.raises(InputError, match="refine settings"):
            RefineSettings(**wrong)


def test_the_command(lm, store, tmp_path):
    words = ["city", "river"]
    assert contexts_of_words(lm.tokens, store, words, limit=4).counts.tolist() == [4, 4]
    matrix = lm.embeddings[[lm.whole_words["horse"]] * 2].numpy()
    WordVectors(words, matrix, {"method": "test"}).save(tmp_path / "v.safetensors")
    options = ["--vectors", tmp_path / "v.safetensors", "--corpus", store.path, "--contexts", 4]
    done = rarewords("-q", "mimic", "refine", *options, "--steps", 5, "--out", tmp_path / "r.safetensors")
    assert "words moved, held-out loss" in done.stdout
    assert WordVectors.load(tmp_path / "r.safetensors").settings["refined"]["steps"] == 5
    WordVectors(words, np.ones((2, 5), np.float32)).save(tmp_path / "w.safetensors")
    assert "have size 5" in refused(
        "-q",
        "mimic",
        "refine",
        "--vectors",
        tmp_path / "w.safetensors",
        *options[2:],
        "--out",
        tmp_path / "x",
    )
