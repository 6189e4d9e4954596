"""Words learned from what the model reads: fitted, kept, spread, and traced back to their evidence."""

import json
import re

import numpy as np
import pytest
import torch

from rarewords import InputError, LanguageModel, Query, WordEmbeddings, WordLearner
from rarewords._internal.cache import Cache
from rarewords._internal.schema import checked_settings
from rarewords.learner.evidence import Evidence, ridge
from rarewords.learner.settings import LearnerSettings
from rarewords.learner.spelling import Spelling
from rarewords.ota.approximate import one_token_approximation
from rarewords.ota.settings import OtaSettings
from tests.architectures import small_model
from tests.cli.run import rarewords, refused
from tests.errors import refused_with

FRUIT = [
    "She peeled a blimpet and ate it with sugar.",
    "The blimpet is sweeter than the orange and the lemon.",
    "Fresh blimpet juice is sold at the market.",
    "They grow blimpet, apple and cherry trees.",
]
WORDS = ["city", "river", "televission", "kumquat"]
FEW_STEPS = OtaSettings(steps=2)


@pytest.fixture(scope="module")
def learner(lm):
    return WordLearner.for_model(lm)


@pytest.fixture
def quick(learner, monkeypatch):
    """With few steps of one-token approximation."""
    monkeypatch.setattr("rarewords.ota.approximate.OtaSettings", lambda **_: FEW_STEPS)
    return learner


def first(lm, word, embedding, count=5):
    return lm.fill([Query("a <W> is a kind of _ .", word, embedding)], top_k=count).words(0)


def test_the_bundled_learner_is_the_bundled_models(learner):
    assert learner.transform is not None
    assert learner.fitted["words"] > 1000
    model, tokenizer = small_model("bert")
    assert WordLearner.for_model(LanguageModel(model, tokenizer, name="other")).transform is None


def test_an_invented_word_is_understood_from_four_sentences(lm, learner):
    assert "fruit" not in first(lm, "blimpet", None)
    learned = learner.learn("blimpet", FRUIT)
    assert "fruit" in first(lm, "blimpet", learned.embedding)
    assert sum(learned.weights) == pytest.approx(1)
    assert len(learned.weights) == len(FRUIT)
    assert learned.context_share > 0.5


def test_without_sentences_the_spelling_decides(lm, quick):
    learned = quick.learn("televission")
    assert learned.context_share == 0
    assert learned.weights == ()
    near = torch.cosine_similarity(torch.from_numpy(learned.embedding)[None], lm.embeddings)
    assert lm.whole_words["television"] in near.topk(3).indices
    with refused_with("learner"):
        quick.learn("qzxvvk")


def test_one_word_with_nothing_to_go_by_does_not_stop_the_others(quick):
    made = quick.learn_each([("blimpet", FRUIT[:2]), ("qzxvvk", []), ("blimpet", FRUIT[1:])])
    assert made[1] is None
    assert np.allclose(made[0].embedding, quick.learn("blimpet", FRUIT[:2]).embedding, atol=1e-5)
    assert np.allclose(made[2].embedding, quick.learn("blimpet", FRUIT[1:]).embedding, atol=1e-5)
    assert quick.learn_each([]) == []


def test_all_sentences_that_are_given_are_read(quick):
    few = quick.with_settings(contexts=1)
    assert len(few.learn("blimpet", FRUIT).weights) == len(FRUIT)
    assert np.allclose(few.learn("blimpet", FRUIT).embedding, quick.learn("blimpet", FRUIT).embedding, atol=1e-6)


def test_many_words_are_learned_as_one_by_one(quick, corpus):
    many = quick.learn_words([*WORDS, "qzxvvk", "city"], corpus, contexts=4)
    assert many.embeddings.words == WORDS
    assert list(many.skipped) == ["qzxvvk"]
    assert many.contexts.tolist() == [4, 4, 0, 0]
    assert quick.with_settings(contexts=2).learn_words(["city"], corpus).contexts.tolist() == [2]
    assert len(quick.learn_words([], corpus).embeddings) == 0
    # Given as text, a word's first occurrence is masked; take a word that occurs once in each sentence.
    for word in ("river", "city", "village"):
        contexts = [context.sentence for context in corpus.contexts(word, 4)]
        if all(len(re.findall(rf"\b{word}\b", text, re.IGNORECASE)) == 1 for text in contexts):
            break
    alone = quick.learn(word, contexts)
    assert np.allclose(alone.embedding, quick.learn_words([word], corpus, contexts=4).embeddings[word], atol=1e-4)


def test_what_was_read_is_kept_and_a_damaged_part_made_again(quick, corpus, tmp_path):
    def infer(contexts=4):
        return quick.learn_words(WORDS, corpus, contexts=contexts, cache=Cache(tmp_path)).embeddings.matrix

    made = infer()
    (part,) = tmp_path.iterdir()
    before = part.stat().st_mtime_ns
    assert np.array_equal(made, infer())
    assert part.stat().st_mtime_ns == before
    part.write_bytes(b"damaged")
    assert np.allclose(made, infer(), atol=1e-6)
    infer(contexts=3)
    assert len(list(tmp_path.iterdir())) == 2


def test_fitting_brings_readings_nearer_to_embeddings(lm, corpus, tmp_path):
    how = {"words": 60, "contexts": 2, "min_count": 20, "leave_out": ["city"], "cache": Cache(tmp_path / "kept")}
    fitted = WordLearner.fit(lm, corpus, **how)
    assert fitted.fitted["words"] == 60
    assert fitted.fitted["held_out_cosine"] > 0.1
    (kept,) = (tmp_path / "kept").iterdir()
    read = kept.stat().st_mtime_ns
    assert torch.equal(WordLearner.fit(lm, corpus, **how).transform, fitted.transform)
    assert kept.stat().st_mtime_ns == read
    fitted.save_pretrained(tmp_path / "learner")
    loaded = WordLearner.from_pretrained(tmp_path / "learner", lm)
    assert torch.allclose(loaded.transform.float(), fitted.transform, atol=1e-2)
    assert loaded.fitted == fitted.fitted
    config = json.loads((tmp_path / "learner" / "config.json").read_text())
    (tmp_path / "learner" / "config.json").write_text(json.dumps({**config, "fingerprint": "0"}))
    with refused_with("model-mismatch"):
        WordLearner.from_pretrained(tmp_path / "learner", lm)
    with refused_with("learner"):
        WordLearner.from_pretrained(tmp_path, lm)
    with refused_with("no-text"):
        WordLearner.fit(lm, corpus, min_count=10**8)


def test_the_ridge_is_least_squares_when_there_is_no_noise():
    torch.manual_seed(0)
    matrix, inputs = torch.randn(6, 6), torch.randn(400, 6)
    found, cosine, penalty = ridge(inputs, inputs @ matrix)
    assert cosine > 0.999
    assert penalty == 0.001
    assert torch.allclose(found, matrix, atol=0.02)


def test_the_ridge_takes_spaces_of_two_sizes():
    torch.manual_seed(0)
    matrix, inputs = torch.randn(6, 4), torch.randn(400, 6)
    assert torch.allclose(ridge(inputs, inputs @ matrix)[0], matrix, atol=0.02)


def test_with_few_noisy_words_the_ridge_keeps_near_the_identity_and_does_better_than_it():
    torch.manual_seed(0)
    near_identity = torch.eye(40) + 0.1 * torch.randn(40, 40)
    inputs, noise = torch.randn(2, 60, 40)
    found, _, penalty = ridge(inputs, inputs @ near_identity + noise)
    others = torch.randn(200, 40)
    true = others @ near_identity
    assert penalty >= 1
    assert torch.cosine_similarity(others @ found, true).mean() > torch.cosine_similarity(others, true).mean()


def test_an_embedding_is_the_weighted_sum_of_reading_spelling_and_subwords(lm, learner, quick):
    """As docs/beyond.md has it, at the usual distance from the mean embedding."""
    known, words = learner.known, ["televission", "qzxvvk"]
    reading, counts = lm.embeddings[[100, 200]] * 0.5, np.array([3, 1])
    spelling, resemblance = Spelling(lm).of(words)

    def expected(moved, beta, subwords=None):
        parts = known.directions(moved) + beta[:, None] * known.directions(spelling)
        parts = parts if subwords is None else parts + 0.5 * known.directions(subwords)
        return known.mean + known.spread * torch.nn.functional.normalize(parts)

    trust = torch.sigmoid((resemblance - 0.5) / 0.1)
    moved = known.mean + (reading - known.mean) @ learner.transform.float()
    for one, to in ((learner, moved), (WordLearner(lm), reading)):
        embeddings, share = one.embeddings(words, reading, counts)
        assert torch.allclose(embeddings, expected(to, 0.5 * trust), atol=1e-5)
        assert torch.allclose(share, 1 / (1 + 0.5 * trust))
    alone, share = quick.embeddings(words, known.mean.repeat(2, 1), np.zeros(2, np.int64))
    subwords = torch.from_numpy(one_token_approximation(lm, words, FEW_STEPS).embeddings.matrix)
    assert torch.allclose(alone, expected(known.mean.repeat(2, 1), torch.ones(2), subwords), atol=1e-5)
    assert share.isnan().tolist() == [False, True]


def test_settings_are_checked():
    wrong = [{"reading": "aloud"}, {"contexts": 0}, {"spelling": -1.0}]
    for one in wrong:
        with refused_with("settings"):
            LearnerSettings(**one)
    with refused_with("settings"):
        checked_settings(LearnerSettings, {"volume": 11}, "x")


def test_the_key_tells_apart_what_gives_other_embeddings(lm, learner):
    keys = [learner, WordLearner(lm), learner.with_settings(spelling=0.3)]
    assert len({one.key for one in keys}) == len(keys)
    assert WordLearner.for_model(lm).key == learner.key


@pytest.mark.slow
def test_the_commands_fit_and_infer(corpus, tmp_path, quick):  # noqa: ARG001 - few steps
    (tmp_path / "words.txt").write_text("city\nriver\nqzxvvk\n")
    infer = ["-q", "mimic", "infer", "--words", tmp_path / "words.txt", "--corpus", corpus.path]
    out = tmp_path / "v.safetensors"
    done = rarewords(*infer, "--out", out, "--contexts", 3)
    assert "2 words, 1 skipped" in done.stdout
    assert "qzxvvk: there is no sentence" in done.stderr
    assert WordEmbeddings.load(out).words == ["city", "river"]
    options = ["--corpus", corpus.path, "--out", tmp_path / "fitted", "--min-count", 300, "--contexts", 1]
    assert "fitted on" in rarewords("-q", "mimic", "fit", *options).stdout
    refused("output", "-q", "mimic", "fit", *options)
    (tmp_path / "settings.toml").write_text('spelling = 0.3\nreading = "masked"\n')
    own = ["--learner", tmp_path / "fitted", "--settings", tmp_path / "settings.toml"]
    rarewords(*infer, *own, "--out", tmp_path / "w.safetensors", "--contexts", 3)
    assert WordEmbeddings.load(tmp_path / "w.safetensors").settings["learner"]["spelling"] == 0.3
    assert corpus.path.with_name("corpus.readings").is_dir()
    for idle in (["--settings", tmp_path / "settings.toml"], ["--set", "spelling=1"]):
        refused("usage", *infer, "--learner", "am", *idle, "--out", out)


def test_a_word_without_known_subwords_goes_without_them(quick):
    tasks = [("televissi☃n", []), ("televission", []), ("televissi☃n", ["a televissi☃n set"])]
    made = quick.learn_each(tasks)
    assert all(np.isfinite(one.embedding).all() for one in made)


def test_a_search_that_fails_is_no_word_without_known_subwords(learner, monkeypatch):
    def fail(*_, **__):
        raise InputError("1 words of 4 subwords do not fit into the memory of cpu", code="memory")

    monkeypatch.setattr("rarewords.ota.approximate.Approximator.solve", fail)
    with refused_with("memory"):
        learner.learn_each([("televission", [])])


def test_what_was_read_before_is_not_read_again(lm, quick, monkeypatch):
    (first,) = quick.learn_each([Evidence("blimpet", FRUIT)])
    readings = dict(zip(FRUIT, first.readings, strict=True))
    monkeypatch.setattr(lm, "logits_at", lambda *_: pytest.fail("read again"))
    (again,) = quick.learn_each([Evidence("blimpet", FRUIT, readings=readings)])
    assert np.array_equal(again.embedding, first.embedding)
