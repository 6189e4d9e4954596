"""Words learned from what the model reads: fitted, kept, spread, and said where they come from."""

import json
import re

import numpy as np
import pytest
import torch

from rarewords import InputError, LanguageModel, Query, WordLearner, WordVectors
from rarewords.corpus.engine import engine_for
from rarewords.mimic.fitting import ridge
from rarewords.mimic.learner_settings import LearnerSettings
from rarewords.mimic.reading_cache import ReadingCache
from rarewords.mimic.spread import _shards, learn_shard
from rarewords.ota.condense import condense
from tests.architectures import small_model
from tests.cli.run import rarewords, refused

FRUIT = [
    "She peeled a blimpet and ate it with sugar.",
    "The blimpet is sweeter than the orange and the lemon.",
    "Fresh blimpet juice is sold at the market.",
    "They grow blimpet, apple and cherry trees.",
]
WORDS = ["city", "river", "televission", "kumquat"]


@pytest.fixture(scope="module")
def learner(lm):
    return WordLearner.for_model(lm)


@pytest.fixture(scope="module")
def quick(learner):
    """Without one-token approximation of words that have no sentences."""
    return learner.with_settings(pieces_alone=0.0)


def first(lm, word, vector, count=5):
    return lm.fill([Query("a <W> is a kind of _ .", word, vector)], top_k=count).words(0)


def test_the_bundled_learner_is_the_bundled_models(learner):
    assert learner.transform is not None
    assert learner.fitted["words"] > 1000
    model, tokenizer = small_model("bert")
    assert WordLearner.for_model(LanguageModel(model, tokenizer, name="other")).transform is None


def test_an_invented_word_is_understood_from_four_sentences(lm, learner):
    assert "fruit" not in first(lm, "blimpet", None)
    learned = learner.infer("blimpet", FRUIT)
    assert "fruit" in first(lm, "blimpet", learned.vector)
    assert sum(learned.weights) == pytest.approx(1)
    assert len(learned.weights) == len(FRUIT)
    assert learned.context_share > 0.5


def test_without_sentences_the_spelling_decides(lm, learner):
    learned = learner.infer("televission")
    assert learned.context_share == 0
    assert learned.weights == ()
    near = torch.cosine_similarity(torch.from_numpy(learned.vector)[None], lm.embeddings)
    assert lm.whole_words["television"] in near.topk(3).indices
    with pytest.raises(InputError, match="'qzxvvk': no sentence"):
        learner.infer("qzxvvk")


def test_many_words_are_learned_as_one_by_one(quick, store):
    many = quick.infer_words([*WORDS, "qzxvvk", "city"], store, limit=4)
    assert many.vectors.words == WORDS
    assert list(many.refused) == ["qzxvvk"]
    assert many.contexts.tolist() == [4, 4, 0, 0]
    # Given as text, a word's first occurrence is masked; take a word that occurs once in each sentence.
    for word in ("river", "city", "village"):
        contexts = [context.sentence for context in store.contexts(word, 4)]
        if all(len(re.findall(rf"\b{word}\b", text, re.IGNORECASE)) == 1 for text in contexts):
            break
    alone = quick.infer(word, contexts)
    assert np.allclose(alone.vector, quick.infer_words([word], store, limit=4).vectors[word], atol=1e-4)


def test_what_was_read_is_kept_and_a_damaged_part_made_again(quick, store, tmp_path):
    made = quick.infer_words(WORDS, store, limit=4, cache=tmp_path)
    (part,) = tmp_path.iterdir()
    before = part.stat().st_mtime_ns
    again = quick.infer_words(WORDS, store, limit=4, cache=tmp_path)
    assert part.stat().st_mtime_ns == before
    assert np.array_equal(made.vectors.matrix, again.vectors.matrix)
    part.write_bytes(b"damaged")
    repaired = quick.infer_words(WORDS, store, limit=4, cache=tmp_path)
    assert np.allclose(made.vectors.matrix, repaired.vectors.matrix, atol=1e-6)
    quick.infer_words(WORDS, store, limit=3, cache=tmp_path)
    assert len(list(tmp_path.iterdir())) == 2


def test_spread_over_processes_the_vectors_are_the_same(quick, store, monkeypatch):
    monkeypatch.setattr("rarewords.mimic.learner._WORDS_AT_ONCE", 2)
    here = quick.infer_words(WORDS, store, limit=3)
    with engine_for("local", workers=2) as engine:
        there = quick.infer_words(WORDS, store, limit=3, engine=engine)
    assert there.vectors.words == here.vectors.words
    assert np.allclose(there.vectors.matrix, here.vectors.matrix, atol=1e-4)


def test_fitting_brings_readings_nearer_to_embeddings(lm, store, tmp_path):
    fitted = WordLearner.fit(lm, store, words=150, contexts=2, min_count=20, leave_out=["city"])
    assert fitted.fitted["words"] == 150
    assert fitted.fitted["held_out_cosine"] > 0.1
    again = WordLearner.fit(
        lm, store, words=150, contexts=2, min_count=20, leave_out=["city"], cache=tmp_path / "kept"
    )
    assert torch.allclose(again.transform, fitted.transform, atol=1e-5)
    assert len(list((tmp_path / "kept").iterdir())) == 1
    fitted.save_pretrained(tmp_path / "learner")
    loaded = WordLearner.from_pretrained(tmp_path / "learner", lm)
    assert torch.allclose(loaded.transform, fitted.transform, atol=1e-2)
    assert loaded.fitted == fitted.fitted
    config = json.loads((tmp_path / "learner" / "config.json").read_text())
    (tmp_path / "learner" / "config.json").write_text(json.dumps({**config, "fingerprint": "0"}))
    with pytest.raises(InputError, match="was fitted for the model"):
        WordLearner.from_pretrained(tmp_path / "learner", lm)
    with pytest.raises(InputError, match="too few to learn from"):
        WordLearner.fit(lm, store, min_count=10**8)


def test_the_ridge_is_least_squares_when_there_is_no_noise():
    torch.manual_seed(0)
    matrix, inputs = torch.randn(6, 6), torch.randn(400, 6)
    found, cosine, penalty = ridge(inputs, inputs @ matrix)
    assert cosine > 0.999
    assert penalty == 0.001
    assert torch.allclose(found, matrix, atol=0.02)


def test_settings_are_checked():
    for wrong in ({"reading": "aloud"}, {"contexts": 0}, {"scale": 0.0}, {"spelling": -1.0}):
        with pytest.raises(InputError, match="learner settings"):
            LearnerSettings(**wrong)
    with pytest.raises(InputError, match="unknown learner setting 'volume'"):
        LearnerSettings.from_dict({"volume": 11})


def test_the_commands_fit_and_infer(store, tmp_path):
    (tmp_path / "words.txt").write_text("city\nriver\nqzxvvk\n")
    infer = ["-q", "mimic", "infer", "--words", tmp_path / "words.txt", "--corpus", store.path]
    out = tmp_path / "v.safetensors"
    done = rarewords(*infer, "--out", out, "--contexts", 3, "--no-cache")
    assert "2 words, 1 refused" in done.stdout
    assert "qzxvvk: no sentence" in done.stderr
    assert WordVectors.load(out).words == ["city", "river"]
    options = ["--corpus", store.path, "--out", tmp_path / "fitted", "--min-count", 200, "--contexts", 1]
    assert "fitted on" in rarewords("-q", "mimic", "train", *options).stdout
    rarewords(*infer, "--mimic", tmp_path / "fitted", "--out", tmp_path / "w.safetensors", "--contexts", 3)
    assert store.path.with_name("store.readings").is_dir()
    assert "use one of them" in refused(*infer, "--mimic", tmp_path / "fitted", "--reading", "--out", out)


def test_attention_follows_the_pieces_and_condensing_the_slash(lm, store, quick, tmp_path):
    sentences = [
        "The bank of the river was steep and green.",
        "The bank lends money to farmers.",
        "The bank paid interest on savings.",
    ]
    money = WordVectors(["bank"], lm.embeddings[[lm.whole_words["money"]]].numpy())
    plain = quick.infer("bank", sentences)
    judged = quick.with_settings(attention=20.0)
    judged.approximations = money
    vector = judged.infer("bank", sentences).vector
    space = quick.known

    def nearness(one):
        return float(
            space.directions(torch.from_numpy(one)[None])
            @ space.directions(lm.embeddings[[lm.whole_words["money"]]])[0]
        )

    assert nearness(vector) > nearness(plain.vector) + 0.01
    cache = tmp_path / "readings"
    first_time = judged.infer_words(["river", "city"], store, limit=3, cache=cache).vectors.matrix
    again = judged.infer_words(["river", "city"], store, limit=3, cache=cache).vectors.matrix
    assert np.array_equal(first_time, again)
    other = quick.infer_words(["river", "city"], store, limit=3, cache=cache).vectors.matrix
    assert not np.allclose(first_time, other, atol=1e-4)  # nor does the cache mix them up

    alone, condensed = (
        torch.from_numpy(one.infer("blimpet", FRUIT).vector)[None]
        for one in (quick, quick.with_settings(condense=4))
    )
    assert torch.allclose(condense(lm, [lm.pieces("blimpet")], alone, 4), condensed, atol=1e-5)
    assert not torch.allclose(alone, condensed, atol=1e-3)
    with pytest.raises(InputError, match="must not be negative"):
        LearnerSettings(condense=-1)


def test_a_word_without_known_pieces_goes_without_them(learner):
    made = learner.with_settings(pieces=0.3).infer_each([("televissi☃n", []), ("televission", [])])
    assert all(np.isfinite(one.vector).all() for one in made)


def test_parts_are_kept_in_one_size_however_many_words_are_read_at_once(tmp_path):
    words = [f"word{number}" for number in range(2500)]
    asked = []

    def make(some):
        asked.append(list(some))
        numbers = np.array([int(word.removeprefix("word")) for word in some])
        return np.stack([numbers, numbers + 0.5], axis=1).astype(np.float32), numbers % 7

    cache = ReadingCache(tmp_path, {"model": "x"})
    cache.get(words[1024:2048], make)  # as a CPU reads
    reading, counts = cache.get(words, make)  # as a GPU does
    assert [len(some) for some in asked] == [1024, 1476]
    assert reading[:, 0].tolist() == list(range(2500))
    assert counts.tolist() == [number % 7 for number in range(2500)]
    assert np.array_equal(cache.get(words, make)[0], reading)
    assert len(asked) == 2
    assert len(list(tmp_path.glob("*.npz"))) == 3


def test_workers_get_the_approximations_of_their_words(learner, store):
    ready = WordVectors(["kumquat", "samosa"], np.ones((2, learner.lm.dim), np.float32))
    given = learner.with_settings(pieces=0.5)
    given.approximations = ready
    with engine_for("local", 1, None) as engine:
        shards = _shards(given, [["kumquat", "city"], ["samosa"]], store, None, None, engine)
    assert [shard.approximations.words for shard in shards] == [["kumquat"], ["samosa"]]
    vectors, _, _ = learn_shard(shards[0])
    assert np.allclose(vectors, given.infer_some(["kumquat", "city"], store)[0], atol=1e-5)
