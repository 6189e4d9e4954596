"""The measurements on data that others made: scorers, intervals, alignment of words, the tagger."""

import numpy as np
import pytest
from transformers import AutoTokenizer

from experiments.common import change_of
from experiments.tasks import entities, iob, tuning
from rarewords import WordEmbeddings
from rarewords.injection.inject import inject, save_folder
from tests.architectures import small_model

WORDS = ["kumquat", "oldanka"]


@pytest.mark.parametrize(
    ("tags", "spans"),
    [
        ("O O", []),
        ("B-x I-x O", [(0, 2, "x")]),
        ("B-x B-x", [(0, 1, "x"), (1, 2, "x")]),
        ("O I-x I-x", [(1, 3, "x")]),
        ("B-x I-y", [(0, 1, "x"), (1, 2, "y")]),
        ("B-x I-x", [(0, 2, "x")]),
        ("B-a-b I-a-b", [(0, 2, "a-b")]),
    ],
)
def test_entities_of_tags(tags, spans):
    assert iob.spans(tags.split()) == spans


def test_f1_counts_exact_entities_that_are_asked_for():
    one = iob.Sentence(("a", "b", "c", "d", "e"), ("B-x", "I-x", "O", "B-y", "O"))
    found = [["B-x", "O", "O", "B-y", "B-y"]]  # one border wrong, one right, one too many
    everything = iob.counts([one], found, lambda *_: True)
    assert everything.tolist() == [[1, 3, 2]]
    assert iob.f1(everything)[0] == pytest.approx(2 * (1 / 3) * (1 / 2) / (1 / 3 + 1 / 2))
    only_y = iob.counts([one], found, lambda _, span: span[2] == "y")
    assert only_y.tolist() == [[1, 2, 1]]


def test_a_change_has_the_interval_of_its_items():
    draw = np.random.default_rng(0)
    before = np.stack([draw.random(400) < 0.5, np.ones(400)], axis=1)
    after = np.stack([draw.random(400) < 0.8, np.ones(400)], axis=1)

    def share(sums):
        return sums[:, 0] / sums[:, 1]

    found = change_of(before, after, share)
    difference, (low, high) = found["change"], found["interval"]
    assert difference == pytest.approx(after[:, 0].mean() - before[:, 0].mean())
    error = (after[:, 0] - before[:, 0]).std() / 20
    assert (low, high) == pytest.approx((difference - 1.96 * error, difference + 1.96 * error), abs=0.01)
    assert change_of(before, before, share) == {"change": 0, "interval": [0, 0]}


@pytest.fixture(scope="module", params=["append", "replace"])
def taught(request, tmp_path_factory):
    """A folder with two new words, and the tokens of these."""
    model, tokenizer = small_model("bert")
    folder = tmp_path_factory.mktemp("tasks") / "taught"
    rows = np.random.default_rng(0).normal(size=(2, model.get_input_embeddings().weight.shape[1]))
    ids = inject(model, tokenizer, WordEmbeddings(WORDS, rows), placement=request.param).ids
    save_folder(model, tokenizer, folder, base="small", card="")
    return folder, ids


def test_the_token_of_a_word_belongs_to_the_word(taught):
    folder, ids = taught
    text = ["An", "Oldanka", ",", "kumquats", "and", "(kumquat)", "kumquat"]
    tokenizer = AutoTokenizer.from_pretrained(folder)
    examples = tuning.Examples.of(tokenizer, [text], [[0] * len(text)])
    pairs = list(zip(examples.ids[0].tolist(), examples.words[0].tolist(), strict=True))
    assert [word for token, word in pairs if token == ids["oldanka"]] == [1]
    replaced = len(tokenizer.tokenize("oldanka")) == 1  # WordPiece then reads kumquats as kumquat ##s
    assert [word for token, word in pairs if token == ids["kumquat"]] == ([3, 5, 6] if replaced else [5, 6])
    assert sorted({word for _, word in pairs}) == [-1, *range(len(text))]


def test_a_tagger_learns_and_its_labels_come_in_order(taught):
    folder, _ = taught
    texts = [["the", "kumquat"], ["oldanka"], ["a", "red", "kumquat", "and", "one", "oldanka"]] * 12
    labels = [[1 + WORDS.index(word) if word in WORDS else 0 for word in text] for text in texts]
    examples = tuning.Examples.of(AutoTokenizer.from_pretrained(folder), texts, labels)
    model = tuning.load(folder, 3, seed=0)
    tuning.fine_tune(model, examples, rate=3e-3, epochs=30, seed=0)
    assert [own.tolist() for own in tuning.predict(model, examples)] == labels


def test_random_rows_keep_their_distance_from_the_mean(taught):
    folder, ids = taught
    model = tuning.load(folder, 2, seed=0)
    weight = model.get_input_embeddings().weight
    tokens = sorted(ids.values())
    mean, before = weight[: tokens[0]].mean(0), weight[tokens].clone()
    entities.random_rows(model, tokens, seed=1)
    after = weight[tokens]
    assert (after - mean).norm(dim=1).tolist() == pytest.approx((before - mean).norm(dim=1).tolist(), rel=1e-4)
    assert not np.allclose(after.tolist(), before.tolist())
