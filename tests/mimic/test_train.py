"""Training: what an epoch draws, how weights move, what is reported."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from rarewords.corpus.settings import CorpusSettings
from rarewords.mimic.batches import ContextEmbeddings, PreparedContexts, Reader
from rarewords.mimic.model import UNKNOWN, FormContextModel, NgramTable
from rarewords.mimic.settings import preset
from rarewords.mimic.train import EpochPlan, TrainingWords, _cosine, copies_of, train

WORDS = ["abacus", "abbey", "cabin", "dormitory", "candle", "window"]
DIM = 4


class EverySentence:
    """A corpus with ``sizes[i]`` sentences of word i, each with a token of its own."""

    settings = CorpusSettings()

    def __init__(self, sizes):
        self.owner = np.repeat(np.arange(len(sizes)), sizes)
        self.tokens = [f"token{number:05}" for number in range(len(self.owner))]

    def references(self, words, contexts=None):  # noqa: ARG002 - as Corpus has it
        return self.owner, np.arange(len(self.owner)), np.zeros(len(self.owner), np.int64)

    def sentences(self, rows):
        return [f"{WORDS[self.owner[row]]} {self.tokens[row]}" for row in rows]


def data_of(sizes, counts):
    """Training words whose contexts can be told apart: the reading of a context is an embedding of its own."""
    torch.manual_seed(0)
    corpus = EverySentence(sizes)
    known = ContextEmbeddings(corpus.tokens, torch.randn(len(corpus.tokens), DIM))
    reader = Reader(PreparedContexts(corpus, WORDS), WORDS, known)
    table = NgramTable.from_words(WORDS, preset("am", ngram_threshold=1))
    grams = [table.numbers(word) for word in WORDS]
    return TrainingWords(np.array(counts), torch.randn(len(WORDS), DIM), grams, reader), corpus


def drawn(data, corpus, plan):
    """For each instance of an epoch the word and the sentences it was given."""
    every = data.reader.read(torch.arange(len(corpus.tokens)))
    found = []
    for batch, targets in plan.batches():
        words = [int((data.targets == target).all(1).nonzero()) for target in targets]
        contexts = [int((every == reading).all(1).nonzero()) for reading in batch.readings]
        bounds = batch.counts.cumsum(0).tolist()
        found += [(w, contexts[e - n : e]) for w, e, n in zip(words, bounds, batch.counts.tolist(), strict=True)]
    return found


def test_a_word_has_one_instance_per_100_occurrences_from_1_to_5():
    counts = np.array([3, 100, 199, 200, 499, 500, 10**6])
    assert copies_of(counts, preset("am")).tolist() == [1, 1, 1, 2, 4, 5, 5]


@pytest.mark.parametrize(("name", "fewest"), [("am", 1), ("am+context", 8)])
def test_instances_get_fresh_contexts_of_their_word_from_smin_to_smax(name, fewest):
    data, corpus = data_of([400, 400, 400, 400, 100, 30], [500, 500, 450, 100, 100, 100])
    settings = preset(name)
    seen = []
    for epoch in range(12):
        plan = EpochPlan(data, settings, np.arange(len(WORDS)), epoch)
        assert next(plan.batches())[1].shape == (len(range(plan.examples)[:64]), DIM)
        instances = drawn(data, corpus, plan)
        assert sorted(word for word, _ in instances) == [0] * 5 + [1] * 5 + [2] * 4 + [3, 4, 5]
        everything = [context for _, contexts in instances for context in contexts]
        assert len(set(everything)) == len(everything)  # no context twice in an epoch
        assert all(corpus.owner[context] == word for word, contexts in instances for context in contexts)
        assert all(len(contexts) <= 30 for word, contexts in instances if word == 5)
        seen += [len(contexts) for word, contexts in instances if word != 5]
    assert fewest <= min(seen) <= fewest + 4
    assert 60 <= max(seen) <= 64
    again = drawn(data, corpus, EpochPlan(data, settings, np.arange(len(WORDS)), 3))
    assert again == drawn(data, corpus, EpochPlan(data, settings, np.arange(len(WORDS)), 3))
    assert again != instances


def test_an_instance_without_contexts_left_is_dropped():
    data, corpus = data_of([9, 0, 400, 400, 400, 400], [500] * 6)
    instances = drawn(data, corpus, EpochPlan(data, preset("am+context"), np.arange(len(WORDS)), 0))
    assert [len(contexts) for word, contexts in instances if word == 1] == []
    assert sum(len(contexts) for word, contexts in instances if word == 0) == 9
    assert min(len(contexts) for _, contexts in instances) >= 1


def test_dropped_ngrams_leave_a_word_at_least_the_unknown_one():
    data, _ = data_of([5] * 6, [10**6] * 6)
    settings = preset("am", context=False, ngram_dropout=0.5, copies_max=2000, batch_size=12_000)
    batch, _ = next(EpochPlan(data, settings, np.arange(6), 0).batches())
    sizes = np.diff([*batch.gram_starts.tolist(), len(batch.grams)])
    assert sizes.min() == 1
    assert int((batch.grams == UNKNOWN).sum()) > 0
    share = len(batch.grams) / (2000 * sum(map(len, data.grams)))
    assert share == pytest.approx(0.5, abs=0.02)


def test_am_context_drops_a_tenth_of_the_ngrams_and_am_none():
    data, _ = data_of([5] * 6, [10**6] * 6)
    for name, dropped in (("am", 0), ("am+context", 0.1)):
        settings = preset(name, context=False, copies_max=1000, batch_size=6000)
        batch, _ = next(EpochPlan(data, settings, np.arange(6), 0).batches())
        share = len(batch.grams) / (1000 * sum(map(len, data.grams)))
        assert share == pytest.approx(1 - dropped, abs=0.005 if dropped else 0)


def test_ngrams_move_as_in_plain_adam_also_while_no_word_contains_them():
    """Adam written out: all rows at every step, learning rate .01."""
    data, _ = data_of([1] * 6, [100] * 6)
    settings = preset("am", context=False, batch_size=2, epochs=3)
    ngrams = max(int(own.max()) for own in data.grams) + 1
    trained, _ = train(data, settings, ngrams=ngrams)
    torch.manual_seed(settings.seed)
    weight = FormContextModel(settings, dim=DIM, ngrams=ngrams).state_dict()
    weight = weight["ngram_embeddings.weight"].clone().requires_grad_()
    first, second = torch.zeros_like(weight), torch.zeros_like(weight)
    plans = [EpochPlan(data, settings, order(6, settings.seed), epoch) for epoch in range(3)]
    batches = (batch for plan in plans for batch in plan.batches())
    for step, (batch, targets) in enumerate(batches, 1):
        made = torch.nn.functional.embedding_bag(batch.grams, weight, batch.gram_starts, mode="mean")
        (gradient,) = torch.autograd.grad(((made - targets) ** 2).mean(), weight)
        first, second = 0.9 * first + 0.1 * gradient, 0.999 * second + 0.001 * gradient**2
        move = first / (1 - 0.9**step) / ((second / (1 - 0.999**step)).sqrt() + 1e-8)
        still = (gradient == 0).all(1) & (first != 0).any(1)
        weight = (weight - 0.01 * move).detach().requires_grad_()
    assert still.any()  # rows without a gradient that move all the same
    assert move[still].abs().min() > 0.01
    torch.testing.assert_close(trained.ngram_embeddings.weight, weight, atol=1e-5, rtol=1e-4)


def order(words, seed):
    return np.random.default_rng([seed, 0]).permutation(words)


def test_the_reported_share_is_the_gates_where_it_decides():
    data, _ = data_of([50] * 6, [500] * 6)
    shown = train(data, preset("am", epochs=1), ngrams=200)[1][0].context_share
    hidden = train(data, preset("am", epochs=1, form_dropout=0.8), ngrams=200)[1][0].context_share
    assert hidden == pytest.approx(shown, abs=0.15)  # not .8 and more
    assert train(data, preset("am", epochs=1, form=False), ngrams=200)[1][0].context_share == 1
    assert train(data, preset("am", epochs=1, context=False), ngrams=200)[1][0].context_share == 0


def test_the_held_out_cosine_is_measured_without_dropout():
    data, _ = data_of([50] * 6, [500] * 6)
    dropping = preset("am", epochs=2, form_dropout=0.9, ngram_dropout=0.9, held_out=0.4)
    model, history = train(data, dropping, ngrams=200)
    plain = FormContextModel(replace(dropping, form_dropout=0.0, ngram_dropout=0.0), dim=DIM, ngrams=200)
    plain.load_state_dict(model.state_dict())
    assert history[-1].held_out_cosine == pytest.approx(_cosine(data, plain, order(6, 0)[:2]), abs=1e-6)
