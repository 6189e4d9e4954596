"""Random contexts: uniform, made of whole words, and the word's own."""

import pytest
import torch

from rarewords.ota.objective import Frame, draw, word_key
from tests.errors import refused_with


def test_random_numbers_are_uniform_and_belong_to_the_word():
    keys = torch.tensor([word_key([7, 8], 0), word_key([7, 9], 0)])
    many = draw(keys, torch.arange(20_000), 10)
    counts = torch.stack([torch.bincount(column, minlength=10) for column in many.T])
    # 2000 expected, standard deviation 42.
    assert int(counts.min()) > 1800
    assert int(counts.max()) < 2200
    assert (many[:, 0] == many[:, 1]).float().mean().item() == pytest.approx(0.1, abs=0.02)
    assert torch.equal(draw(keys[1:], torch.arange(100), 10)[:, 0], many[:100, 1])
    assert word_key([7, 8], 0) != word_key([7, 8], 1)


@pytest.mark.parametrize(
    ("kind", "pattern"),
    [
        ("static", "[CLS] ku ##m ##qua ##t . [SEP]"),
        ("random", "[CLS] * ku ##m ##qua ##t * . [SEP]"),
        ("masked", "[CLS] * ku ##m ##qua ##t * [MASK] * . [SEP]"),
    ],
)
def test_a_frame_is_whole_words_around_the_subwords(lm, kind, pattern):
    subwords = lm.subwords("kumquat")
    keys = torch.tensor([word_key(subwords, 0), word_key(subwords, 1)])
    rows = Frame.of(lm, kind).sequences(torch.tensor([subwords, subwords]), keys, 5).tolist()
    whole = set(lm.whole_words.values())
    for row in rows:
        tokens = lm.tokens.subword_strings(row)
        assert len(tokens) == len(pattern.split())
        for expected, token, id_ in zip(pattern.split(), tokens, row, strict=True):
            assert id_ in whole if expected == "*" else token == expected
    assert (rows[0] == rows[1]) == (kind == "static")


def test_the_masked_frame_draws_from_the_first_whole_words_the_random_frame_from_all(lm):
    whole, frames = (sorted(lm.whole_words.values()), {kind: Frame.of(lm, kind) for kind in ("random", "masked")})
    assert frames["random"].fillers.tolist() == whole
    assert frames["masked"].fillers.tolist() == whole[:1000]
    assert len(whole) > 10_000


def test_a_model_without_whole_words_has_the_static_frame_only(lm, monkeypatch):
    monkeypatch.setattr(lm.tokens, "whole_words", {})
    with refused_with("tokenizer"):
        Frame.of(lm, "random")
    assert len(Frame.of(lm, "static").around) == 3
