"""The dry run of a teaching; its clock is not the machine's, so that it gives the same on any machine."""

import itertools
from types import SimpleNamespace

import pytest

from rarewords import TeachSettings
from rarewords.teaching.scan import DryRun, dry_run
from rarewords.teaching.words import KNOWN, NOT_IN_TEXT
from tests.teaching.invented import sentences_of

WORDS = ["torvane", "yurla", "jorrin"]


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "invented.txt"
    path.write_text(sentences_of(*WORDS, most=6) + "A persimmon fell.\n", "utf-8")
    return path


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    """A clock that ticks once whenever a stage reads it, so that a stage takes one second."""
    clock = SimpleNamespace(perf_counter=itertools.count().__next__, time=lambda: 0.0)
    monkeypatch.setattr("rarewords._internal.cache.time", clock)


def test_it_names_the_words_and_why_others_are_skipped_and_leaves_nothing(lm, text, tmp_path):
    asked = [*WORDS, "persimmon", "world", "zzyzx"]
    settings = TeachSettings(top=1)  # which a list does not heed
    estimate = dry_run(model=lm, texts=text, words=asked, workers=1, settings=settings)
    found = {one.word: (one.count, one.skipped) for one in estimate.words}
    assert list(found) == asked
    assert found == {
        **dict.fromkeys(WORDS, (6, "")),
        "persimmon": (1, ""),
        "world": (0, KNOWN),
        "zzyzx": (0, NOT_IN_TEXT),
    }
    assert [path.name for path in tmp_path.iterdir()] == ["invented.txt"]


def test_what_is_timed_is_extrapolated_by_the_sentences_that_are_read(lm, text, monkeypatch):
    monkeypatch.setattr("rarewords.teaching.scan._TIMED_WORDS", 2)
    estimate = dry_run(model=lm, texts=text, words=WORDS, workers=1)
    # Two words of six contexts take one second, so three take one and a half.
    assert estimate.seconds["embeddings and check"] == pytest.approx(3 / 2)
    assert estimate.seconds["loading"] == 1
    assert estimate.seconds["saving"] == 1 / 2
    assert estimate.total_seconds == sum(estimate.seconds.values())


def test_a_glossary_is_estimated_without_a_text(lm):
    estimate = dry_run(model=lm, glossary={"torvane": "an instrument", "yurla": ["a drink", "a beverage"]})
    assert [one.word for one in estimate.words] == ["torvane", "yurla"]
    assert estimate.seconds["embeddings and check"] == pytest.approx(1)


def test_the_estimate_for_people_and_for_programs():
    estimate = DryRun("small", {"loading": 3.0, "embeddings and check": 3700.456}, ())
    assert [line.split() for line in estimate.lines()] == [
        ["loading", "3", "s"],
        ["embeddings", "and", "check", "1", "h", "1", "min"],
        ["in", "all,", "about", "1", "h", "1", "min"],
    ]
    assert estimate.as_json() == {
        "model": "small",
        "seconds": {"loading": 3.0, "embeddings and check": 3700.46},
        "total_seconds": 3703.46,
        "words": (),
    }
