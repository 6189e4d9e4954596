"""The commands, from the data set to tables."""

import json
import sys

import numpy as np
import pytest

from rarewords import LanguageModel, WordVectors
from rarewords.cli.app import main
from rarewords.probe.dataset import Dataset
from tests.cli.run import loaded


@pytest.fixture
def run(monkeypatch, capsys):
    monkeypatch.setattr(LanguageModel, "from_pretrained", loaded)

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["rarewords", "-q", "wnlampro", *map(str, arguments)])
        try:
            main()
            code = 0
        except SystemExit as stop:
            code = stop.code or 0
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return call


@pytest.fixture
def small(tmp_path):
    """Options for a quick evaluation."""
    hypernyms = tuple(entry for entry in Dataset.load() if entry.relation == "hypernym")
    Dataset(hypernyms[::40]).save(tmp_path / "hypernyms.tsv")
    return ["--limit", "15", "--set", "test", "--device", "cpu", "--data", tmp_path / "hypernyms.tsv"]


def test_from_evaluation_to_comparison(run, small, tmp_path):
    code, out, err = run("eval", *small, "--answers", "--out", tmp_path / "a.json")
    assert code == 0, err
    assert "| hypernym" in out
    assert "cohyponym" not in out
    code, out, _ = run(
        "eval", *small, "--vectors", "avg", "--answers", "--json", "--out", tmp_path / "b.json"
    )
    assert json.loads(out)["settings"]["method"] == "avg"
    word = json.loads((tmp_path / "a.json").read_text())["entries"]["word"].split()[0]
    (tmp_path / "words.txt").write_text(f"{word}\n")

    results = [tmp_path / "a.json", tmp_path / "b.json"]
    code, out, _ = run("compare", *results, "--words", tmp_path / "words.txt")
    assert "gte-mlm avg" in out
    assert "95 % interval" in out
    assert sum(line.startswith(f"| {word}") for line in out.splitlines()) == 2
    code, out, _ = run("compare", *results, "--json")
    assert json.loads(out)["results"] == ["gte-mlm pieces", "gte-mlm avg"]


def test_vectors_of_either_format_give_the_same_ranks(run, small, lm, tmp_path):
    chosen = Dataset.load(tmp_path / "hypernyms.tsv").select(subset="test", limit=15)
    words = sorted({entry.word.text for entry in chosen})
    numbers = np.random.default_rng(0).normal(size=(len(words), lm.dim)).astype(np.float32) / 10
    vectors = WordVectors(words, numbers)
    vectors.save(tmp_path / "v.safetensors")
    vectors.save_word2vec(tmp_path / "v.txt")
    ranks = {}
    for name in ("v.safetensors", "v.txt"):
        code, _, err = run("eval", *small, "--vectors", tmp_path / name, "--out", tmp_path / "r.json")
        assert code == 0, err
        stored = json.loads((tmp_path / "r.json").read_text())
        assert stored["settings"]["label"] == "gte-mlm v"
        assert stored["settings"]["keywords_with_vectors"] == len(words)
        ranks[name] = stored["entries"]["rank"]
    assert ranks["v.txt"] == ranks["v.safetensors"]


def test_build_from_counts(run, tmp_path):
    pytest.importorskip("nltk")
    counts = tmp_path / "counts.tsv"
    counts.write_text("kumquat\t3\nlingonberry\t4\nfruit\t500\nberry\t90\nplant\t700\nsimulation\t120\n")
    code, out, err = run("build", "--counts", counts, "--corruptions", 1, "--out", tmp_path / "w.tsv")
    if "WordNet 3.0 was not found" in err:
        pytest.skip(err)
    assert code == 0, err
    assert "| corruption | rare" in out
    found = {(entry.word.text, entry.relation): entry for entry in Dataset.load(tmp_path / "w.tsv")}
    assert found["lingonberry", "hypernym"].targets[0].text == "fruit"  # the most frequent comes first
    assert found["lingonberry", "hypernym"].word.count == 4


def test_mistakes_are_one_line(run, tmp_path):
    pytest.importorskip("nltk")
    vectors = tmp_path / "v.safetensors"
    WordVectors(["lime"], np.ones((1, 7), np.float32)).save(vectors)
    bad = tmp_path / "bad.tsv"
    bad.write_text("1\ttest\tlime (n,4,7)\n")
    shape = tmp_path / "shape.json"
    shape.write_text('{"format": "rarewords.wnlampro/1", "entries": [], "settings": 3, "bounds": null}')
    counts = tmp_path / "counts.tsv"
    counts.write_text("lime\t7\nfruit twelve\n")
    settings = tmp_path / "s.toml"
    settings.write_text("depth = 50\n")
    out = ["--out", tmp_path / "r.json"]
    for arguments, reason in [
        (["eval", "--vectors", vectors, *out], "but the model takes size"),
        (["eval", "--vectors", tmp_path / "none.txt", *out], "none.txt does not exist"),
        (["eval", "--data", bad, *out], "bad.tsv, line 1"),
        (["eval", "--settings", settings, *out], "depth must be at least 100"),
        (["eval", "--slash", *out], "needs vectors"),
        (["compare", bad], "not a JSON file"),
        (["compare", shape], "shape.json is damaged"),
        (["build", "--counts", tmp_path / "none.tsv", *out], "WordNet|does not exist"),
        (["build", "--counts", counts, *out], "WordNet|counts.tsv, line 2"),
        (["build", "--counts", tmp_path, *out], "WordNet|is not a"),
    ]:
        code, _, err = run(*arguments)
        assert code == 2, arguments
        assert len(err.strip().splitlines()) == 1
        assert any(part in err for part in reason.split("|")), err
    assert not (tmp_path / "r.json").exists()
