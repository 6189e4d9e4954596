"""Words learned from what the model reads: fitted, kept, spread, and traced back to their evidence."""

import json
import re

import numpy as np
import pytest
import torch

from rarewords import InputError, LanguageModel, Query, WordLearner, WordVectors
from rarewords.mimic.evidence import ridge
from rarewords.mimic.ngrams import Spelling
from rarewords.mimic.settings import LearnerSettings
from rarewords.ota.approximate import approximate, condense
from rarewords.ota.settings import OtaSettings
from rarewords.stages import Stages
from tests.architectures import small_model
from tests.cli.run import rarewords, refused

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


def test_without_sentences_the_spelling_decides(lm, quick):
    learned = quick.infer("televission")
    assert learned.context_share == 0
    assert learned.weights == ()
    near = torch.cosine_similarity(torch.from_numpy(learned.vector)[None], lm.embeddings)
    assert lm.whole_words["television"] in near.topk(3).indices
    with pytest.raises(InputError, match="'qzxvvk': no sentence"):
        quick.infer("qzxvvk")


def test_one_word_with_nothing_to_go_by_does_not_stop_the_others(quick):
    made = quick.infer_each([("blimpet", FRUIT[:2]), ("qzxvvk", []), ("blimpet", FRUIT[1:])])
    assert made[1] is None
    assert np.allclose(made[0].vector, quick.infer("blimpet", FRUIT[:2]).vector, atol=1e-5)
    assert np.allclose(made[2].vector, quick.infer("blimpet", FRUIT[1:]).vector, atol=1e-5)
    assert quick.infer_each([]) == []


def test_all_sentences_that_are_given_are_read(quick):
    few = quick.with_settings(contexts=1)
    assert len(few.infer("blimpet", FRUIT).weights) == len(FRUIT)
    assert np.allclose(few.infer("blimpet", FRUIT).vector, quick.infer("blimpet", FRUIT).vector, atol=1e-6)


def test_many_words_are_learned_as_one_by_one(quick, store):
    many = quick.infer_words([*WORDS, "qzxvvk", "city"], store, contexts=4)
    assert many.vectors.words == WORDS
    assert list(many.refused) == ["qzxvvk"]
    assert many.contexts.tolist() == [4, 4, 0, 0]
    assert quick.with_settings(contexts=2).infer_words(["city"], store).contexts.tolist() == [2]
    assert len(quick.infer_words([], store).vectors) == 0
    # Given as text, a word's first occurrence is masked; take a word that occurs once in each sentence.
    for word in ("river", "city", "village"):
        contexts = [context.sentence for context in store.contexts(word, 4)]
        if all(len(re.findall(rf"\b{word}\b", text, re.IGNORECASE)) == 1 for text in contexts):
            break
    alone = quick.infer(word, contexts)
    assert np.allclose(alone.vector, quick.infer_words([word], store, contexts=4).vectors[word], atol=1e-4)


def test_what_was_read_is_kept_and_a_damaged_part_made_again(quick, store, tmp_path):
    def infer(contexts=4):
        return quick.infer_words(WORDS, store, contexts=contexts, stages=Stages(tmp_path)).vectors.matrix

    made = infer()
    (part,) = tmp_path.iterdir()
    before = part.stat().st_mtime_ns
    assert np.array_equal(made, infer())
    assert part.stat().st_mtime_ns == before
    part.write_bytes(b"damaged")
    assert np.allclose(made, infer(), atol=1e-6)
    infer(contexts=3)
    assert len(list(tmp_path.iterdir())) == 2


def test_fitting_brings_readings_nearer_to_embeddings(lm, store, tmp_path):
    how = {
        "words": 60,
        "contexts": 2,
        "min_count": 20,
        "leave_out": ["city"],
        "stages": Stages(tmp_path / "kept"),
    }
    fitted = WordLearner.fit(lm, store, **how)
    assert fitted.fitted["words"] == 60
    assert fitted.fitted["held_out_cosine"] > 0.1
    (kept,) = (tmp_path / "kept").iterdir()
    read = kept.stat().st_mtime_ns
    assert torch.equal(WordLearner.fit(lm, store, **how).transform, fitted.transform)
    assert kept.stat().st_mtime_ns == read
    fitted.save_pretrained(tmp_path / "learner")
    loaded = WordLearner.from_pretrained(tmp_path / "learner", lm)
    assert torch.allclose(loaded.transform.float(), fitted.transform, atol=1e-2)
    assert loaded.fitted == fitted.fitted
    config = json.loads((tmp_path / "learner" / "config.json").read_text())
    (tmp_path / "learner" / "config.json").write_text(json.dumps({**config, "fingerprint": "0"}))
    with pytest.raises(InputError, match="was made for another model"):
        WordLearner.from_pretrained(tmp_path / "learner", lm)
    with pytest.raises(InputError, match="is not a learner"):
        WordLearner.from_pretrained(tmp_path, lm)
    with pytest.raises(InputError, match="too few to learn from"):
        WordLearner.fit(lm, store, min_count=10**8)


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


def test_a_vector_is_the_weighted_sum_of_reading_spelling_and_pieces(lm, learner, quick):
    """As docs/beyond.md has it, at the usual distance from the mean embedding."""
    known, words = learner.known, ["televission", "qzxvvk"]
    reading, counts = lm.embeddings[[100, 200]] * 0.5, np.array([3, 1])
    spelling, resemblance = Spelling(lm).of(words)

    def expected(moved, beta, pieces=None):
        parts = known.directions(moved) + beta[:, None] * known.directions(spelling)
        parts = parts if pieces is None else parts + 0.5 * known.directions(pieces)
        return known.mean + known.spread * torch.nn.functional.normalize(parts)

    trust = torch.sigmoid((resemblance - 0.5) / 0.1)
    moved = known.mean + (reading - known.mean) @ learner.transform.float()
    for one, to in ((learner, moved), (WordLearner(lm), reading)):
        vectors, share = one.vectors(words, reading, counts)
        assert torch.allclose(vectors, expected(to, 0.5 * trust), atol=1e-5)
        assert torch.allclose(share, 1 / (1 + 0.5 * trust))
    alone, share = quick.vectors(words, known.mean.repeat(2, 1), np.zeros(2, np.int64))
    pieces = torch.from_numpy(approximate(lm, words, FEW_STEPS).vectors.matrix)
    assert torch.allclose(alone, expected(known.mean.repeat(2, 1), torch.ones(2), pieces), atol=1e-5)
    assert share.isnan().tolist() == [False, True]


def test_settings_are_checked():
    wrong = [{"reading": "aloud"}, {"contexts": 0}, {"spelling": -1.0}]
    for one in wrong:
        with pytest.raises(InputError, match=f"{next(iter(one))} must be "):
            LearnerSettings(**one)
    with pytest.raises(InputError, match="unknown setting 'volume'"):
        LearnerSettings.from_dict({"volume": 11}, "x")


def test_the_key_tells_apart_what_gives_other_vectors(lm, learner):
    keys = [
        learner,
        WordLearner(lm),
        learner.with_settings(spelling=0.3),
        learner.with_settings(condense=True),
    ]
    assert len({one.key for one in keys}) == len(keys)
    assert WordLearner.for_model(lm).key == learner.key


def test_the_commands_fit_and_infer(store, tmp_path, quick):  # noqa: ARG001 - few steps
    (tmp_path / "words.txt").write_text("city\nriver\nqzxvvk\n")
    infer = ["-q", "mimic", "infer", "--words", tmp_path / "words.txt", "--corpus", store.path]
    out = tmp_path / "v.safetensors"
    done = rarewords(*infer, "--out", out, "--contexts", 3, "--no-cache")
    assert "2 words, 1 refused" in done.stdout
    assert "qzxvvk: no sentence" in done.stderr
    assert WordVectors.load(out).words == ["city", "river"]
    options = ["--corpus", store.path, "--out", tmp_path / "fitted", "--min-count", 300, "--contexts", 1]
    assert "fitted on" in rarewords("-q", "mimic", "fit", *options).stdout
    assert "not empty" in refused("-q", "mimic", "fit", *options)
    (tmp_path / "settings.toml").write_text('spelling = 0.3\nreading = "masked"\n')
    own = ["--learner", tmp_path / "fitted", "--settings", tmp_path / "settings.toml"]
    rarewords(*infer, *own, "--out", tmp_path / "w.safetensors", "--contexts", 3)
    assert WordVectors.load(tmp_path / "w.safetensors").settings["learner"]["spelling"] == 0.3
    assert store.path.with_name("store.readings").is_dir()
    assert "--settings, --workers and --engine have no effect" in refused(
        *infer, "--learner", "am", "--settings", tmp_path / "settings.toml", "--out", out
    )
    assert "no effect" in refused(*infer, "--learner", "am", "--workers", 2, "--out", out)


def test_a_word_without_known_pieces_goes_without_them(quick):
    tasks = [("televissi☃n", []), ("televission", []), ("televissi☃n", ["a televissi☃n set"])]
    made = quick.with_settings(condense=True).infer_each(tasks)
    assert all(np.isfinite(one.vector).all() for one in made)


def test_a_search_that_fails_is_no_word_without_known_pieces(learner, monkeypatch):
    def fail(*_, **__):
        raise InputError("1 words of 4 pieces do not fit into the memory of cpu")

    monkeypatch.setattr("rarewords.ota.solver.Approximator.solve", fail)
    with pytest.raises(InputError, match="do not fit into the memory"):
        learner.infer_each([("televission", [])])


def test_what_pieces_and_vector_do_together_is_condensed(lm, quick):
    """The vector is the one that does what ``word or <vector>`` does, at the usual distance."""
    tasks = [("kumquat", ["He ate a sweet kumquat."]), ("kumquat", ["The kumquat sailed at dawn."])]
    plain = np.stack([one.vector for one in quick.infer_each(tasks)])
    expected = condense(lm, ["kumquat"] * 2, plain, FEW_STEPS)
    given = quick.with_settings(condense=True).infer_each(tasks)
    made = quick.known.directions(torch.from_numpy(np.stack([one.vector for one in given])))
    assert torch.allclose(made, quick.known.directions(torch.from_numpy(expected)), atol=1e-4)
    assert not torch.allclose(made[0], made[1], atol=1e-3)
