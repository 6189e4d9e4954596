"""The model against the formulas written out, from sentences to loss and gradients."""

import numpy as np
import pytest
import torch

from rarewords.mimic.batches import ContextEmbeddings, PreparedContexts, Reader, Sentences
from rarewords.mimic.model import FormContextModel, NgramTable, WordBatch
from rarewords.mimic.settings import MimicSettings, preset
from tests.mimic import literal

DIM = 6
VOCABULARY = ["bicycle", "tricycle", "unicycle", "cycles", "recycle", "kumquat", "kumquats", "kumquaty", "ukumquat"]
LONG = ["far", "away", "words", "fill", "this", "very", "long", "sentence", "to", "the", "brim"] * 4
EXAMPLES = {
    # Twice the word in one short sentence, marks, a number, and a sentence in which nothing else is known.
    "kumquat": [
        ["a", "kumquat", ",", "or", "two", "kumquat", "trees", "(", "1984", ")", "."],
        ["the", "kumquat", "is", "a", "sour", "fruit"],
        ["zzz", "kumquat", "qqq"],
    ],
    # Two occurrences so far apart that each has a window of its own.
    "bicycle": [[*LONG, "bicycle", ",", *LONG, "bicycle", *LONG[:3], ";", *LONG[3:]], ["red", "bicycle"]],
    "xyzzyx": [["the", "xyzzyx", "grows", "on", "a", "tree"]],  # no known n-gram
    "recycle": [],  # no context
}


@pytest.fixture
def example():
    torch.manual_seed(1)
    words = sorted({word for one in EXAMPLES.values() for sentence in one for word in sentence} - {"zzz", "qqq"})
    # The words themselves are known as well, as in training: they must not be read in their own contexts.
    known = ContextEmbeddings(words, torch.randn(len(words), DIM, dtype=torch.float64))
    targets = torch.randn(len(EXAMPLES), DIM, dtype=torch.float64)
    return known, dict(zip(words, known.matrix, strict=True)), targets


def model_of(**changes):
    torch.manual_seed(2)
    model = FormContextModel(
        MimicSettings(**changes), dim=DIM, ngrams=len(NgramTable.from_words(VOCABULARY, preset("am")))
    )
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.7)
    return model.double()


def batch_of(known, examples=EXAMPLES):
    """All words of the example in one batch, read as :meth:`AttentiveMimicking.infer` reads sentences."""
    readers = []
    for word, sentences in examples.items():
        source = Sentences([" ".join(tokens) for tokens in sentences], lower_case=True)
        readers.append(Reader(PreparedContexts(source, [word]), [word], known))
    counts = np.array([int(reader.starts[-1]) for reader in readers])
    readings = torch.cat([reader.read(torch.arange(int(reader.starts[-1]))) for reader in readers])
    table = NgramTable.from_words(VOCABULARY, preset("am"))
    numbers = [torch.from_numpy(table.numbers(word)) for word in examples]
    starts = torch.tensor([0, *map(len, numbers)]).cumsum(0)[:-1]
    return WordBatch(
        torch.cat(numbers), starts, torch.ones(len(counts), dtype=torch.bool), readings, torch.from_numpy(counts)
    )


@pytest.mark.parametrize(("form", "context"), [(True, True), (True, False), (False, True)])
def test_loss_and_gradients_equal_the_formulas_in_float64(example, form, context):
    known, embeddings, targets = example
    model = model_of(form=form, context=context)
    mimicked = model(batch_of(known))
    loss = torch.nn.functional.mse_loss(mimicked.embeddings, targets)
    loss.backward()
    state = {name: value.detach().clone().requires_grad_() for name, value in model.state_dict().items()}
    numbers = literal.ngram_numbers(VOCABULARY)
    examples = [(word, EXAMPLES[word], target) for word, target in zip(EXAMPLES, targets, strict=True)]
    expected = literal.loss_of(examples, embeddings, numbers, state)
    expected.backward()
    assert loss.item() == pytest.approx(expected.item(), abs=1e-6)
    for name, parameter in model.named_parameters():
        found = parameter.grad.to_dense() if parameter.grad.is_sparse else parameter.grad
        torch.testing.assert_close(found, state[name].grad, atol=1e-6, rtol=1e-6, msg=name)
        assert found.abs().max() > 1e-4, f"{name} gets no gradient"


def test_attention_is_no_softmax_and_weights_add_up_to_one(example):
    known, embeddings, _ = example
    model = model_of()
    weights = model(batch_of(known, {"kumquat": EXAMPLES["kumquat"][:2]})).weights
    readings = [literal.reading_of("kumquat", one, embeddings) for one in EXAMPLES["kumquat"][:2]]
    compared = torch.stack([model.compare @ reading for reading in readings])
    rows = (compared @ compared.T).sum(1)
    torch.testing.assert_close(weights, rows / rows.sum())
    assert not torch.allclose(weights, torch.softmax(rows / DIM**0.5, dim=0), atol=1e-3)


def test_the_gate_sees_the_context_before_it_is_transformed(example):
    known, _, _ = example
    model = model_of()
    before = model(batch_of(known)).context_share.detach().clone()
    torch.nn.init.normal_(model.transform)
    torch.testing.assert_close(model(batch_of(known)).context_share, before)


def test_without_contexts_the_form_speaks_alone_and_the_other_way_round(example):
    known, _, _ = example
    model, batch = model_of(), batch_of(known)
    made = model(batch)
    assert made.context_share[3] == 0
    assert ((made.context_share[:3] > 0) & (made.context_share[:3] < 1)).all()
    hidden = torch.tensor([False, True, True, True])
    made = model(WordBatch(batch.grams, batch.gram_starts, hidden, batch.readings, batch.counts))
    assert made.context_share[0] == 1
    formless = model_of(form=False)(batch)
    assert formless.embeddings[3].abs().max() == 0  # as the authors' program: zero, not a refusal
    assert formless.embeddings[0].abs().max() > 0


def test_weights_start_as_glorot():
    torch.manual_seed(0)
    model = FormContextModel(preset("am"), dim=40, ngrams=560)
    for weight, limit in (
        (model.ngram_embeddings.weight, (6 / 600) ** 0.5),
        (model.transform, (6 / 80) ** 0.5),
        (model.compare, (6 / 80) ** 0.5),
        (model.gate.weight, (6 / 81) ** 0.5),
    ):
        assert 0.9 * limit < weight.abs().max() <= limit
