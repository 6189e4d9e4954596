"""The model against the formulas written out, in value and gradient."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from rarewords import InputError
from rarewords.mimic.batches import Reader, known_words, table_of_sentences
from rarewords.mimic.model import FormContextModel, WordBatch
from rarewords.mimic.ngrams import NgramTable, ngrams
from rarewords.mimic.settings import MimicSettings, preset
from rarewords.mimic.train import _dealt_before
from tests.mimic.literal import mimic

WORDS = ["kumquat", "quat", "unicycle", "bicycle", "cycle", "tricycle"]
DIM = 6


def example(**changes):
    torch.manual_seed(1)
    settings = MimicSettings(ngram_threshold=2, **changes)
    table = NgramTable.from_words(WORDS, threshold=2)
    model = FormContextModel(settings, dim=DIM, ngrams=len(table)).double()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.7)
    embeddings = torch.randn(20, DIM, dtype=torch.float64)
    # kumquat has three contexts, unicycle none, tricycle one; -1 is a word without an embedding.
    contexts = [[[0, 1, -1, 2], [3, 4], [5, 5, 6, 7, -1]], [], [[8, 9, 10]]]
    return settings, table, model, embeddings, contexts


def batch_of(table, words, embeddings, contexts):
    bags = table.bags(words)
    readings = [torch.stack([embeddings[i] for i in c if i >= 0]).mean(0) for one in contexts for c in one]
    owner = [row for row, one in enumerate(contexts) for _ in one]
    return WordBatch(
        torch.from_numpy(bags.numbers),
        torch.from_numpy(bags.starts[:-1]),
        torch.ones(len(words), dtype=torch.bool),
        torch.stack(readings),
        torch.tensor(owner),
    )


@pytest.mark.parametrize("attention", [True, False])
@pytest.mark.parametrize(("form", "context"), [(True, True), (True, False), (False, True)])
def test_values_and_gradients_equal_the_formulas_in_float64(form, context, attention):
    _, table, model, embeddings, contexts = example(form=form, context=context, attention=attention)
    words = ["kumquat", "unicycle", "tricycle"]
    mimicked = model(batch_of(table, words, embeddings, contexts))
    state = {name: value.detach().clone().requires_grad_() for name, value in model.state_dict().items()}
    literal = {"dim": DIM, "form": form, "context": context, "attention": attention}
    expected = torch.stack(
        [
            mimic(state, literal, table, word, [[embeddings[i] for i in c if i >= 0] for c in one])
            for word, one in zip(words, contexts, strict=True)
        ]
    )
    torch.testing.assert_close(mimicked.vectors, expected, atol=1e-12, rtol=1e-10)
    weights = torch.randn_like(expected)
    (mimicked.vectors * weights).sum().backward()
    (expected * weights).sum().backward()
    for name, parameter in model.named_parameters():
        found = parameter.grad.to_dense() if parameter.grad.is_sparse else parameter.grad
        torch.testing.assert_close(found, state[name].grad, atol=1e-10, rtol=1e-8, msg=name)
    if context:
        sums = torch.zeros(3, dtype=torch.float64).index_add(0, torch.tensor([0, 0, 0, 2]), mimicked.weights)
        torch.testing.assert_close(sums, torch.tensor([1.0, 0.0, 1.0], dtype=torch.float64))


def test_without_contexts_the_form_speaks_alone_and_the_other_way_round():
    _, table, model, embeddings, contexts = example()
    batch = batch_of(table, ["kumquat", "unicycle", "tricycle"], embeddings, contexts)
    share = model(batch).context_share
    assert share[1] == 0
    assert 0 < share[0] < 1
    formless = WordBatch(
        batch.grams, batch.gram_starts, torch.tensor([False, True, True]), batch.readings, batch.owner
    )
    assert model(formless).context_share[0] == 1


def test_the_reader_averages_the_known_words_around_and_leaves_the_word_out():
    embeddings = torch.arange(12, dtype=torch.float32).reshape(6, 2)
    table = table_of_sentences([([0, 1, 5], 2), ([-1, 3], 0), ([-1, -1], 0)])
    assert known_words(table).tolist() == [2, 1]  # the last context says nothing and is left out
    readings = Reader(table, embeddings).read(torch.tensor([1, 0]))
    torch.testing.assert_close(readings, torch.tensor([[6.0, 7.0], [1.0, 2.0]]))


@given(st.text("abcde", min_size=1, max_size=12), st.integers(1, 4), st.integers(0, 3))
def test_ngrams_are_all_substrings_of_the_marked_word(word, shortest, more):
    longest = shortest + more
    marked = f"^{word}$"
    found = ngrams(word, shortest, longest)
    assert all(gram in marked and shortest <= len(gram) <= longest for gram in found)
    expected = sum(max(0, len(marked) - n + 1) for n in range(shortest, longest + 1))
    assert len(found) == expected


def test_the_table_keeps_ngrams_of_enough_words_and_knows_the_rest_as_one():
    table = NgramTable.from_words(["cats", "cat", "cat", "rats"], shortest=3, longest=3, threshold=3)
    assert sorted(table.known) == ["^ca", "cat"]
    assert (
        table.bags(["cat", "zzz"]).numbers.tolist() == [1, 2, 0, 0, 0, 0]
        or table.bags(["cat"]).numbers[2] == 0
    )
    limited = NgramTable.from_words(WORDS, threshold=2, limit=5)
    assert len(limited) == 6


def test_contexts_are_dealt_to_the_instances_of_a_word_one_after_the_other():
    dealt = _dealt_before(np.array([5, 3, 5, 5]), np.array([2, 9, 4, 1]))
    assert dealt.tolist() == [0, 0, 2, 6]


def test_presets_are_the_papers_and_nonsense_is_refused():
    am, more = preset("am"), preset("am+context", epochs=5)
    assert (am.contexts_min, am.ngram_dropout, am.learning_rate, am.batch_size) == (1, 0.0, 0.01, 64)
    assert (more.contexts_min, more.ngram_dropout, more.epochs) == (8, 0.1, 5)
    with pytest.raises(InputError, match="no mimic preset"):
        preset("an")
    with pytest.raises(InputError, match="cannot both be off"):
        MimicSettings(form=False, context=False)
    with pytest.raises(InputError, match="unknown mimic setting 'colour'"):
        MimicSettings.from_dict({"colour": 1})
