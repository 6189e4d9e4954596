"""Known words split into pieces, and what is learned from them."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from rarewords import InputError, LanguageModel, WordLearner, WordVectors, approximate
from rarewords.mimic.learner_settings import LearnerSettings
from rarewords.mimic.masked import contexts_of_words
from rarewords.mimic.splitting import Splitter, surfaces
from rarewords.ota import OtaSettings
from rarewords.ota.run import approximate_pieces
from tests.architectures import real_text, small_model


@pytest.fixture(scope="module")
def splitter(lm, store):
    return Splitter.of(lm, store.counts(3)[0])


@pytest.mark.parametrize("architecture", ["bert", "roberta", "albert"])
def test_pieces_spell_the_word_whatever_the_tokenizer(architecture):
    model, tokenizer = small_model(architecture)
    lm = LanguageModel(model, tokenizer, name=architecture)
    seen = sorted(set(real_text().lower().split()))
    splitter = Splitter.of(lm, seen)
    long_words = [word for word in lm.whole_words if len(word) > 4]
    found = [(word, splitter.split(word)) for word in long_words]
    split = [(word, pieces) for word, pieces in found if pieces]
    assert len(split) > 0.7 * len(found)
    for word, pieces in split:
        assert len(pieces) >= 2
        assert tokenizer.decode(pieces).replace(" ##", "").strip() == word


def test_a_word_is_split_the_same_way_again_and_by_another_seed_otherwise(lm, store, splitter):
    other = Splitter.of(lm, store.counts(3)[0], seed=1)
    words = [word for word in lm.whole_words if len(word) > 7][:200]
    assert [splitter.split(word) for word in words] == [splitter.split(word) for word in words]
    assert sum(splitter.split(word) != other.split(word) for word in words) > 40
    assert splitter.split("we") is None


def test_surfaces_cover_the_letters(lm):
    (pieces,) = surfaces(lm.tokens, ["kumquat"])
    assert [text for text, _ in pieces] == ["ku", "m", "qua", "t"]
    assert [token for _, token in pieces] == lm.pieces("kumquat")
    assert surfaces(lm.tokens, ["Kumquat", "naïve"])[1] in ([], [("naïve", lm.pieces("naïve")[0])])


@given(word=st.text(alphabet="abcdefghijklmnopqrstuvwxyz", max_size=14), seed=st.integers(0, 50))
def test_a_split_is_none_or_the_word(word, seed):
    letters = {letter: place for place, letter in enumerate("abcdefghijklmnopqrstuvwxy")}
    splitter = Splitter({"th": 100, "the": 101, "sun": 102, "s": 103}, {**letters, "ing": 200}, seed)
    names = {100: "th", 101: "the", 102: "sun", 103: "s", 200: "ing"} | {v: k for k, v in letters.items()}
    pieces = splitter.split(word)
    if pieces is not None:
        assert len(pieces) > 1
        assert "".join(names[piece] for piece in pieces) == word
    else:
        spelled = any(word.startswith(head) for head in ("th", "sun"))
        assert len(word) < 3 or "z" in word or word == "sun" or not spelled


def test_approximating_the_pieces_of_words_is_approximating_the_words(lm):
    words, settings = ["kumquat", "unicycle", "lingonberry"], OtaSettings(averaging_steps=10)
    made = approximate(lm, words, settings).vectors
    again = approximate_pieces(lm, lm.tokens.pieces_of(words), settings)
    assert np.allclose(again.numpy(), np.stack([made[word] for word in words]), atol=1e-4)


def test_a_matrix_is_learned_from_split_words(lm, store):
    settings = LearnerSettings(reading="shown")
    fitted = WordLearner.fit(lm, store, settings, words=120, contexts=2, min_count=20, split=True)
    masked = WordLearner.fit(lm, store, settings, words=120, contexts=2, min_count=20)
    assert fitted.fitted["split"]
    assert fitted.fitted["held_out_cosine"] > 0.1
    assert not torch.allclose(fitted.transform, masked.transform, atol=1e-2)
    half = fitted.with_settings(matrix=0.5).infer("kumquat", ["He ate a sweet kumquat."])
    none = fitted.with_settings(matrix=0.0).infer("kumquat", ["He ate a sweet kumquat."])
    free = WordLearner(lm, settings).infer("kumquat", ["He ate a sweet kumquat."])
    assert np.allclose(none.vector, free.vector, atol=1e-5)
    assert not np.allclose(half.vector, none.vector, atol=1e-2)


def test_one_matrix_over_reading_spelling_and_pieces(lm, store, splitter, tmp_path):
    words = [word for word in store.counts(40)[0] if word in lm.whole_words and splitter.split(word)][:24]
    masked = contexts_of_words(lm.tokens, store, words, limit=2)
    learner = WordLearner(lm, LearnerSettings(reading="shown"))
    with pytest.raises(InputError, match="give a splitter"):
        learner.fit_on(words, masked, joint=True)
    learner.fit_on(words, masked, splitter, joint=True)
    assert learner.transform.shape == (3 * lm.dim, lm.dim)
    learner.save_pretrained(tmp_path / "joint")
    loaded = WordLearner.from_pretrained(tmp_path / "joint", lm)
    sentence = ["They rode on a unicycle through the city."]
    assert np.allclose(
        loaded.infer("unicycle", sentence).vector, learner.infer("unicycle", sentence).vector, atol=1e-2
    )
    assert np.isfinite(loaded.infer("televission").vector).all()
    # The pieces are among its inputs, whatever weight the settings give them elsewhere.
    loaded.approximations = WordVectors(["unicycle"], lm.embeddings[:1].float().numpy())
    moved = loaded.infer("unicycle", sentence).vector
    assert not np.allclose(moved, learner.infer("unicycle", sentence).vector, atol=5e-2)
    with pytest.raises(InputError, match="cannot be split"):
        learner.fit_on(["we", *words], contexts_of_words(lm.tokens, store, ["we", *words], limit=1), splitter)
