"""Which learner makes the embeddings."""

import pytest
import torch

from rarewords import AttentiveMimicking, Corpus, LanguageModel, WordLearner, wnlampro
from rarewords.learner.transfer import TransferLearner
from rarewords.teaching import learners
from rarewords.teaching.learners import learner_for, open_learner
from tests.architectures import small_causal
from tests.errors import refused_with


@pytest.fixture
def another_model(monkeypatch, tmp_path):
    """The bundled model, as if no learner shipped for it; a fit of 40 words, kept in a cache of its own."""
    monkeypatch.setattr(learners, "bundled_learner", lambda _: None)
    monkeypatch.setattr(learners, "FITTED_WORDS", 40)
    monkeypatch.setenv("RAREWORDS_CACHE", str(tmp_path / "cache"))


def test_the_bundled_model_has_a_learner_and_nothing_is_fitted(lm, corpus):
    learner, name = open_learner(lm, None, corpus)
    assert name == "default"
    assert learner.fitted


@pytest.mark.slow
@pytest.mark.usefixtures("another_model")
def test_a_learner_is_fitted_on_the_text_and_found_the_next_time(lm, corpus, monkeypatch):
    words, read = [], learners.WordLearner.fit
    monkeypatch.setattr(WordLearner, "fit", lambda *given, **more: words.append(more) or read(*given, **more))
    learner, name = open_learner(lm, None, corpus)
    assert name.startswith("fitted on the text: 40 known words, held-out cosine ")
    assert learner.fitted["words"] == 40
    assert set(words[0]["leave_out"]) == {entry.word.text for entry in wnlampro.load()}
    again, _ = open_learner(lm, None, corpus)
    assert torch.equal(again.transform, learner.transform)
    assert len(words) == 1


@pytest.mark.usefixtures("another_model")
def test_a_small_text_is_too_small_and_the_report_says_so(lm, tmp_path):
    corpus = Corpus.build(["The cat saw the dog."] * 9, tmp_path / "small", workers=1)
    learner, name = open_learner(lm, None, corpus)
    assert learner.transform is None
    assert "no fitted learner: the text has" in name


def test_a_learner_is_given_by_itself_by_its_folder_or_by_name(lm, tmp_path):
    learner = WordLearner(lm)
    assert open_learner(lm, learner) == (learner, "WordLearner")
    WordLearner.for_model(lm).save_pretrained(tmp_path / "own")
    opened, name = open_learner(lm, tmp_path / "own")
    assert (type(opened), name) == (WordLearner, "own")
    opened, name = open_learner(lm, "am")
    assert (type(opened), name) == (AttentiveMimicking, "am")


def test_what_is_no_learner_is_refused(lm, tmp_path):
    for wrong in (tmp_path, tmp_path / "missing", "default"):
        with refused_with("learner"):
            open_learner(lm, wrong)


def test_a_model_of_another_kind_is_taught_through_the_reader_model(lm):
    target = LanguageModel(*small_causal("llama"))
    learner, name = learner_for(target, lm, None)
    assert (type(learner), name) == (TransferLearner, "default")
    assert learner.lm is lm
    learner, name = learner_for(target, lm, "am")
    assert (type(learner.learner), name) == (AttentiveMimicking, "am")


def test_a_masked_lm_is_shown_the_word_and_a_reader_of_another_model_is_not(lm):
    shown, _ = learner_for(lm, lm, None)
    masked, _ = learner_for(LanguageModel(*small_causal("llama")), lm, None)
    assert (shown.settings.reading, masked.learner.settings.reading) == ("shown", "masked")
