"""The measurements on data that others made (benchmarks/tasks): scorers, alignment of words, the page."""

import runpy
import sys
from pathlib import Path

import numpy as np
import pytest
from transformers import AutoTokenizer

from rarewords import WordVectors
from rarewords.injection import inject, save_folder
from tests.architectures import small_model

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "benchmarks" / "tasks"))

import iob  # noqa: E402 - scripts beside each other, not a package
import measure  # noqa: E402
import ner  # noqa: E402
import nonces  # noqa: E402
import rarify  # noqa: E402
import tuning  # noqa: E402

WORDS = ["kumquat", "oldanka"]


@pytest.mark.parametrize(
    ("tags", "entities"),
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
def test_entities_of_tags(tags, entities):
    assert iob.spans(tags.split()) == entities


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

    difference, low, high = measure.change(before, after, share)
    assert difference == pytest.approx(after[:, 0].mean() - before[:, 0].mean())
    error = (after[:, 0] - before[:, 0]).std() / 20
    assert (low, high) == pytest.approx((difference - 1.96 * error, difference + 1.96 * error), abs=0.01)
    assert measure.change(before, before, share) == (0, 0, 0)


@pytest.fixture(scope="module", params=[True, False], ids=["both", "replace"])
def taught(request, tmp_path_factory):
    """A folder with two new words, and the tokens of these."""
    model, tokenizer = small_model("bert")
    folder = tmp_path_factory.mktemp("tasks") / "taught"
    rows = np.random.default_rng(0).normal(size=(2, model.get_input_embeddings().weight.shape[1]))
    ids = inject(model, tokenizer, WordVectors(WORDS, rows), slash=request.param).ids
    save_folder(model, tokenizer, folder, base="small", card="")
    return folder, ids


def test_the_token_of_a_word_belongs_to_the_word(taught):
    folder, ids = taught
    text = ["An", "Oldanka", ",", "kumquats", "and", "(kumquat)", "kumquat"]
    tokenizer = AutoTokenizer.from_pretrained(folder)
    examples = tuning.Examples.of(tokenizer, [text], [[0] * len(text)])
    pairs = list(zip(examples.ids[0].tolist(), examples.words[0].tolist(), strict=True))
    assert [word for token, word in pairs if token == ids["oldanka"]] == [1]
    assert [word for token, word in pairs if token == ids["kumquat"]] == [5, 6]
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
    ner.random_rows(model, tokens, seed=1)
    after = weight[tokens]
    assert (after - mean).norm(dim=1).tolist() == pytest.approx(
        (before - mean).norm(dim=1).tolist(), rel=1e-4
    )
    assert not np.allclose(after.tolist(), before.tolist())


@pytest.mark.parametrize(
    ("word", "text", "given_away"),
    [
        ("legislation", "wug is what a legislature makes", True),
        ("biodiesel", "wug is a diesel fuel", True),
        ("telewest", "wug sold television", False),
        ("usk", "wug is a town", False),
    ],
)
def test_definitions_that_give_their_word_away(word, text, given_away):
    assert nonces.leaks(nonces.Nonce(word, text)) == given_away


def test_examples_are_later_sentences_of_articles_that_say_what_they_are():
    later = "They live in the cold waters of the far north and eat small fish."
    article = f"Blue wug\n\nThe wug (W. major) is a rare species of whale. {later}\nRange.\n"
    other = "List\n\nThis is a list of whales. It is not complete, and nobody knows how long it is."
    found = [one for _, one in rarify.examples(f"{article}\n\n\n{other}")]
    assert [" ".join(one.words) for one in found] == [later.replace(".", " .")]
    assert found[0].label == rarify.LABELS["species"]


def test_naive_bayes_goes_by_the_words_of_a_topic():
    train = [rarify.Example(("the", "whale", "swims"), 0), rarify.Example(("the", "film", "ends"), 1)] * 5
    topics = rarify.Topics(train)
    assert topics.odds("whale", 0) > 1 > -1 > topics.odds("whale", 1)
    assert topics.odds("the", 0) == 0
    assert [topics.most_probable(("a", word)) for word in ("whale", "film")] == [0, 1]


def test_the_tables_of_tasks_are_those_of_the_measurements():
    folder = ROOT / "docs" / "results"
    render = runpy.run_path(str(ROOT / "benchmarks" / "render_tasks.py"))
    shown = (folder / "tasks.md").read_text("utf-8")
    assert "<!-- begin summary -->" in shown
    assert shown == render["page"](shown, render["read"](folder / "tasks" / "tasks.jsonl"))
