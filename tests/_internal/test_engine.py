"""The engine: a lost worker is no traceback, and no number depends on the process that computes it."""

import copy
import os
import pickle
import signal

import numpy as np
import pytest
import torch

import rarewords
from rarewords import wnlampro
from rarewords._internal.cache import Cache
from rarewords._internal.engine import engine_for
from rarewords.ota.settings import OtaSettings
from tests.errors import refused_with

WORDS = ["kumquat", "salsify", "lingonberry", "persimmon"]


@pytest.fixture(scope="module")
def engine():
    """Two processes, started once: each takes seconds to import torch."""
    with engine_for("local", workers=2) as started:
        yield started


@pytest.mark.slow
def test_a_killed_worker_ends_the_work_with_a_mistake_that_can_be_resumed():
    with refused_with("memory"), engine_for("local", workers=2) as engine:
        list(engine.map(die, range(6)))


def die(number):
    if number == 2:
        os.kill(os.getpid(), signal.SIGKILL)


def test_workers_share_the_threads_of_their_parent():
    before = torch.get_num_threads()
    torch.set_num_threads(4)
    try:
        with engine_for("local", workers=2) as shared:
            assert [threads for _, threads in shared.map(threads_of_torch, [0, 1, 2])] == [2, 2, 2]
    finally:
        torch.set_num_threads(before)


def threads_of_torch(_):
    return torch.get_num_threads()


def test_a_model_that_was_changed_in_memory_is_not_handed_to_other_processes(lm):
    changed = rarewords.LanguageModel(copy.deepcopy(lm.model), lm.tokenizer, name=lm.name)
    with torch.no_grad():
        changed.embeddings[100] += 1
    assert not torch.equal(changed.embeddings[100], lm.embeddings[100])
    assert pickle.loads(pickle.dumps(lm)).fingerprint == lm.fingerprint
    with refused_with("model"):
        pickle.loads(pickle.dumps(changed))


@pytest.mark.slow
def test_approximations_are_the_same_and_kept(lm, engine, tmp_path):
    settings = OtaSettings(steps=5)
    here = rarewords.one_token_approximation(lm, WORDS, settings)
    there = rarewords.one_token_approximation(lm, WORDS, settings, engine=engine, cache=Cache(tmp_path))
    assert there.embeddings.words == here.embeddings.words
    assert np.allclose(there.embeddings.matrix, here.embeddings.matrix, atol=1e-5)
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    again = rarewords.one_token_approximation(lm, WORDS, settings, cache=Cache(tmp_path))
    assert {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == kept
    assert np.array_equal(again.embeddings.matrix, there.embeddings.matrix)


def test_learned_embeddings_are_the_same_and_readings_kept(lm, corpus, engine, monkeypatch, tmp_path):
    few = OtaSettings(steps=2)
    monkeypatch.setattr("rarewords.ota.approximate.OtaSettings", lambda: few)
    monkeypatch.setattr("rarewords.learner.expected._WORDS_AT_ONCE", 2)
    learner, words = rarewords.WordLearner.for_model(lm), ["city", "river", *WORDS[:2]]
    here = learner.learn_words(words, corpus, contexts=3)
    there = learner.learn_words(words, corpus, contexts=3, engine=engine, cache=Cache(tmp_path))
    assert there.embeddings.words == here.embeddings.words
    assert np.allclose(there.embeddings.matrix, here.embeddings.matrix, atol=1e-4)
    assert len(list(tmp_path.iterdir())) == 2


def test_ranks_are_the_same(lm, engine, monkeypatch):
    sample = wnlampro.Dataset(wnlampro.load().select(limit=12), "a sample")
    here = wnlampro.evaluate(lm, sample)
    monkeypatch.setattr("rarewords.wnlampro.probing.QUERIES_PER_SHARD", 23)
    there = wnlampro.evaluate(lm, sample, engine=engine)
    for name in ("rank", "hits3", "hits10"):
        assert np.array_equal(getattr(there, name), getattr(here, name)), name
