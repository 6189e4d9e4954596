"""Many words: independence of batches and shards, starts, baselines, special words, resuming."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
import torch

from rarewords import InputError, OtaSettings, approximate
from rarewords.corpus.engine import engine_for
from rarewords.ota import Approximator
from rarewords.ota.behaviour import answer_overlap, held_out_distance
from rarewords.ota.condense import condense
from rarewords.ota.evaluate import compare, marks_up_to, measure, one_piece_words
from rarewords.vectors import WordVectors

WORDS = ["kumquat", "salsify", "lingonberry", "persimmon", "red panda", "ptarmigan"]
SMALL = OtaSettings(inverse_words=400, curvature_probes=200, iterations=11, averaging_steps=30)


@pytest.fixture(scope="module")
def approximation(lm):
    return approximate(lm, WORDS, SMALL)


def test_words_and_phrases_act_more_like_their_pieces_than_the_baselines(lm, approximation):
    assert list(approximation.vectors.words) == WORDS
    vectors = {"ota": approximation.vectors}
    for method in ("first", "last", "avg"):
        vectors[method] = approximate(lm, WORDS, method=method).vectors
    far = {name: held_out_distance(lm, WORDS, one).mean() for name, one in vectors.items()}
    assert far["ota"] < 0.6 * min(far["first"], far["last"], far["avg"])
    shared = answer_overlap(lm, WORDS, vectors)
    assert shared["ota"].mean > max(shared[name].mean for name in ("first", "last", "avg"))


@pytest.mark.parametrize("settings", [SMALL, OtaSettings.preset("paper", iterations=8)])
def test_neither_batches_nor_shards_change_a_vector(lm, settings):
    whole = approximate(lm, WORDS, settings).vectors
    single = approximate(lm, WORDS, settings, words_per_batch=1).vectors
    parts = [approximate(lm, WORDS, settings, shard=(part, 3)).vectors for part in range(3)]
    assert sorted(word for part in parts for word in part.words) == sorted(WORDS)
    assert max(len(part) for part in parts) < len(WORDS)
    joined = parts[0].merge(parts[1]).merge(parts[2])
    for word in WORDS:
        np.testing.assert_allclose(single[word], whole[word], atol=2e-3)
        np.testing.assert_allclose(joined[word], whole[word], atol=2e-3)


def test_the_same_seed_gives_the_same_bits_and_another_does_not(lm, approximation):
    again = approximate(lm, WORDS, SMALL).vectors
    assert np.array_equal(again.matrix, approximation.vectors.matrix)
    other = approximate(lm, WORDS[:2], replace(SMALL, seed=1)).vectors
    assert not np.allclose(other["kumquat"], approximation.vectors["kumquat"], atol=1e-3)


def test_starts_are_what_they_say(lm):
    pieces = lm.pieces("kumquat")
    own = lm.embeddings[pieces]
    letters = torch.tensor([len(name.removeprefix("##")) for name in lm.piece_strings(pieces)]).float()
    expected = {
        "zero": torch.zeros(lm.dim),
        "mean": own.mean(dim=0),
        "length": (letters[:, None] * own).sum(dim=0) / letters.sum(),
        "vocabulary": lm.embeddings[sorted(lm.whole_words.values())].mean(dim=0),
    }
    for name, vector in expected.items():
        settings = OtaSettings.preset("fast", start=name, curvature_probes=0)
        found = Approximator(lm, settings).start(torch.tensor([pieces]))[0]
        torch.testing.assert_close(found, vector, atol=1e-6, rtol=1e-4)


def test_the_inverse_start_finds_words_it_was_not_fitted_on(lm):
    words = one_piece_words(lm, 20, seed=3)
    ids = torch.tensor([lm.whole_words[word] for word in words])
    approximator = Approximator(lm, SMALL, leave_out=ids.tolist())
    own = lm.embeddings[ids]
    far = 1 - torch.nn.functional.cosine_similarity(approximator.start(ids[:, None]), own)
    mean = 1 - torch.nn.functional.cosine_similarity(approximator.prior.mean_vector[None], own)
    assert far.mean() < 0.5 * mean.mean()


def test_baselines_are_the_pieces_embeddings(lm):
    own = lm.embeddings[lm.pieces("kumquat")].numpy()
    for method, expected in (("first", own[0]), ("last", own[-1]), ("avg", own.mean(axis=0))):
        found = approximate(lm, ["kumquat"], method=method).vectors["kumquat"]
        np.testing.assert_allclose(found, expected, atol=1e-6)


def test_special_words_are_named_and_lose_no_other(lm):
    long = "qx" * 30
    assert len(lm.pieces(long)) >= 50
    words = ["lime", "kumquat", "kumquat", "", "\u4e00\u16a0", long, "zq" * 300]
    result = approximate(lm, words, method="avg")
    assert list(result.vectors.words) == ["kumquat", long]
    assert [(note.word, note.kind) for note in result.notes] == [
        ("lime", "one piece"),
        ("kumquat", "duplicate"),
        ("", "empty"),
        ("\u4e00\u16a0", "unknown characters"),
        ("zq" * 300, "unknown characters"),
    ]
    assert "keep_single" in str(result.notes[0])
    kept = approximate(lm, ["lime", "kumquat"], SMALL, keep_single=True).vectors
    assert np.array_equal(kept["lime"], lm.embeddings[lm.whole_words["lime"]].numpy())


def test_a_word_of_sixty_pieces_is_approximated(lm):
    phrase = " ".join(["kumquat"] * 15)
    assert len(lm.pieces(phrase)) == 60
    vectors = approximate(lm, [phrase], SMALL).vectors
    average = approximate(lm, [phrase], method="avg").vectors
    assert held_out_distance(lm, [phrase], vectors)[0] < held_out_distance(lm, [phrase], average)[0]
    too_long = " ".join(["kumquat"] * 200)
    result = approximate(lm, ["salsify", too_long], method="avg")
    assert [note.kind for note in result.notes] == ["too long"]


def test_only_unusable_words_are_an_error(lm):
    with pytest.raises(InputError, match=r"none of the 1 words.*already one piece"):
        approximate(lm, ["lime"])


def test_converged_words_leave_and_cost_nothing_more(lm):
    pieces = [lm.pieces(word) for word in ("kumquat", "lingonberry") if len(lm.pieces(word)) == 4][:1]
    eager = Approximator(lm, replace(SMALL, tolerance=0.9, solver="lbfgs"))
    patient = Approximator(lm, replace(SMALL, tolerance=0.0, solver="lbfgs"))
    short, full = (one.solve(one.batch(pieces)) for one in (eager, patient))
    assert short.backwards == SMALL.contexts_per_step * 6  # the start and five steps
    assert full.backwards == SMALL.contexts_per_step * 12
    assert full.distances[0] <= short.distances[0]


def test_averaging_over_contexts_keeps_more_answers_than_solving_for_a_few(lm):
    solved = approximate(lm, WORDS, replace(SMALL, solver="lbfgs", iterations=25)).vectors
    averaged = approximate(lm, WORDS, replace(SMALL, averaging_steps=120)).vectors
    overlap = answer_overlap(lm, WORDS, {"solved": solved, "averaged": averaged})
    assert overlap["averaged"].mean > overlap["solved"].mean
    # and the vectors stay about as long as the model's own
    own = lm.embeddings[list(lm.whole_words.values())].norm(dim=1).mean().item()
    assert np.linalg.norm(averaged.matrix, axis=1).max() < 2 * own


def test_a_killed_run_goes_on_and_does_no_word_twice(lm, tmp_path):
    words, out = tmp_path / "words.txt", tmp_path / "vectors.safetensors"
    words.write_text("\n".join(WORDS))
    command = [sys.executable, "-m", "rarewords", "ota", "--words", words, "--out", out, "--preset", "paper"]
    command += [
        "--iterations",
        "25",
        "--words-per-batch",
        "1",
        "--checkpoint-seconds",
        "0",
        "--device",
        "cpu",
    ]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE)
    work = tmp_path / ".vectors.safetensors.work"
    deadline = time.monotonic() + 120
    while len(list(work.glob("part-*"))) < 2 and time.monotonic() < deadline:
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert not out.exists()
    done = {path: path.stat().st_mtime_ns for path in work.glob("part-*")}
    assert 2 <= len(done) < len(WORDS)
    finished = [word for path in done for word in WordVectors.load(path).words]
    settings = OtaSettings.preset("paper", iterations=25)
    resumed = approximate(lm, WORDS, settings, words_per_batch=1, work=work, checkpoint_seconds=0)
    assert resumed.resumed == len(finished)
    assert {path: path.stat().st_mtime_ns for path in done} == done
    parts = [word for path in work.glob("part-*") for word in WordVectors.load(path).words]
    assert sorted(parts) == sorted(WORDS)
    whole = approximate(lm, WORDS, settings, words_per_batch=1)
    np.testing.assert_allclose(resumed.vectors.matrix, whole.vectors.matrix, atol=2e-3)
    with pytest.raises(InputError, match="unfinished work of another model"):
        approximate(lm, WORDS[:3], settings, work=work)


def test_development_measure(lm):
    words = one_piece_words(lm, 12, seed=0)
    assert words == one_piece_words(lm, 12, seed=0)
    assert words != one_piece_words(lm, 12, seed=1)
    assert marks_up_to(250) == [1, 10, 100, 200, 250]
    random = measure(lm, words, OtaSettings.preset("paper", iterations=30), label="random")
    fast = measure(lm, words, SMALL, label="fast", words_per_batch=5, marks=[1, 11])
    assert random.marks == [0, 1, 10, 30]
    assert random.distances[1] > random.distances[2] > random.distances[3]
    assert fast.distances[-1] < random.distances[-1]
    assert random.backwards == 30
    assert fast.backwards == pytest.approx(SMALL.contexts_per_step * 12 + 200 / 12, rel=0.2)
    test = compare(fast, random)
    assert (test.first_wins, test.second_wins) == (12, 0)
    assert test.p_value == pytest.approx(2 * 0.5**12)
    assert test.significant
    with pytest.raises(InputError, match="is its answer"):
        measure(lm, words, OtaSettings.preset("paper", start="mean"), label="x")


def test_spread_over_processes_the_vectors_are_the_same(lm, monkeypatch):
    monkeypatch.setattr("rarewords.ota.run._WORDS_PER_SHARD", 2)
    settings = replace(SMALL, averaging_steps=5)
    here = approximate(lm, WORDS[:4], settings)
    with engine_for("local", workers=2) as engine:
        there = approximate(lm, WORDS[:4], settings, engine=engine)
    assert there.vectors.words == here.vectors.words
    assert np.allclose(there.vectors.matrix, here.vectors.matrix, atol=1e-5)


def test_condensing_makes_the_model_compute_as_with_word_slash_vector(lm):
    words = ["kumquat", "persimmon", "lime"]
    pieces = lm.tokens.pieces_of(words)
    vectors = lm.embeddings[[lm.whole_words[word] for word in ("orange", "apple", "fruit")]].clone()
    made = condense(lm, pieces, vectors, 40)
    single = torch.cat([condense(lm, [one], vectors[[row]], 40) for row, one in enumerate(pieces)])
    assert torch.allclose(made, single, atol=2e-3)  # batches change nothing
    objective = Approximator(lm, SMALL)._averaged
    counters = torch.arange(500, 508)

    def distance(word, vector):
        shown = torch.tensor([[*pieces[word], *lm.pieces("/"), 0]])
        keys = torch.tensor([7])
        targets = objective.targets(shown, keys, counters, vectors[[word]])
        return float(objective.distance(vector[None], targets, keys, counters))

    for word in range(3):
        assert distance(word, made[word]) < 0.9 * distance(word, vectors[word])
    assert condense(lm, [], vectors[:0], 10).shape == (0, lm.dim)
