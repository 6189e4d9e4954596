"""Some entries of a result, and scores from another."""

from dataclasses import replace

import numpy as np
import pytest

from experiments.paper.results import of_set, replaced, restrict
from rarewords.wnlampro.dataset import AnnotatedWord, Dataset, Entry
from rarewords.wnlampro.result import ProbeResult

WORD = AnnotatedWord("lime", "n", 1.0, 1)


@pytest.fixture
def result():
    return ProbeResult(
        {"label": "by hand", "dataset": "d", "set": "all", "limit": None, "depth": 512},
        id=["1", "2", "3", "4"],
        word=["lime", "kumquat", "salsify", "new"],
        relation=["hypernym", "hypernym", "hypernym", "antonym"],
        rank=np.array([1, 4, 0, 200]),
        hits3=np.array([2, 0, 0, 0]),
        hits10=np.array([3, 1, 0, 0]),
        count=np.array([500, 4, 9, 70000]),
    )


def test_restrict_keeps_some_entries(result):
    rare = restrict(result, result.chosen("all", "rare"), label="rare")
    assert (rare.label, result.label) == ("rare", "by hand")
    assert list(rare.word) == ["kumquat", "salsify"]
    assert rare.rank.tolist() == [4, 0]
    assert rare.mrr == pytest.approx(result.measure("all", "rare").mean)


def test_of_set_follows_the_data_set(result):
    def entry(number, subset):
        return Entry(number, subset, WORD, "hypernym", (WORD,))

    dataset = Dataset((entry("2", "dev"), entry("3", "test"), entry("9", "dev")))
    dev = of_set(result, dataset, "dev")
    assert list(dev.id) == ["2"]
    assert dev.settings["set"] == "dev"


def test_replaced_takes_the_scores_of_a_part(result):
    part = restrict(result, np.array([False, True, False, True]), label="part", method="avg", limit=2)
    part = replace(part, rank=np.array([1, 7]), hits3=np.array([3, 0]), hits10=np.array([3, 2]))
    whole = replaced(result, part)
    assert whole.rank.tolist() == [1, 1, 0, 7]
    assert whole.hits3.tolist() == [2, 3, 0, 0]
    assert whole.count.tolist() == result.count.tolist()
    assert (whole.label, whole.settings["set"], whole.settings["limit"]) == ("part", "all", None)


def test_answers_are_those_of_the_kept_entries_and_none_of_a_mixture(result):
    kept = replace(result, answers=["lime is a _. fruit", "b", "c", "d"])
    assert restrict(kept, kept.rank == 4).answers == ["b"]
    assert not replaced(kept, result).answers
