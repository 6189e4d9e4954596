"""``rarewords wnlampro`` as a user calls it: from the data set to tables."""

import json

import numpy as np
import pytest

from rarewords import InputError, WordEmbeddings, wnlampro
from rarewords.wnlampro.dataset import Dataset
from tests.cli.run import rarewords, refused


@pytest.fixture
def small(tmp_path):
    """Options for a quick evaluation."""
    hypernyms = tuple(entry for entry in wnlampro.load() if entry.relation == "hypernym")
    Dataset(hypernyms[::40]).save(tmp_path / "hypernyms.tsv")
    return ["--limit", 15, "--subset", "test", "--device", "cpu", "--data", tmp_path / "hypernyms.tsv"]


def run(*arguments):
    return rarewords("-q", "wnlampro", *arguments).stdout


@pytest.fixture
def wordnet():
    """Skips a test where WordNet's files are missing."""
    from rarewords.wnlampro.builder import open_wordnet

    pytest.importorskip("nltk")
    try:
        open_wordnet()
    except InputError as error:
        pytest.skip(str(error))


def test_from_evaluation_to_comparison(small, tmp_path):
    shown = run("eval", *small, "--answers", "--out", tmp_path / "a.json")
    assert "| hypernym" in shown
    assert "cohyponym" not in shown
    shown = run("eval", *small, "--embeddings", "avg", "--answers", "--json", "--out", tmp_path / "b.json")
    assert json.loads(shown)["settings"]["method"] == "avg"
    word = json.loads((tmp_path / "a.json").read_text())["entries"]["word"].split()[0]
    (tmp_path / "words.txt").write_text(f"{word}\n")

    results = [tmp_path / "a.json", tmp_path / "b.json"]
    shown = run("compare", *results, "--words", tmp_path / "words.txt")
    assert "gte-mlm avg" in shown
    assert "95 % interval" in shown
    assert sum(line.startswith(f"| {word}") for line in shown.splitlines()) == 2
    assert json.loads(run("compare", *results, "--json"))["results"] == ["gte-mlm subwords", "gte-mlm avg"]


def test_embeddings_of_a_file_are_evaluated(small, lm, tmp_path):
    entries = wnlampro.load(tmp_path / "hypernyms.tsv").select(subset="test", limit=15)
    words = sorted({entry.word.text for entry in entries})
    numbers = np.random.default_rng(0).normal(size=(len(words), lm.dim)).astype(np.float32) / 10
    embeddings = WordEmbeddings(words, numbers)
    embeddings.save(tmp_path / "v.safetensors")
    run("eval", *small, "--embeddings", tmp_path / "v.safetensors", "--out", tmp_path / "r.json")
    stored = json.loads((tmp_path / "r.json").read_text())
    assert stored["settings"]["label"] == "gte-mlm v"
    assert stored["settings"]["keywords_with_embeddings"] == len(words)


def test_placement_and_settings_reach_the_evaluation(small, tmp_path):
    options = ["--embeddings", "avg", "--placement", "append", "--set", "depth=150", "--json"]
    shown = run("eval", *small, *options, "--out", tmp_path / "r.json")
    settings = json.loads(shown)["settings"]
    assert (settings["placement"], settings["depth"], settings["limit"]) == ("append", 150, 15)


def test_build_from_a_corpus(wordnet, tmp_path):  # noqa: ARG001 - skips
    counts = {"kumquat": 3, "lingonberry": 4, "fruit": 500, "berry": 90, "plant": 700, "simulation": 120}
    text = "".join(f"{word}\n" * count for word, count in counts.items())
    (tmp_path / "text.txt").write_text(text, "utf-8")
    rarewords("-q", "corpus", "build", tmp_path / "text.txt", "--out", tmp_path / "corpus", "--workers", 1)
    shown = run("build", "--counts", tmp_path / "corpus", "--out", tmp_path / "w.tsv")
    assert "| corruption | rare" in shown
    found = {(entry.word.text, entry.relation): entry for entry in wnlampro.load(tmp_path / "w.tsv")}
    assert found["lingonberry", "hypernym"].targets[0].text == "fruit"  # the most frequent comes first
    assert found["lingonberry", "hypernym"].word.count == 4


def test_counts_that_are_no_corpus_are_refused(tmp_path):
    refused("corpus", "wnlampro", "build", "--counts", tmp_path, "--out", tmp_path / "w.tsv")
    refused("corpus", "wnlampro", "build", "--counts", tmp_path / "none", "--out", tmp_path / "w.tsv")


def test_mistakes_are_one_line_and_leave_nothing(tmp_path):
    embeddings = tmp_path / "v.safetensors"
    WordEmbeddings(["lime"], np.ones((1, 7), np.float32)).save(embeddings)
    bad = tmp_path / "bad.tsv"
    bad.write_text("1\ttest\tlime (n,4,7)\n")
    shape = tmp_path / "shape.json"
    shape.write_text('{"format": "rarewords.wnlampro/1", "entries": [], "settings": 3, "bounds": null}')
    out = ["--out", tmp_path / "r.json"]
    for code, *arguments in (
        ("model-mismatch", "eval", "--embeddings", embeddings, *out),
        ("missing-file", "eval", "--embeddings", tmp_path / "none.txt", *out),
        ("wnlampro", "eval", "--data", bad, *out),
        ("settings", "eval", "--set", "depth=50", *out),
        ("wnlampro", "eval", "--placement", "append", *out),
        ("format", "compare", bad),
        ("damaged", "compare", shape),
    ):
        refused(code, "wnlampro", *arguments)
    assert not (tmp_path / "r.json").exists()
