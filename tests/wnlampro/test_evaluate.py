"""Ranks and precisions against a slow, plain way of asking, and that nothing but the question matters."""

import random

import numpy as np
import pytest
import torch

from rarewords import LanguageModel, WordEmbeddings
from rarewords.wnlampro import probing
from rarewords.wnlampro.dataset import Dataset, patterns_for
from rarewords.wnlampro.probing import EvalSettings, evaluate
from tests.architectures import small_model
from tests.errors import refused_with


@pytest.fixture(scope="module")
def sample(bundled):
    return Dataset(bundled.select(limit=30), "a sample")


@pytest.fixture(scope="module")
def result(lm, sample):
    return evaluate(lm, sample)


def columns(result):
    return [getattr(result, name).tolist() for name in ("rank", "hits3", "hits10")]


@torch.no_grad()
def slow_scores(lm, entry):
    """One sentence at a time through plain transformers, the figures by the paper's formulas."""
    rank, precision = {}, {3: [], 10: []}
    targets = {target.text for target in entry.targets}
    for pattern in patterns_for(entry.relation, entry.word.text):
        text = pattern.replace("_", lm.tokenizer.mask_token).replace("<W>", entry.word.text)
        encoded = lm.tokenizer(text, return_tensors="pt")
        place = encoded["input_ids"][0].tolist().index(lm.tokenizer.mask_token_id)
        logits = lm.model(**encoded).logits[0, place]
        best = logits.argsort(descending=True)[:100].tolist()
        answers = [str(one) for one in lm.tokenizer.convert_ids_to_tokens(best)]
        for target in targets & set(answers):
            rank[pattern, target] = answers.index(target) + 1
        for i in precision:
            precision[i].append(len(set(answers[:i]) & targets) / i)
    return min(rank.values(), default=0), max(precision[3]), max(precision[10])


def test_against_a_slow_implementation(lm, bundled):
    entries = bundled.select(limit=16)
    result = evaluate(lm, Dataset(entries))
    expected = [slow_scores(lm, entry) for entry in entries]
    assert result.rank.tolist() == [rank for rank, _, _ in expected]
    assert result.values("p3").tolist() == pytest.approx([p3 for _, p3, _ in expected])
    assert result.values("p10").tolist() == pytest.approx([p10 for _, _, p10 in expected])
    reciprocal = [1 / rank if rank else 0 for rank, _, _ in expected]
    assert result.mrr == pytest.approx(sum(reciprocal) / len(reciprocal))
    assert 4 < sum(rank > 0 for rank, _, _ in expected) < 16  # both kinds are among them


@pytest.mark.parametrize("tokens_per_batch", [1, 100, 30000])
def test_ranks_do_not_depend_on_batches(lm, sample, result, tokens_per_batch, monkeypatch):
    monkeypatch.setattr("rarewords.lm._TOKENS_ON_CPU", tokens_per_batch)
    assert columns(evaluate(lm, sample)) == columns(result)


def test_ranks_do_not_depend_on_order(lm, sample, result):
    shuffled = list(sample)
    random.Random(1).shuffle(shuffled)
    again = evaluate(lm, Dataset(tuple(shuffled)))
    place = {identifier: i for i, identifier in enumerate(again.id)}
    back = [place[identifier] for identifier in result.id]
    assert again.rank[back].tolist() == result.rank.tolist()
    assert again.hits10[back].tolist() == result.hits10.tolist()


class OtherLastDigits(LanguageModel):
    """The same model on a machine with a coarser float32."""

    def logits_at(self, inputs, places, *, quick=False):
        logits = super().logits_at(inputs, places, quick=quick)
        if logits.dtype == torch.float64:
            return logits
        return logits + (torch.rand(logits.shape) - 0.5) * 2e-2


def test_ranks_that_hang_on_last_digits_are_decided_in_float64(lm, sample, result, monkeypatch):
    other = OtherLastDigits(lm.model, lm.tokenizer)
    torch.manual_seed(0)
    monkeypatch.setattr(probing, "CLOSE", 0.0)
    assert columns(evaluate(other, sample)) != columns(result)  # without a second look they differ
    monkeypatch.setattr(probing, "CLOSE", 4e-2)
    assert columns(evaluate(other, sample)) == columns(result)


@pytest.mark.parametrize("method", ["first", "last", "avg"])
def test_baselines_are_the_embeddings_of_the_subwords(lm, sample, result, method):
    found = evaluate(lm, sample, EvalSettings(method=method))
    words = sorted({e.word.text for e in sample if len(lm.subwords(e.word.text)) > 1})
    combine = {"first": lambda r: r[0], "last": lambda r: r[-1], "avg": lambda r: r.mean(dim=0)}[method]
    matrix = torch.stack([combine(lm.embeddings[lm.subwords(word)]) for word in words]).numpy()
    by_hand = evaluate(lm, sample, EvalSettings(method="embeddings"), embeddings=WordEmbeddings(words, matrix))
    assert columns(found) == columns(by_hand)
    assert columns(found) != columns(result)
    single = np.array([len(lm.subwords(word)) == 1 for word in result.word])
    assert found.rank[single].tolist() == result.rank[single].tolist()


def test_a_words_own_embedding_changes_nothing(lm, sample, result):
    words = sorted({e.word.text for e in sample if len(lm.subwords(e.word.text)) == 1})
    own = np.stack([lm.embeddings[lm.subwords(word)[0]].numpy() for word in words])
    found = evaluate(lm, sample, EvalSettings(method="embeddings"), embeddings=WordEmbeddings(words, own))
    assert columns(found) == columns(result)
    assert found.settings["keywords_with_embeddings"] == len(words) > 10


def test_append_shows_both(lm, sample, result):
    both = evaluate(lm, sample, EvalSettings(method="avg", placement="append"))
    assert columns(both) != columns(evaluate(lm, sample, EvalSettings(method="avg")))
    assert columns(both) != columns(result)


def test_depth_sees_further_and_leaves_the_figures_alone(lm, sample, result):
    deeper = evaluate(lm, sample, EvalSettings(depth=500))
    assert deeper.mrr == result.mrr
    assert (deeper.rank > 100).any()
    assert deeper.rank[result.rank > 0].tolist() == result.rank[result.rank > 0].tolist()


def test_answers_are_those_of_the_best_question(lm, sample, result):
    kept = evaluate(lm, sample, answers=True)
    assert columns(kept) == columns(result)
    checked = 0
    for entry, rank, text in zip(sample, kept.rank.tolist(), kept.answers, strict=True):
        question = next(
            one
            for pattern in patterns_for(entry.relation, entry.word.text)
            if text.startswith((one := pattern.replace("<W>", entry.word.text)) + " ")
        )
        answers = text.removeprefix(question + " ").split(", ")
        found = [place for place, one in enumerate(answers, 1) if one in {t.text for t in entry.targets}]
        if 0 < rank <= 10:
            assert found[0] == rank
            checked += 1
        else:
            assert not found
    assert checked > 10


def test_refusals(lm, sample):
    wrong = WordEmbeddings([sample.entries[0].word.text], np.ones((1, 7), np.float32))
    with refused_with("model-mismatch"):
        evaluate(lm, sample, EvalSettings(method="embeddings"), embeddings=wrong)
    other = WordEmbeddings(["qqqq"], np.ones((1, lm.dim), np.float32))
    with refused_with("nothing-to-teach"):
        evaluate(lm, sample, EvalSettings(method="embeddings"), embeddings=other)
    with refused_with("wnlampro"):
        evaluate(lm, sample, EvalSettings(method="embeddings"))
    with refused_with("settings"):
        EvalSettings(method="sum")
    with refused_with("settings"):
        EvalSettings(depth=50)


def test_a_model_that_lacks_most_targets_is_refused(sample):
    small = LanguageModel(*small_model("bert"), name="small")
    with refused_with("tokenizer"):
        evaluate(small, sample)
