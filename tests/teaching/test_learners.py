"""Which learner makes the vectors."""

import gzip

import pytest
import torch

from rarewords.corpus.build import build
from rarewords.corpus.settings import CorpusSettings
from rarewords.mimic.learner import WordLearner
from rarewords.probe.dataset import Dataset
from rarewords.teaching import learners
from rarewords.teaching.learners import fitting_passes, open_learner
from tests.architectures import DATA


@pytest.fixture
def another_model(monkeypatch, tmp_path):
    """The bundled model, as if no learner shipped for it; a fit of 40 words, kept in a cache of its own."""
    monkeypatch.setattr(learners, "bundled_learner", lambda _: None)
    monkeypatch.setattr(learners, "FITTED_WORDS", 40)
    monkeypatch.setenv("RAREWORDS_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def store(tmp_path):
    text = tmp_path / "text.txt"
    text.write_bytes(gzip.decompress((DATA / "wikipedia.txt.gz").read_bytes()))
    return build([text], tmp_path / "store", CorpusSettings(), workers=1)


def test_the_bundled_model_has_a_learner_and_nothing_is_fitted(lm, store):
    learner, name = open_learner(lm, None, store)
    assert name == "default"
    assert learner.fitted
    assert fitting_passes(lm, store) == 0


@pytest.mark.usefixtures("another_model")
def test_a_learner_is_fitted_on_the_text_and_found_the_next_time(lm, store, monkeypatch):
    words, read = [], learners.WordLearner.fit
    monkeypatch.setattr(WordLearner, "fit", lambda *given, **more: words.append(more) or read(*given, **more))
    assert fitting_passes(lm, store) == 40 * learners.FITTED_CONTEXTS
    learner, name = open_learner(lm, None, store)
    assert name.startswith("fitted on the text: 40 known words, held-out cosine ")
    assert learner.fitted["words"] == 40
    assert set(words[0]["leave_out"]) == {entry.word.text for entry in Dataset.load()}
    again, _ = open_learner(lm, None, store)
    assert torch.equal(again.transform, learner.transform)
    assert len(words) == 1
    assert fitting_passes(lm, store) == 0


@pytest.mark.usefixtures("another_model")
def test_a_small_text_is_too_small_and_the_report_says_so(lm, tmp_path):
    (tmp_path / "small.txt").write_text("The cat saw the dog.\n" * 9)
    store = build([tmp_path / "small.txt"], tmp_path / "small", CorpusSettings(), workers=1)
    learner, name = open_learner(lm, None, store)
    assert learner.transform is None
    assert "no fitted matrix: the text has" in name
    assert fitting_passes(lm, store) == 0
