"""Many words: independence of batches and processes, baselines, special words, resuming."""

import signal
import subprocess
import sys
import time
from dataclasses import asdict, replace

import numpy as np
import pytest
import torch

from rarewords._internal.cache import Cache
from rarewords.lm import LanguageModel
from rarewords.ota.approximate import Approximator, one_token_approximation
from rarewords.ota.objective import Batch
from rarewords.ota.settings import OtaSettings
from tests.architectures import small_model
from tests.errors import refused_with
from tests.ota.behaviour import answer_overlap, held_out_distance

WORDS = ["kumquat", "salsify", "lingonberry", "persimmon", "red panda", "ptarmigan"]
FEW = WORDS[1:5]
SMALL = OtaSettings(steps=30)


@pytest.fixture(scope="module")
def approximation(lm):
    return one_token_approximation(lm, FEW, SMALL)


@pytest.mark.slow
def test_words_and_phrases_act_more_like_their_subwords_than_the_baselines(lm, approximation):
    assert list(approximation.embeddings.words) == FEW
    embeddings = {"ota": approximation.embeddings}
    for method in ("first", "last", "avg"):
        embeddings[method] = one_token_approximation(lm, FEW, method=method).embeddings
    far = {name: held_out_distance(lm, FEW, one).mean() for name, one in embeddings.items()}
    assert far["ota"] < 0.6 * min(far["first"], far["last"], far["avg"])
    shared = {name: answer_overlap(lm, FEW, one).mean() for name, one in embeddings.items()}
    assert shared["ota"] > max(shared[name] for name in ("first", "last", "avg"))
    # and the embeddings stay about as long as the model's own
    own = lm.embeddings[list(lm.whole_words.values())].norm(dim=1).mean().item()
    assert np.linalg.norm(approximation.embeddings.matrix, axis=1).max() < 2 * own


@pytest.mark.parametrize(("preset", "size"), [("fast", 1), ("paper", 2)])
def test_the_batch_does_not_change_an_embedding(lm, preset, size, monkeypatch):
    settings = OtaSettings.preset(preset, steps=5)
    whole = one_token_approximation(lm, WORDS, settings).embeddings
    others = one_token_approximation(lm, [*WORDS[:2], "unicycle"], settings).embeddings
    monkeypatch.setattr("rarewords.ota.approximate._WORDS_PER_BATCH", size)
    parts = one_token_approximation(lm, WORDS[::-1], settings).embeddings
    assert list(parts.words) == WORDS[::-1]
    for word in WORDS:
        np.testing.assert_allclose(parts[word], whole[word], atol=1e-4)
    for word in WORDS[:2]:
        np.testing.assert_allclose(others[word], whole[word], atol=1e-4)
    assert np.abs(whole.matrix[0] - whole.matrix[1]).max() > 2e-3


def test_the_same_seed_gives_the_same_bits_and_another_does_not(lm):
    settings = replace(SMALL, steps=5)
    one, again, other = (
        one_token_approximation(lm, WORDS[:3], replace(settings, seed=seed)).embeddings.matrix for seed in (0, 0, 1)
    )
    assert np.array_equal(one, again)
    assert np.abs(one - other).max(axis=1).min() > 1e-3


@pytest.mark.parametrize("preset", ["fast", "paper"])
def test_every_setting_changes_the_embeddings_of_either_preset(preset):
    model, tokenizer = small_model("bert")
    model.bert.encoder.layer[0].output.LayerNorm.weight.data *= 3  # layers of different size
    lm = LanguageModel(model, tokenizer)
    base = OtaSettings.preset(preset, steps=2)
    other = {"fast": "random", "paper": "masked"}[preset], {"fast": "zero", "paper": "mean"}[preset]
    changes = {"frame": other[0], "start": other[1], "layers": (1,), "steps": 3, "rate": 0.02, "seed": 1}
    changes |= {"newton": not base.newton, "balanced": not base.balanced}
    assert changes.keys() == asdict(base).keys()
    before = one_token_approximation(lm, WORDS[:1], base).embeddings.matrix
    for name, value in changes.items():
        changed = one_token_approximation(lm, WORDS[:1], replace(base, **{name: value})).embeddings.matrix
        assert np.abs(changed - before).max() > 1e-4, name


def test_the_settings_are_recorded(lm, approximation):
    expected = {"model": lm.name, "fingerprint": lm.fingerprint, "method": "ota", "ota": asdict(SMALL)}
    assert approximation.embeddings.settings == expected
    assert "ota" not in one_token_approximation(lm, WORDS, method="avg").embeddings.settings


@pytest.mark.parametrize("preset", ["fast", "paper"])
def test_the_search_begins_at_the_start(lm, preset):
    mean = lm.embeddings[lm.subwords("kumquat")].mean(dim=0).numpy()
    for start, expected in (("mean", mean), ("zero", np.zeros_like(mean))):
        settings = OtaSettings.preset(preset, start=start, steps=1, rate=1e-7)
        found = one_token_approximation(lm, ["kumquat"], settings).embeddings["kumquat"]
        np.testing.assert_allclose(found, expected, atol=1e-6)


def test_baselines_are_the_subwords_embeddings(lm):
    own = lm.embeddings[lm.subwords("kumquat")].numpy()
    for method, expected in (("first", own[0]), ("last", own[-1]), ("avg", own.mean(axis=0))):
        found = one_token_approximation(lm, ["kumquat"], method=method).embeddings["kumquat"]
        np.testing.assert_allclose(found, expected, atol=1e-6)


def test_special_words_are_named_and_lose_no_other(lm):
    long = "qx" * 30
    assert len(lm.subwords(long)) >= 50
    words = ["lime", "kumquat", " kumquat", "", "\u4e00\u16a0", long, "zq" * 300, "lime"]
    result = one_token_approximation(lm, words, method="avg")
    assert list(result.embeddings.words) == ["kumquat", long]
    assert list(result.skipped) == ["lime", "", "\u4e00\u16a0", "zq" * 300]
    reasons = ["keep_single", "drops it", "characters that the model's vocabulary lacks", "characters that"]
    for reason, part in zip(result.skipped.values(), reasons, strict=True):
        assert part in reason
    kept = one_token_approximation(lm, ["lime", "kumquat"], replace(SMALL, steps=1), keep_single=True).embeddings
    assert np.array_equal(kept["lime"], lm.embeddings[lm.whole_words["lime"]].numpy())


def test_a_word_of_sixty_subwords_is_approximated(lm):
    phrase = " ".join(["kumquat"] * 15)
    assert len(lm.subwords(phrase)) == 60
    embeddings = one_token_approximation(lm, [phrase], replace(SMALL, steps=10)).embeddings
    average = one_token_approximation(lm, [phrase], method="avg").embeddings
    assert held_out_distance(lm, [phrase], embeddings)[0] < held_out_distance(lm, [phrase], average)[0]
    too_long = " ".join(["kumquat"] * 200)
    result = one_token_approximation(lm, ["salsify", too_long], method="avg")
    assert "800 subwords, default takes at most" in result.skipped[too_long]


def test_an_unknown_method_is_refused(lm):
    with refused_with("settings"):
        one_token_approximation(lm, WORDS, method="best")


def test_a_batch_that_memory_cannot_hold_is_halved(lm, monkeypatch):
    sizes = []

    def small_memory(self, batch, start):
        sizes.append(len(batch.keys))
        if len(batch.keys) > most:
            raise torch.OutOfMemoryError
        return steps(self, batch, start)

    most, steps = 1, Approximator.steps
    subwords = [lm.subwords(word) for word in ("salsify", "persimmon", "ptarmigan")]
    approximator = Approximator(lm, replace(SMALL, steps=3))
    batch = Batch.of(lm, subwords, seed=0)
    expected = approximator.solve(batch)
    monkeypatch.setattr(Approximator, "steps", small_memory)
    found = approximator.solve(batch)
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=0)
    assert sizes == [3, 1, 2, 1, 1]
    most = 0
    with refused_with("memory"):
        approximator.solve(batch)


KILLED = """
import sys
from pathlib import Path
from rarewords import LanguageModel, OtaSettings
from rarewords._internal.cache import Cache
from rarewords.ota import approximate

approximate._WORDS_PER_BATCH = 1
lm = LanguageModel.from_pretrained(device="cpu")
settings = OtaSettings.preset("paper", steps=3)
approximate.one_token_approximation(lm, sys.argv[2:], settings, cache=Cache(Path(sys.argv[1])))
"""


@pytest.mark.slow
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
    resumed = one_token_approximation(lm, WORDS, settings, cache=Cache(tmp_path))
    assert len(list(tmp_path.glob("ota-*.safetensors"))) == len(WORDS)
    assert {path: path.stat().st_mtime_ns for path in done} == done
    whole = one_token_approximation(lm, WORDS, settings)
    np.testing.assert_allclose(resumed.embeddings.matrix, whole.embeddings.matrix, atol=1e-5)
    # Other settings and other words reuse nothing.
    other = one_token_approximation(lm, WORDS[:1], replace(settings, seed=1), cache=Cache(tmp_path))
    assert len(list(tmp_path.glob("ota-*.safetensors"))) == len(WORDS) + 1
    assert not np.allclose(other.embeddings["kumquat"], whole.embeddings["kumquat"], atol=1e-3)
