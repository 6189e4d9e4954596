"""One-token approximation on causal LMs: the states behind the word, between drawn words or, as a benchmark
compares them, in sentences."""

import numpy as np
import pytest
import torch

from experiments.transfer.distillation import AROUND, SentenceFrame, distill
from rarewords import LanguageModel, WordEmbeddings
from rarewords.ota.objective import Batch, Objective
from rarewords.ota.settings import OtaSettings
from tests.architectures import CAUSAL, small_causal
from tests.cli.run import rarewords
from tests.errors import refused_with

SENTENCES = {"kumquat": ["We ate a kumquat at noon.", "The kumquat is a small orange fruit."]}


def causal(architecture="llama"):
    return LanguageModel(*small_causal(architecture))


@pytest.mark.parametrize("architecture", CAUSAL)
def test_only_the_states_behind_the_word_count(architecture):
    lm = causal(architecture)
    subwords = lm.subwords("kumquat")
    objective, batch = Objective(lm, OtaSettings()), Batch.of(lm, [subwords], seed=0)
    embedding = lm.embeddings[subwords].mean(dim=0)[None]
    targets, states = objective.targets(batch, 2), objective.states(embedding, batch.keys, 2)
    left = objective.frame.left
    assert torch.allclose(states[:, :, :left], targets[:, :, :left], atol=1e-6)
    assert (states[:, :, left:] - targets[:, :, left:]).abs().amin(dim=(0, 1, 3)).max() > 1e-4
    # [BOS] a _ b c .
    shape = objective.frame.sequences(batch.subwords, batch.keys, 0).shape
    assert shape[1] == len(lm.tokens.special_tokens[0]) + len(subwords) + 3 + len(lm.subwords("."))


def test_sentences_are_windows_of_one_length_around_the_word():
    lm = causal()
    subwords, text = lm.subwords("kumquat"), " ".join(SENTENCES["kumquat"])
    ids = lm.tokenizer(text, add_special_tokens=False)["input_ids"]
    frame = SentenceFrame.around_words(lm, [text], [subwords])
    batch = Batch(torch.tensor([subwords]), torch.tensor([0]))
    rows = [frame.sequences(batch.subwords, batch.keys, number)[0].tolist() for number in range(3)]
    assert rows[0] == rows[2] != rows[1]
    place = next(at for at in range(len(ids)) if ids[at : at + len(subwords)] == subwords)
    behind = rows[0][frame.left + len(subwords) :]
    assert len(behind) == AROUND
    assert behind[:4] == ids[place + len(subwords) :][:4]
    assert rows[0][frame.left : frame.left + len(subwords)] == subwords


def test_words_that_their_sentences_lack_are_refused():
    lm = causal()
    with refused_with("word-not-found"):
        distill(lm, [lm.subwords("kumquat")], ["Nothing."], OtaSettings())


def test_the_search_in_sentences_comes_nearer_to_the_subwords():
    lm = causal()
    subwords, text = lm.subwords("kumquat"), " ".join(SENTENCES["kumquat"])
    settings = OtaSettings(steps=60)
    found = distill(lm, [subwords], [text], settings)[0]
    objective = Objective(lm, settings)
    objective.frame = SentenceFrame.around_words(lm, [text], [subwords])
    batch = Batch(torch.tensor([subwords]), torch.tensor([0]))

    def distance(embedding):
        embedding = torch.as_tensor(embedding)[None]
        return sum(
            float(objective.distance(embedding, objective.targets(batch, number), batch.keys, number))
            for number in range(2)
        )

    assert distance(found) < 0.9 * distance(lm.embeddings[subwords].mean(dim=0))


def test_words_of_the_same_subwords_have_their_own_sentences(lm):
    texts = ["The Kumquat sailed to Malta.", " ".join(SENTENCES["kumquat"])]
    settings, subwords = OtaSettings(steps=2), lm.subwords("kumquat")
    assert lm.subwords("Kumquat") == subwords
    both = distill(lm, [subwords, subwords], texts, settings)
    for text, found in zip(texts, both, strict=True):
        (alone,) = distill(lm, [subwords], [text], settings)
        np.testing.assert_allclose(found, alone, atol=1e-4)
    assert not np.allclose(both[0], both[1], atol=1e-3)


def test_the_search_begins_where_it_is_told():
    lm = causal()
    subwords, text = lm.subwords("kumquat"), " ".join(SENTENCES["kumquat"])
    settings, start = OtaSettings(steps=1, rate=1e-6), torch.full((1, lm.dim), 0.5)
    assert np.allclose(distill(lm, [subwords], [text], settings, start), 0.5, atol=1e-4)
    mean = lm.embeddings[subwords].mean(dim=0)
    assert np.allclose(distill(lm, [subwords], [text], settings)[0], mean, atol=1e-4)


def test_the_command_takes_a_causal_lm(tmp_path):
    for part in small_causal("gpt2"):
        part.save_pretrained(tmp_path / "model")
    (tmp_path / "words.txt").write_text("kumquat\n", "utf-8")
    out = tmp_path / "embeddings.safetensors"
    options = ("--words", tmp_path / "words.txt", "--out", out, "--model", tmp_path / "model", "--steps", 2)
    assert "1 embeddings" in rarewords("ota", *options).stdout
    assert WordEmbeddings.load(out)["kumquat"].shape == (32,)
