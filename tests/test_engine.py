"""The engine: a lost worker costs only its task, and no number depends on the process that computes it."""

import copy
import os
import pickle
import signal

import numpy as np
import pytest
import torch

import rarewords
from rarewords.engine import engine_for
from rarewords.errors import InputError
from rarewords.ota.settings import OtaSettings
from rarewords.probe.dataset import Dataset
from rarewords.stages import Stages

WORDS = ["kumquat", "salsify", "lingonberry", "persimmon"]


@pytest.fixture(scope="module")
def engine():
    """Two processes, started once: each takes seconds to import torch."""
    with engine_for("local", workers=2) as started:
        yield started


def test_the_task_of_a_killed_worker_runs_again(tmp_path):
    with engine_for("local", workers=2) as engine:
        results = dict(engine.map(die_once, [tmp_path / f"mark-{i}" for i in range(6)]))
    assert results == {i: f"mark-{i}" for i in range(6)}


def die_once(mark):
    if mark.name == "mark-2" and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return mark.name


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
    with pytest.raises(InputError, match="was changed in memory"):
        pickle.loads(pickle.dumps(changed))


def test_approximations_are_the_same_and_kept(lm, engine, tmp_path):
    settings = OtaSettings(steps=5)
    here = rarewords.approximate(lm, WORDS, settings)
    there = rarewords.approximate(lm, WORDS, settings, engine=engine, stages=Stages(tmp_path))
    assert there.vectors.words == here.vectors.words
    assert np.allclose(there.vectors.matrix, here.vectors.matrix, atol=1e-5)
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    again = rarewords.approximate(lm, WORDS, settings, stages=Stages(tmp_path))
    assert {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == kept
    assert np.array_equal(again.vectors.matrix, there.vectors.matrix)


def test_learned_vectors_are_the_same_and_readings_kept(lm, store, engine, monkeypatch, tmp_path):
    few = OtaSettings(steps=2)
    monkeypatch.setattr("rarewords.ota.approximate.OtaSettings", lambda: few)
    monkeypatch.setattr("rarewords.mimic.readings._WORDS_AT_ONCE", 2)
    learner, words = rarewords.WordLearner.for_model(lm), ["city", "river", *WORDS[:2]]
    here = learner.infer_words(words, store, contexts=3)
    there = learner.infer_words(words, store, contexts=3, engine=engine, stages=Stages(tmp_path))
    assert there.vectors.words == here.vectors.words
    assert np.allclose(there.vectors.matrix, here.vectors.matrix, atol=1e-4)
    assert len(list(tmp_path.iterdir())) == 2


def test_ranks_are_the_same(lm, engine, monkeypatch):
    sample = Dataset(Dataset.load().select(limit=12), "a sample")
    here = rarewords.evaluate(lm, sample)
    monkeypatch.setattr("rarewords.probe.predict.QUERIES_PER_SHARD", 23)
    there = rarewords.evaluate(lm, sample, engine=engine)
    for name in ("rank", "hits3", "hits10"):
        assert np.array_equal(getattr(there, name), getattr(here, name)), name
