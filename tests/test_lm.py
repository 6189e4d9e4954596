"""The language model layer against plain transformers, on every architecture and on real models."""

import json
import shutil

import numpy as np
import pytest
import torch
import transformers as hf

from rarewords import LanguageModel, Query, WordEmbeddings, WordLearner
from rarewords.models import bundled_model
from tests.architectures import ARCHITECTURES, CAUSAL, sentence_transformer, small_causal, small_model
from tests.errors import refused_with

PATTERNS = ("a <W> is a kind of _ .", '"<W>" and "_" .', "_ is the opposite of <W> .")
WORDS = ("world", "kumquat", "unicycle", "war")


@pytest.fixture(scope="module", params=[*ARCHITECTURES, "bundled"])
def model(request, lm):
    if request.param == "bundled":
        return lm
    return LanguageModel(*small_model(request.param), name=request.param)


def queries():
    return [Query(pattern, word) for pattern in PATTERNS for word in WORDS]


def literal_answers(model, query, k):
    """One pattern at a time through the whole model with token ids, as anyone would write it."""
    text = query.pattern.replace("<W>", query.word).replace("_", model.tokenizer.mask_token)
    batch = model.tokenizer(text, return_tensors="pt")
    with torch.no_grad():
        logits = model.model(**batch).logits[0]
    place = batch["input_ids"][0].tolist().index(model.tokenizer.mask_token_id)
    return torch.log_softmax(logits[place].float(), -1).topk(k)


def test_fill_gives_what_the_whole_model_gives_for_each_pattern_alone(model):
    answers = model.fill(queries(), top_k=20)
    for row, query in enumerate(queries()):
        expected = literal_answers(model, query, 20)
        np.testing.assert_allclose(answers.log_probs[row], expected.values, atol=2e-4)
        assert answers.ids[row][:5].tolist() == expected.indices[:5].tolist()


def test_answers_do_not_depend_on_batch_size_or_order(model, monkeypatch):
    once = model.fill(queries(), top_k=20)
    for budget in (1, 40, 10_000):
        monkeypatch.setattr("rarewords.lm._TOKENS_ON_CPU", budget)
        again = model.fill(queries()[::-1], top_k=20)
        np.testing.assert_array_equal(again.ids[::-1], once.ids)
        np.testing.assert_allclose(again.log_probs[::-1], once.log_probs, atol=1e-4)


def test_an_embedding_that_is_a_words_own_embedding_changes_nothing(model):
    whole = [word for word in ("world", "war", "city", "time") if word in model.whole_words]
    assert whole
    with_subwords = [Query(pattern, word) for pattern in PATTERNS for word in whole]
    # In quotes a byte-level tokenizer uses another entry (no space before it), so take what stands there.
    with_embedding = []
    for query in with_subwords:
        ids, start, end = model.tokens.encode_blanks([query.pattern], [query.word])[0]
        if end - start == 1:
            embedding = model.embeddings[ids[start]].clone()
            with_embedding.append((query, Query(query.pattern, query.word, embedding)))
    assert len(with_embedding) >= len(whole)
    before = model.fill([pair[0] for pair in with_embedding], top_k=10)
    after = model.fill([pair[1] for pair in with_embedding], top_k=10)
    np.testing.assert_array_equal(before.ids, after.ids)


def test_an_embedding_replaces_all_subwords_or_is_appended_to_them(model):
    embedding = model.embeddings.mean(0) * 1.5
    without = Query(PATTERNS[0], "kumquat")
    placed = [Query(PATTERNS[0], "kumquat", embedding, placement) for placement in ("replace", "append")]
    subwords, replaced, appended = model.input_rows([without, *placed])
    n = len(model.subwords("kumquat"))
    assert len(subwords.ids) - len(replaced.ids) == n - 1
    assert len(appended.ids) - len(subwords.ids) == 1 + len(model.tokens.behind_a_word("/"))
    for one in (subwords, replaced, appended):
        assert one.ids.count(model.tokenizer.mask_token_id) == 1
    assert [one.ids[one.slot] for one in (replaced, appended)] == [model.subwords("kumquat")[-1]] * 2
    answers = model.fill(placed)
    assert not np.array_equal(answers.ids[0], answers.ids[1])


def test_hidden_states_from_embeddings_equal_those_from_ids(model):
    for text in ("the world war", "a kumquat is a kind of fruit in the world"):
        ids = model.tokenizer(text, return_tensors="pt")["input_ids"]
        with torch.no_grad():
            expected = model.model(ids, output_hidden_states=True).hidden_states
            found = model.hidden_states(model.embed(ids))
        assert len(found) == len(expected) == model.layers + 1
        for a, b in zip(found, expected, strict=True):
            torch.testing.assert_close(a, b, atol=1e-5, rtol=1e-5)


def test_gradients_reach_the_free_embedding(model):
    ids = model.tokenizer("the war in the world", return_tensors="pt")["input_ids"]
    embedding = torch.zeros(1, model.dim, requires_grad=True)
    states = model.hidden_states(model.embed(ids, torch.tensor([2]), embedding))
    states[-1][:, 0].pow(2).sum().backward()
    assert embedding.grad is not None
    assert embedding.grad.abs().sum() > 0


def test_whole_words_are_one_subword_in_running_text(model):
    words = model.whole_words
    assert len(words) > 500
    assert all(word.isalpha() for word in words)
    for word in list(words)[:200]:
        assert model.subwords(word) == [words[word]]
    assert "world" in words
    assert "kumquat" not in words


@pytest.mark.parametrize("device", ["meta", "gpu", "xla", "abacus", ""])
def test_an_unknown_device_is_refused(device):
    with refused_with("device"):
        LanguageModel.from_pretrained("default", device=device)


def test_the_large_model_fills_blanks(large_model_folder):
    large = LanguageModel.from_pretrained(large_model_folder, device="cpu")
    answers = large.fill([Query("a <W> is a kind of _ .", "lingonberry"), Query("a <W> is a _ .", "bicycle")])
    assert "fruit" in answers.words(0, 3)
    assert "bike" in answers.words(1, 5)
    expected = literal_answers(large, Query("a <W> is a _ .", "bicycle"), 10)
    assert answers.ids[1][:10].tolist() == expected.indices.tolist()


@pytest.mark.parametrize(
    ("pattern", "word"),
    [
        ("no slot _ .", "lime"),
        ("<W> and <W> is a _ .", "lime"),
        ("<W> without a blank", "lime"),
        ("<W> is a _ _", "lime"),
        ("<W> is a snake_case .", "lime"),
        ("<W> is a _ .", " "),
        ("it is a _ .", " "),
        ("<W> is a _ .", "word " * 600),
    ],
)
def test_bad_patterns_are_refused(lm, pattern, word):
    with refused_with("pattern"):
        lm.fill([Query(pattern, word)])


def test_fewer_than_one_answer_is_refused(lm):
    with refused_with("settings"):
        lm.fill([Query("it is a _ .")], top_k=0)


def test_a_pattern_without_a_keyword_is_answered_as_it_stands(lm):
    asked = lm.fill([Query("a bicycle is a _ .")], top_k=10)
    np.testing.assert_array_equal(asked.ids, lm.fill([Query("a <W> is a _ .", "bicycle")], top_k=10).ids)
    with refused_with("pattern"):
        lm.fill([Query("a bicycle is a _ .", embedding=np.zeros(384, dtype=np.float32))])


def test_an_embedding_of_the_wrong_size_is_refused(lm):
    with refused_with("model-mismatch"):
        lm.fill([Query("<W> is a _ .", "lime", np.zeros(3, dtype=np.float32))])


def test_a_folder_that_holds_no_model_is_refused(tmp_path):
    with refused_with("model-not-found"):
        LanguageModel.from_pretrained(tmp_path / "missing")
    with refused_with("model-not-found"):
        LanguageModel.from_pretrained(tmp_path)
    (tmp_path / "file").touch()
    with refused_with("model-not-found"):
        LanguageModel.from_pretrained(tmp_path / "file")
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    with refused_with("model"):  # without weights
        LanguageModel.from_pretrained(tmp_path)


# The kind of a model


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    return sentence_transformer(tmp_path_factory.mktemp("encoder") / "encoder", layers=1)


def saved(model, tokenizer, folder):
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return LanguageModel.from_pretrained(folder)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_masked_lm_is_loaded_with_its_head_and_an_encoder_without(architecture, tmp_path):
    model, tokenizer = small_model(architecture)
    whole = saved(model, tokenizer, tmp_path / "whole")
    assert (whole.kind, LanguageModel(model, tokenizer).kind) == ("masked", "masked")
    bare = saved(model.base_model, tokenizer, tmp_path / "bare")
    assert (bare.kind, bare.pooling) == ("encoder", "mean")
    ids = torch.tensor([whole.subwords("kumquat")])
    torch.testing.assert_close(bare.last_hidden_state(bare.embed(ids)), whole.last_hidden_state(whole.embed(ids)))


@pytest.mark.parametrize("architecture", CAUSAL)
def test_a_causal_lm_is_known_by_its_config(architecture, tmp_path):
    lm = saved(*small_causal(architecture), tmp_path / "causal")
    assert (lm.kind, lm.folder) == ("causal", tmp_path / "causal")


def test_a_folder_of_sentence_transformers_is_an_encoder_with_a_pooling(encoder, tmp_path):
    own = LanguageModel.from_pretrained(encoder)
    assert (own.kind, own.pooling) == ("encoder", "mean")
    folder = shutil.copytree(encoder, tmp_path / "encoder")
    for pooling, chosen in (
        ("cls", {"pooling_mode_cls_token": True}),
        ("cls", {"pooling_mode": "cls"}),
        ("lasttoken", {"pooling_mode_lasttoken": True, "pooling_mode_mean_tokens": False}),
    ):
        (folder / "1_Pooling" / "config.json").write_text(json.dumps(chosen))
        assert LanguageModel.from_pretrained(folder).pooling == pooling


def test_another_kind_than_the_one_needed_is_refused(lm):
    causal = LanguageModel(*small_causal("gpt2"))
    lm.require("masked")
    causal.require("causal")
    for own, other in ((lm, "causal"), (lm, "encoder"), (causal, "masked"), (causal, "encoder")):
        with refused_with("model-kind"):
            own.require(other)


def test_only_a_masked_lm_fills_blanks(encoder):
    for other in (LanguageModel(*small_causal("llama")), LanguageModel.from_pretrained(encoder)):
        with refused_with("model-kind"):
            other.fill([Query("it is a _ .")])


# Filling masks


@pytest.mark.parametrize("text", ["a bicycle is a [MASK].", "[MASK] is the capital of france.", "a [MASK] ,"])
def test_fill_mask_answers_as_the_pipeline_of_transformers(model, text):
    text = text.replace("[MASK]", model.tokenizer.mask_token)
    pipeline = hf.pipeline("fill-mask", model=model.model, tokenizer=model.tokenizer, device="cpu")
    found, expected = model.fill_mask(text, top_k=4), pipeline(text, top_k=4)
    assert [one["token"] for one in found] == [one["token"] for one in expected]
    np.testing.assert_allclose([one["score"] for one in found], [one["score"] for one in expected], rtol=1e-3)


def test_fill_mask_takes_the_mask_of_bert_for_every_model(model):
    own = model.fill_mask(f"the {model.tokenizer.mask_token} is blue.", top_k=3)
    assert model.fill_mask("the [MASK] is blue.", top_k=3) == own
    assert [one["sequence"] for one in own] == [f"the {one['token_str']} is blue." for one in own]


def test_fill_mask_shows_words(lm):
    (first, *rest) = lm.fill_mask("a bicycle is a kind of [MASK].")
    assert len(rest) == 4
    assert first["sequence"] == f"a bicycle is a kind of {first['token_str']}."
    assert "bike" in {first["token_str"], *(one["token_str"] for one in rest)}
    assert first["score"] > rest[0]["score"]


@pytest.mark.parametrize("text", ["no mask at all", "[MASK] and [MASK]", "", "an un[MASK] word"])
def test_a_text_needs_one_mask_that_stands_alone(lm, text):
    with refused_with("pattern"):
        lm.fill_mask(text)


# Adding words

TOLD = "A <W> is a kind of _ ."


@pytest.fixture
def fresh(lm):
    """A copy of the bundled model, to be changed."""
    return lm.copy()


@pytest.fixture(scope="module")
def wibbard(lm):
    """What the model learns of an invented fruit."""
    learner = WordLearner.for_model(lm)
    return learner.learn("wibbard", ["She peeled the ripe wibbard.", "The sweet wibbard grows on a tree."])


@pytest.mark.parametrize("placement", ["replace", "append"])
def test_an_added_word_does_what_its_embedding_does(lm, fresh, wibbard, placement):
    token = fresh.add_word("wibbard", wibbard, placement=placement)
    ids = fresh.tokenizer("a wibbard", add_special_tokens=False)["input_ids"]
    before = [*lm.tokenizer("a wibbard /", add_special_tokens=False)["input_ids"], token]
    assert ids == (before if placement == "append" else [before[0], token])
    known = torch.arange(len(lm.embeddings))
    expected = lm.fill([Query(TOLD, "wibbard", wibbard.embedding, placement)], top_k=20)
    found = fresh.fill([Query(TOLD, "wibbard")], top_k=20)
    assert np.isin(found.ids, known).all()
    np.testing.assert_array_equal(found.ids, expected.ids)
    np.testing.assert_allclose(found.log_probs, expected.log_probs, atol=1e-4)


def test_text_without_the_word_is_answered_as_before(lm, fresh, wibbard):
    fresh.add_word("wibbard", wibbard)
    text = lm.tokenizer("a lime is a [MASK].", return_tensors="pt")
    with torch.no_grad():
        logits = fresh.model(**text).logits
        assert torch.equal(logits[:, :, : len(lm.embeddings)], lm.model(**text).logits)


def test_the_model_answers_with_an_added_word_only_if_allowed(lm, wibbard):
    for allowed in (False, True):
        own = lm.copy()
        token = own.add_word("wibbard", wibbard, allow_prediction=allowed)
        answers = own.fill([Query("she peeled the ripe _ .")], top_k=100)
        assert (token in answers.ids) == allowed


def test_an_added_word_is_a_whole_word_and_changes_the_fingerprint(lm, fresh, wibbard):
    before = fresh.fingerprint
    assert "wibbard" not in fresh.whole_words
    token = fresh.add_word("wibbard", np.asarray(wibbard.embedding))
    assert fresh.subwords("wibbard") == [token]
    assert fresh.whole_words["wibbard"] == token
    assert fresh.fingerprint != before == lm.fingerprint


def test_many_words_are_added_at_once_and_known_ones_skipped(fresh):
    rows = np.random.default_rng(0).standard_normal((3, fresh.dim)).astype(np.float32) * 0.05
    done = fresh.add_words(WordEmbeddings(["kumquat", "world", "salsify"], rows))
    assert (set(done.ids), done.skipped) == ({"kumquat", "salsify"}, ("world",))
    np.testing.assert_array_equal(fresh.embeddings[done.ids["salsify"]], rows[2])
    with refused_with("word"):
        fresh.add_word("kumquat", rows[0])


def test_an_added_embedding_of_the_wrong_size_is_refused_and_changes_nothing(lm, fresh):
    with refused_with("model-mismatch"):
        fresh.add_word("kumquat", np.ones(3, np.float32))
    assert fresh.fingerprint == lm.fingerprint
    assert len(fresh.tokenizer) == len(lm.tokenizer)


def test_words_are_added_to_every_kind_of_model(encoder):
    for own in (LanguageModel(*small_causal("gpt2")), LanguageModel.from_pretrained(encoder)):
        token = own.add_word("kumquat", own.embeddings.mean(0).numpy())
        assert own.subwords("kumquat") == [token]


# Copies and folders


def test_a_copy_is_the_same_model_and_a_change_to_it_leaves_the_original_alone(lm, wibbard):
    own = lm.copy()
    assert (own.fingerprint, own.name, own.folder, own.kind) == (lm.fingerprint, lm.name, lm.folder, "masked")
    own.add_word("wibbard", wibbard)
    with torch.no_grad():
        own.embeddings[100] += 1
    assert not torch.equal(own.embeddings[100], lm.embeddings[100])
    assert len(lm.subwords("wibbard")) > 1
    assert len(lm.embeddings) == len(own.embeddings) - 1


def test_a_saved_model_is_an_ordinary_folder_with_its_words_and_a_card(fresh, wibbard, tmp_path):
    token = fresh.add_word("wibbard", wibbard)
    fresh.save_pretrained(tmp_path / "taught")
    model = hf.AutoModelForMaskedLM.from_pretrained(tmp_path / "taught").eval()
    tokenizer = hf.AutoTokenizer.from_pretrained(tmp_path / "taught")
    text = tokenizer("a wibbard is a [MASK] .", return_tensors="pt")
    assert token in text["input_ids"]
    with torch.no_grad():
        assert torch.equal(model(**text).logits, fresh.model(**text).logits)
    again = LanguageModel.from_pretrained(tmp_path / "taught")
    assert (again.fingerprint, again.kind, again.folder) == (fresh.fingerprint, "masked", tmp_path / "taught")
    assert "wibbard" in (tmp_path / "taught" / "README.md").read_text("utf-8")


def test_a_saved_encoder_keeps_its_other_modules(encoder, tmp_path):
    own = LanguageModel.from_pretrained(encoder)
    own.add_word("kumquat", own.embeddings.mean(0).numpy())
    own.save_pretrained(tmp_path / "taught")
    for name in ("modules.json", "1_Pooling/config.json", "sentence_bert_config.json"):
        assert (tmp_path / "taught" / name).read_bytes() == (encoder / name).read_bytes()
    again = LanguageModel.from_pretrained(tmp_path / "taught")
    assert (again.kind, len(again.subwords("kumquat"))) == ("encoder", 1)


def test_a_model_is_not_saved_over_other_files_or_into_its_own_folder(fresh, encoder, tmp_path):
    (tmp_path / "mine").touch()
    with refused_with("output"):
        fresh.save_pretrained(tmp_path)
    with refused_with("output"):
        LanguageModel.from_pretrained(encoder).save_pretrained(encoder / "inside")
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
    assert not (encoder / "inside").exists()


def test_the_bundled_model_has_a_folder(lm):
    assert lm.folder == bundled_model()
