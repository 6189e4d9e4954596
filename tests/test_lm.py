"""The language model layer against plain transformers, on every architecture and on real models."""

import numpy as np
import pytest
import torch

from rarewords import InputError, LanguageModel, Query
from tests.architectures import ARCHITECTURES, small_model

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


def test_a_vector_that_is_a_words_own_embedding_changes_nothing(model):
    whole = [word for word in ("world", "war", "city", "time") if word in model.whole_words]
    assert whole
    with_pieces = [Query(pattern, word) for pattern in PATTERNS for word in whole]
    # In quotes a byte-level tokenizer uses another entry (no space before it), so take what stands there.
    with_vector = []
    for query in with_pieces:
        ids, start, end = model.tokens.encode_blanks([query.pattern], [query.word])[0]
        if end - start == 1:
            vector = model.embeddings[ids[start]].clone()
            with_vector.append((query, Query(query.pattern, query.word, vector)))
    assert len(with_vector) >= len(whole)
    before = model.fill([pair[0] for pair in with_vector], top_k=10)
    after = model.fill([pair[1] for pair in with_vector], top_k=10)
    np.testing.assert_array_equal(before.ids, after.ids)


def test_a_vector_replaces_all_pieces_and_slash_keeps_them(model):
    vector = model.embeddings.mean(0) * 1.5
    plain = model._encode([Query(PATTERNS[0], "kumquat", vector)])[0]
    slash = model._encode([Query(PATTERNS[0], "kumquat", vector, slash=True)])[0]
    pieces = model._encode([Query(PATTERNS[0], "kumquat")])[0]
    n = len(model.pieces("kumquat"))
    assert len(pieces.ids) - len(plain.ids) == n - 1
    assert len(slash.ids) - len(pieces.ids) == 1 + len(model.tokens.behind_a_word("/"))
    for one in (plain, slash, pieces):
        assert one.ids.count(model.tokenizer.mask_token_id) == 1
    assert [one.ids[one.slot] for one in (plain, slash)] == [model.pieces("kumquat")[-1]] * 2
    answers = model.fill([Query(PATTERNS[0], "kumquat", vector, slash=use) for use in (False, True)])
    assert not np.array_equal(answers.ids[0], answers.ids[1])


def test_hidden_states_from_vectors_equal_those_from_ids(model):
    for text in ("the world war", "a kumquat is a kind of fruit in the world"):
        ids = model.tokenizer(text, return_tensors="pt")["input_ids"]
        with torch.no_grad():
            expected = model.model(ids, output_hidden_states=True).hidden_states
            found = model.hidden_states(model.embed(ids))
        assert len(found) == len(expected) == model.layers + 1
        for a, b in zip(found, expected, strict=True):
            torch.testing.assert_close(a, b, atol=1e-5, rtol=1e-5)


def test_gradients_reach_the_free_vector(model):
    ids = model.tokenizer("the war in the world", return_tensors="pt")["input_ids"]
    vector = torch.zeros(1, model.dim, requires_grad=True)
    states = model.hidden_states(model.embed(ids, torch.tensor([2]), vector))
    states[-1][:, 0].pow(2).sum().backward()
    assert vector.grad is not None
    assert vector.grad.abs().sum() > 0


def test_whole_words_are_one_piece_in_running_text(model):
    words = model.whole_words
    assert len(words) > 500
    assert all(word.isalpha() for word in words)
    for word in list(words)[:200]:
        assert model.pieces(word) == [words[word]]
    assert "world" in words
    assert "kumquat" not in words


@pytest.mark.parametrize("device", ["meta", "gpu", "xla", ""])
def test_an_unknown_device_is_refused(device):
    with pytest.raises(InputError, match="unknown device"):
        LanguageModel.from_pretrained("default", device=device)


def test_the_large_model_fills_blanks(large_model_folder):
    large = LanguageModel.from_pretrained(large_model_folder, device="cpu")
    answers = large.fill([Query("a <W> is a kind of _ .", "lingonberry"), Query("a <W> is a _ .", "bicycle")])
    assert "fruit" in answers.words(0, 3)
    assert "bike" in answers.words(1, 5)
    expected = literal_answers(large, Query("a <W> is a _ .", "bicycle"), 10)
    assert answers.ids[1][:10].tolist() == expected.indices.tolist()


@pytest.mark.parametrize(
    ("pattern", "word", "says"),
    [
        ("no slot _ .", "lime", "no <W> for 'lime'"),
        ("<W> and <W> is a _ .", "lime", "at most one <W>"),
        ("<W> without a blank", "lime", "needs one _ that stands alone"),
        ("<W> is a _ _", "lime", "needs one _ that stands alone"),
        ("<W> is a _ .", " ", "keyword is empty"),
        ("it is a _ .", " ", "has no <W> for"),
        ("<W> is a _ .", "word " * 600, "takes at most"),
    ],
)
def test_bad_patterns_are_explained(lm, pattern, word, says):
    with pytest.raises(InputError, match=says):
        lm.fill([Query(pattern, word)])


def test_a_pattern_without_a_keyword_is_answered_as_it_stands(lm):
    asked = lm.fill([Query("a bicycle is a _ .")], top_k=10)
    np.testing.assert_array_equal(asked.ids, lm.fill([Query("a <W> is a _ .", "bicycle")], top_k=10).ids)
    with pytest.raises(InputError, match="needs a <W>"):
        lm.fill([Query("a bicycle is a _ .", vector=np.zeros(384, dtype=np.float32))])


def test_a_vector_of_the_wrong_size_is_refused(lm):
    with pytest.raises(InputError, match=r"shape \(3,\).*size 384"):
        lm.fill([Query("<W> is a _ .", "lime", np.zeros(3, dtype=np.float32))])


def test_loading_errors_name_the_cause(tmp_path):
    from transformers import BertConfig, BertModel

    with pytest.raises(InputError, match="does not exist"):
        LanguageModel.from_pretrained(tmp_path / "missing")
    with pytest.raises(InputError, match=r"no config\.json"):
        LanguageModel.from_pretrained(tmp_path)
    config = BertConfig(
        vocab_size=30522, hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8
    )
    BertModel(config).save_pretrained(tmp_path / "headless")
    LanguageModel.from_pretrained("default").tokenizer.save_pretrained(tmp_path / "headless")
    with pytest.raises(InputError, match="is an encoder without a masked-LM head, but this needs"):
        LanguageModel.from_pretrained(tmp_path / "headless")
    with pytest.raises(InputError, match="unknown device"):
        LanguageModel.from_pretrained("default", device="abacus")
