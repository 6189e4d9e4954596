"""Many words: independence of batches and processes, baselines, special words, resuming."""

import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
import torch

from benchmarks.ota_behaviour import answer_overlap, held_out_distance
from rarewords.errors import InputError
from rarewords.lm import LanguageModel, Query
from rarewords.ota.approximate import approximate, condense
from rarewords.ota.objective import Batch
from rarewords.ota.settings import OtaSettings
from rarewords.ota.solver import Approximator
from rarewords.stages import Stages
from tests.architectures import small_model

WORDS = ["kumquat", "salsify", "lingonberry", "persimmon", "red panda", "ptarmigan"]
FEW = WORDS[1:5]
SMALL = OtaSettings(steps=30)


@pytest.fixture(scope="module")
def approximation(lm):
    return approximate(lm, FEW, SMALL)


def test_a_condensed_vector_answers_like_word_and_vector_together_and_keeps_more_of_the_pieces(lm):
    """A word that is too long keeps its vector; one of a single piece is condensed, too."""
    words, settings = ["kumquat", "lingonberry", "lime", "kumquat " * 200], replace(SMALL, steps=15)
    vectors = lm.embeddings[lm.whole_words["fruit"]].repeat(len(words), 1).numpy()
    made = condense(lm, words, vectors, settings)
    assert np.array_equal(made[-1], vectors[-1])
    assert not np.array_equal(made[2], vectors[2])
    patterns = ["a <W> is a kind of _ .", "he saw a <W> and a _ ."]

    def answers(rows, before="<W>"):
        asked = [
            Query(one.replace("<W>", before.format(word)), word, vector)
            for one in patterns
            for word, vector in zip(words[:2], rows, strict=False)
        ]
        return [set(own) for own in lm.fill(asked, top_k=50).ids.tolist()]

    def shared(some, others):
        return np.mean([len(a & b) for a, b in zip(some, others, strict=True)])

    approximated = answers(approximate(lm, words[:2], settings).vectors.matrix)
    both, pieces, condensed = answers(vectors, "{} or <W>"), answers([None, None]), answers(made)
    assert shared(condensed, both) > shared(approximated, both) + 5
    assert shared(condensed, pieces) > shared(answers(vectors), pieces) + 3


def test_words_and_phrases_act_more_like_their_pieces_than_the_baselines(lm, approximation):
    assert list(approximation.vectors.words) == FEW
    vectors = {"ota": approximation.vectors}
    for method in ("first", "last", "avg"):
        vectors[method] = approximate(lm, FEW, method=method).vectors
    far = {name: held_out_distance(lm, FEW, one).mean() for name, one in vectors.items()}
    assert far["ota"] < 0.6 * min(far["first"], far["last"], far["avg"])
    shared = answer_overlap(lm, FEW, vectors)
    assert shared["ota"].mean > max(shared[name].mean for name in ("first", "last", "avg"))
    # and the vectors stay about as long as the model's own
    own = lm.embeddings[list(lm.whole_words.values())].norm(dim=1).mean().item()
    assert np.linalg.norm(approximation.vectors.matrix, axis=1).max() < 2 * own


@pytest.mark.parametrize(("preset", "size"), [("fast", 1), ("paper", 2)])
def test_the_batch_does_not_change_a_vector(lm, preset, size, monkeypatch):
    settings = OtaSettings.preset(preset, steps=5)
    whole = approximate(lm, WORDS, settings).vectors
    others = approximate(lm, [*WORDS[:2], "unicycle"], settings).vectors
    monkeypatch.setattr("rarewords.ota.approximate._WORDS_PER_BATCH", size)
    parts = approximate(lm, WORDS[::-1], settings).vectors
    assert list(parts.words) == WORDS[::-1]
    for word in WORDS:
        np.testing.assert_allclose(parts[word], whole[word], atol=1e-4)
    for word in WORDS[:2]:
        np.testing.assert_allclose(others[word], whole[word], atol=1e-4)
    assert np.abs(whole.matrix[0] - whole.matrix[1]).max() > 2e-3


def test_the_same_seed_gives_the_same_bits_and_another_does_not(lm):
    settings = replace(SMALL, steps=5)
    one, again, other = (
        approximate(lm, WORDS[:3], replace(settings, seed=seed)).vectors.matrix for seed in (0, 0, 1)
    )
    assert np.array_equal(one, again)
    assert np.abs(one - other).max(axis=1).min() > 1e-3


@pytest.mark.parametrize("preset", ["fast", "paper"])
def test_every_setting_changes_the_vectors_of_either_preset(preset):
    model, tokenizer = small_model("bert")
    model.bert.encoder.layer[0].output.LayerNorm.weight.data *= 3  # layers of different size
    lm = LanguageModel(model, tokenizer)
    base = OtaSettings.preset(preset, steps=2)
    other = {"fast": "random", "paper": "masked"}[preset], {"fast": "zero", "paper": "mean"}[preset]
    changes = {"frame": other[0], "start": other[1], "layers": (1,), "steps": 3, "rate": 0.02, "seed": 1}
    changes |= {"newton": not base.newton, "balanced": not base.balanced}
    assert {*changes, "search"} == base.to_dict().keys()
    before = approximate(lm, WORDS[:1], base).vectors.matrix
    for name, value in changes.items():
        changed = approximate(lm, WORDS[:1], replace(base, **{name: value})).vectors.matrix
        assert np.abs(changed - before).max() > 1e-4, name


def test_the_settings_are_recorded(lm, approximation):
    expected = {"model": lm.name, "fingerprint": lm.fingerprint, "method": "ota", "ota": SMALL.to_dict()}
    assert approximation.vectors.settings == expected
    assert "ota" not in approximate(lm, WORDS, method="avg").vectors.settings


@pytest.mark.parametrize("preset", ["fast", "paper"])
def test_the_search_begins_at_the_start(lm, preset):
    mean = lm.embeddings[lm.pieces("kumquat")].mean(dim=0).numpy()
    for start, expected in (("mean", mean), ("zero", np.zeros_like(mean))):
        settings = OtaSettings.preset(preset, start=start, steps=1, rate=1e-7)
        found = approximate(lm, ["kumquat"], settings).vectors["kumquat"]
        np.testing.assert_allclose(found, expected, atol=1e-6)


def test_baselines_are_the_pieces_embeddings(lm):
    own = lm.embeddings[lm.pieces("kumquat")].numpy()
    for method, expected in (("first", own[0]), ("last", own[-1]), ("avg", own.mean(axis=0))):
        found = approximate(lm, ["kumquat"], method=method).vectors["kumquat"]
        np.testing.assert_allclose(found, expected, atol=1e-6)


def test_special_words_are_named_and_lose_no_other(lm):
    long = "qx" * 30
    assert len(lm.pieces(long)) >= 50
    words = ["lime", "kumquat", " kumquat", "", "\u4e00\u16a0", long, "zq" * 300, "lime"]
    result = approximate(lm, words, method="avg")
    assert list(result.vectors.words) == ["kumquat", long]
    assert list(result.refused) == ["lime", "", "\u4e00\u16a0", "zq" * 300]
    reasons = ["keep_single", "drops it", "characters that the model's vocabulary lacks", "characters that"]
    for reason, part in zip(result.refused.values(), reasons, strict=True):
        assert part in reason
    kept = approximate(lm, ["lime", "kumquat"], replace(SMALL, steps=1), keep_single=True).vectors
    assert np.array_equal(kept["lime"], lm.embeddings[lm.whole_words["lime"]].numpy())


def test_a_word_of_sixty_pieces_is_approximated(lm):
    phrase = " ".join(["kumquat"] * 15)
    assert len(lm.pieces(phrase)) == 60
    vectors = approximate(lm, [phrase], replace(SMALL, steps=10)).vectors
    average = approximate(lm, [phrase], method="avg").vectors
    assert held_out_distance(lm, [phrase], vectors)[0] < held_out_distance(lm, [phrase], average)[0]
    too_long = " ".join(["kumquat"] * 200)
    result = approximate(lm, ["salsify", too_long], method="avg")
    assert "800 pieces, default takes at most" in result.refused[too_long]


def test_an_unknown_method_is_refused(lm):
    with pytest.raises(InputError, match="method must be one of ota, first"):
        approximate(lm, WORDS, method="best")


def test_a_batch_that_memory_cannot_hold_is_halved(lm, monkeypatch):
    sizes = []

    def small_memory(self, batch, start, watch):
        sizes.append(len(batch))
        if len(batch) > 1:
            raise torch.OutOfMemoryError
        return descend(self, batch, start, watch)

    descend = Approximator._descend
    pieces = [lm.pieces(word) for word in ("salsify", "persimmon", "ptarmigan")]
    approximator = Approximator(lm, replace(SMALL, steps=3))
    batch = Batch.of(lm, pieces, seed=0)
    expected = approximator.solve(batch)
    monkeypatch.setattr(Approximator, "_descend", small_memory)
    found = approximator.solve(batch)
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=0)
    assert sizes == [3, 1, 2, 1, 1]
    with pytest.raises(InputError, match="do not fit into the memory of cpu"):
        approximator.solve(batch, watch=lambda *_: None)


KILLED = """
import sys
from pathlib import Path
from rarewords.lm import LanguageModel
from rarewords.ota import approximate
from rarewords.ota.settings import OtaSettings
from rarewords.stages import Stages

approximate._WORDS_PER_BATCH = 1
lm = LanguageModel.from_pretrained(device="cpu")
settings = OtaSettings.preset("paper", steps=3)
approximate.approximate(lm, sys.argv[2:], settings, stages=Stages(Path(sys.argv[1])))
"""


def test_a_killed_run_resumes_and_does_no_word_twice(lm, tmp_path, monkeypatch):
    monkeypatch.setattr("rarewords.ota.approximate._WORDS_PER_BATCH", 1)
    process = subprocess.Popen([sys.executable, "-c", KILLED, tmp_path, *WORDS])
    while len(list(tmp_path.glob("ota-*.safetensors"))) < 2:
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    done = {path: path.stat().st_mtime_ns for path in tmp_path.glob("ota-*.safetensors")}
    assert 2 <= len(done) < len(WORDS)
    settings = OtaSettings.preset("paper", steps=3)
    resumed = approximate(lm, WORDS, settings, stages=Stages(tmp_path))
    assert len(list(tmp_path.glob("ota-*.safetensors"))) == len(WORDS)
    assert {path: path.stat().st_mtime_ns for path in done} == done
    whole = approximate(lm, WORDS, settings)
    np.testing.assert_allclose(resumed.vectors.matrix, whole.vectors.matrix, atol=1e-5)
    # Other settings and other words reuse nothing.
    other = approximate(lm, WORDS[:1], replace(settings, seed=1), stages=Stages(tmp_path))
    assert len(list(tmp_path.glob("ota-*.safetensors"))) == len(WORDS) + 1
    assert not np.allclose(other.vectors["kumquat"], whole.vectors["kumquat"], atol=1e-3)
