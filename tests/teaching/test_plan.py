"""The plan of a teaching; its clock is not the machine's, so that the test gives the same on any machine."""

import itertools
from types import SimpleNamespace

import pytest

from rarewords.teaching.plan import plan_fitting, plan_teaching
from rarewords.teaching.settings import TeachSettings
from rarewords.teaching.splits import split_spans
from tests.architectures import sentence_transformer
from tests.cli.run import rarewords, refused
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
    settings = TeachSettings(top=1)  # which a list does not heed
    plan = plan_teaching([text], tmp_path / "model", words=asked, workers=1, model=lm, settings=settings)
    counts = {"torvane": 6, "yurla": 6, "jorrin": 6, "persimmon": 1}
    assert plan.words == counts
    assert plan.refused == {
        "world": "the model already has it as one piece",
        "zzyzx": "the text does not contain it as a word",
    }
    assert plan.seconds["loading"] == 1
    assert plan.seconds["corpus"] >= 1  # it may have stages of its own
    assert plan.seconds["saving"] == 1
    # All four words are timed, in one stage.
    assert plan.seconds["vectors and judgement"] == 1
    assert "fitting a learner" not in plan.seconds  # one ships
    assert plan.total_seconds == sum(plan.seconds.values())
    assert plan.as_json()["total_seconds"] == pytest.approx(plan.total_seconds, abs=0.01)
    assert [path.name for path in tmp_path.iterdir()] == ["invented.txt"]


def test_the_fit_of_a_reader_is_planned(text, tmp_path, monkeypatch):
    monkeypatch.setattr("rarewords.teaching.learners.bundled_learner", lambda _: None)
    monkeypatch.setattr("rarewords.teaching.learners._FEWEST_WORDS", 1)
    encoder = sentence_transformer(tmp_path / "encoder")
    plan = plan_teaching([text], tmp_path / "model", words=WORDS, workers=1, model=encoder, device="cpu")
    assert plan.seconds["fitting a learner"] > 0


def test_time_is_extrapolated_by_the_contexts_that_are_read(lm, text, tmp_path, monkeypatch):
    monkeypatch.setattr("rarewords.teaching.plan._TIMED_WORDS", 2)
    plan = plan_teaching([text], tmp_path / "model", words=WORDS, workers=1, model=lm)
    assert plan.seconds["vectors and judgement"] == 3 / 2  # three words of six contexts, two timed


def test_passes_are_contexts_and_two_for_each_neighbour_of_those_held_out():
    def passes(count, **settings):
        numbered = [(f"Sentence {number} has a blimpet.", 17, 24) for number in range(count)]
        return split_spans("blimpet", count, numbered, TeachSettings(**settings)).passes

    assert [passes(count) for count in (1, 6, 16, 1000)] == [1, 6 + 36, 12 + 24, 32 + 48]
    assert passes(3, contexts=2) == 2 + 12


def test_fitting_is_planned_by_the_words_there_are(store, tmp_path, monkeypatch):
    monkeypatch.setattr("rarewords.teaching.plan._FITTED_WORDS", 24)
    plan, words = plan_fitting(store.path, "default", contexts=1, min_count=20)
    assert words > 100
    assert plan.seconds == {"loading": 1, "reading": words / 24}  # 24 were read, in a second
    asked = ["mimic", "fit", "--corpus", store.path, "--out", tmp_path / "learner", "--plan", "--contexts", 1]
    shown = rarewords("-q", *asked, "--min-count", 20).stdout
    assert shown.startswith(f"Would fit gte-mlm on {words:,} words, 1 contexts each\n")
    assert "in all, about" in shown
    assert "known words occur at least 100000 times" in refused(*asked, "--min-count", 100_000)
    assert not list(tmp_path.iterdir())
