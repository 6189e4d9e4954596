"""Embeddings and checks of many words: one kind of check per kind of model, and finished parts are kept."""

import json
from dataclasses import replace

import numpy as np
import pytest

from rarewords import Corpus, CorpusSettings, LanguageModel, TeachSettings, WordLearner
from rarewords._internal.cache import Cache
from rarewords.teaching import candidates
from rarewords.teaching.candidates import check_for, learn_and_check
from rarewords.teaching.check import MaskedCheck
from rarewords.teaching.holdout import HoldOut, hold_out
from rarewords.teaching.transfer_check import CausalCheck, EncoderCheck
from tests.architectures import sentence_transformer, small_causal
from tests.errors import refused_with
from tests.teaching.invented import sentences_of

WORDS = ["torvane", "yurla"]


@pytest.fixture(scope="module")
def holdouts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("candidates")
    (folder / "text.txt").write_text(sentences_of(*WORDS, most=3), "utf-8")
    settings = CorpusSettings(words="any")
    corpus = Corpus.build(folder / "text.txt", folder / "corpus", settings, workers=1)
    return hold_out(corpus, dict.fromkeys(WORDS, 3), TeachSettings())


@pytest.fixture
def run(lm, holdouts):
    """Learn and check the words, with work kept in a folder."""

    def learned(folder, *, learner=None, own=holdouts, **settings):
        check = check_for(lm, lm, "append", found=True, **settings)
        return learn_and_check(learner or WordLearner.for_model(lm), check, own, Cache(folder))

    return learned


def test_each_kind_of_model_has_its_check(lm, tmp_path):
    encoder = LanguageModel.from_pretrained(sentence_transformer(tmp_path / "encoder"), device="cpu")
    causal = LanguageModel(*small_causal("llama"))
    kinds = [type(check_for(one, lm, "append", found=True)) for one in (lm, encoder, causal)]
    assert kinds == [MaskedCheck, EncoderCheck, CausalCheck]


def test_every_word_gets_an_embedding_and_a_report(run, tmp_path):
    reports, embeddings = run(tmp_path)
    assert [one.word for one in reports] == embeddings.words == WORDS
    for one in reports:
        assert (one.count, one.contexts, one.check.contexts) == (3, 3, 3)
        assert 0 < one.context_share <= 1
        assert len(one.before) == len(one.after) == 5


def test_a_part_that_was_interrupted_is_the_only_one_made_again(run, tmp_path, monkeypatch):
    monkeypatch.setattr(candidates, "WORDS_PER_PART", 1)
    whole, _ = run(tmp_path / "whole")
    learn, calls = candidates._learn, []

    def stop(learner, dim, part, readings):
        calls.append(part[0].word)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return learn(learner, dim, part, readings)

    monkeypatch.setattr(candidates, "_learn", stop)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "again")
    again, _ = run(tmp_path / "again")
    assert calls == ["torvane", "yurla", "yurla"]
    assert again == whole


def test_another_question_is_checked_anew_with_the_same_embeddings(run, tmp_path, monkeypatch):
    _, embeddings = run(tmp_path)
    monkeypatch.setattr(WordLearner, "learn_each", lambda *_: pytest.fail("learned before"))
    reports, again = run(tmp_path, question="the <W> is made of _.")
    assert {one.question for one in reports} == {"the <W> is made of _."}
    assert np.array_equal(again.matrix, embeddings.matrix)


class Silent(WordLearner):
    """A learner that finds nothing to learn one word from."""

    key = "silent"

    def learn_each(self, tasks):
        return [None if one.word == "yurla" else one for one in super().learn_each(tasks)]


def test_a_word_without_an_embedding_has_no_report(run, lm, tmp_path):
    reports, embeddings = run(tmp_path, learner=Silent(lm))
    assert [one.word for one in reports] == embeddings.words == ["torvane"]


def test_no_words_give_no_embeddings(run, lm, tmp_path):
    reports, embeddings = run(tmp_path, own=[])
    assert (reports, embeddings.words, embeddings.dim) == ([], [], lm.dim)


def test_a_word_with_one_context_is_not_checked(run, holdouts, tmp_path):
    one = HoldOut("torvane", 1, holdouts[0].contexts[:1], ())
    ((report,), _) = run(tmp_path, own=[one])
    assert (report.check, report.verdict, report.gain) == (None, "not checked", None)


def test_kept_work_that_was_damaged_is_refused_by_its_name(run, tmp_path):
    run(tmp_path)
    (kept,) = tmp_path.glob("checked-*.json")
    kept.write_text(json.dumps([{**one, "count": "many"} for one in json.loads(kept.read_text("utf-8"))]))
    with refused_with("damaged"):
        run(tmp_path)


def test_the_shares_of_one_word_do_not_depend_on_the_others(run, holdouts, tmp_path):
    both, _ = run(tmp_path)
    alone, _ = run(tmp_path, own=holdouts[1:])
    assert replace(alone[0], check=None) == replace(both[1], check=None)
    assert alone[0].gain == pytest.approx(both[1].gain, abs=1e-4)
