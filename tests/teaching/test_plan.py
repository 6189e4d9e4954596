"""The plan of a teaching; its clock is not the machine's, so that the test gives the same on any machine."""

import itertools
from types import SimpleNamespace

import pytest

from rarewords.teaching.plan import plan_teaching
from rarewords.teaching.settings import TeachSettings
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
    monkeypatch.setattr("rarewords.stages.time", clock)


def test_the_plan_names_words_and_extrapolates_what_it_timed(lm, text, tmp_path):
    asked = [*WORDS, "persimmon", "world", "zzyzx"]
    plan = plan_teaching([text], tmp_path / "model", words=asked, workers=1, model=lm)
    counts = {"torvane": 6, "yurla": 6, "jorrin": 6, "persimmon": 1}
    assert plan.words == counts
    assert plan.refused == {
        "world": "the model already has it as one piece",
        "zzyzx": "the text does not contain it as a word",
    }
    assert plan.seconds["loading"] == 1
    assert plan.seconds["corpus"] >= 1  # it may have stages of its own
    assert plan.seconds["saving"] == 2
    # Two of the words are timed.
    assert plan.seconds["vectors and judgement"] == sum(counts.values()) / 12
    assert plan.total_seconds == sum(plan.seconds.values())
    assert plan.as_json()["total_seconds"] == pytest.approx(plan.total_seconds, abs=0.01)
    assert [path.name for path in tmp_path.iterdir()] == ["invented.txt"]


def test_fewer_contexts_take_less_time(lm, text, tmp_path):
    settings = TeachSettings(contexts=2, held_out=1)
    plan = plan_teaching([text], tmp_path / "model", words=WORDS, workers=1, model=lm, settings=settings)
    assert plan.seconds["vectors and judgement"] == 9 / 6
