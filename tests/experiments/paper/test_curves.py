"""The development measure of one-token approximation."""

from types import SimpleNamespace

import numpy as np

from experiments.paper.parts import ota
from experiments.paper.parts.ota import OtaPart, marks_up_to, measure, one_subword_words
from rarewords.ota.settings import OtaSettings
from tests.errors import refused_with


def test_words_are_chosen_from_those_of_one_subword(lm):
    words = one_subword_words(lm, 12, seed=0)
    assert words != one_subword_words(lm, 12, seed=1)
    assert all(len(ids) == 1 for ids in lm.tokens.subwords_of(words))
    with refused_with("settings"):
        one_subword_words(lm, 10**6, seed=0)


def test_distances_fall_from_one(lm):
    assert marks_up_to(250) == (0, 1, 10, 100, 200, 250)
    assert marks_up_to(12) == (0, 1, 10, 12)
    words = one_subword_words(lm, 4, seed=0)
    distances = measure(lm, words, OtaSettings.preset("paper", steps=12), label="test")
    assert distances.shape == (4, 4)
    means = distances.mean(axis=1)
    assert means[0] == 1.0
    assert means[0] > means[1] > means[2] > means[3]


def test_the_start_does_not_know_the_answer(lm):
    """A start from the mean of the subwords would be the embedding itself."""
    settings = OtaSettings.preset("paper", start="mean", steps=2)
    means = measure(lm, one_subword_words(lm, 4, seed=0), settings, label="test").mean(axis=1)
    assert means[0] == 1.0
    assert means[-1] > 0.1


def test_words_are_counted_for_the_nearer_curve(lm, settings, tmp_path, monkeypatch):
    curves = {"static": [[1, 1, 1, 1], [0.2, 0.1, 0.4, 0.4]], "random": [[1, 1, 1, 1], [0.1, 0.2, 0.3, 0.4]]}
    monkeypatch.setattr(ota, "_distances", lambda _, frame: np.array(curves[frame]))
    part = OtaPart.run(SimpleNamespace(lm=lm, settings=settings), tmp_path)
    for test in (part.random_nearer[1], part.at_best):
        assert (test.wins, test.losses) == (2, 1)
    assert (part.risen.wins, part.risen.losses) == (0, 0)  # the last mark is the best
