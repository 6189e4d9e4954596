"""The commands, from the data set to the page."""

import json
import sys

import numpy as np
import pytest

from rarewords import WordVectors
from rarewords.cli.app import main


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    # Predictions go to a folder of the test; the bundled model stays where it is.
    monkeypatch.setattr("rarewords.probe.cache.cache_folder", lambda: tmp_path / "cache")

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


def test_from_evaluation_to_page(run, tmp_path):
    small = ["--limit", "25", "--relation", "hypernym", "--set", "test", "--device", "cpu"]
    code, out, err = run("eval", *small, "--answers", "--out", tmp_path / "a.json")
    assert code == 0, err
    assert "| hypernym" in out
    code, out, _ = run("eval", *small, "--method", "avg", "--answers", "--json", "--out", tmp_path / "b.json")
    assert json.loads(out)["settings"]["method"] == "avg"
    word = json.loads((tmp_path / "a.json").read_text())["entries"]["word"].split()[0]

    code, out, _ = run("compare", tmp_path / "a.json", tmp_path / "b.json")
    assert "default avg" in out
    assert "95 % interval" in out
    code, out, _ = run("compare", tmp_path / "a.json", tmp_path / "b.json", "--json")
    assert json.loads(out)["results"] == ["default pieces", "default avg"]
    assert run("heatmap", tmp_path / "a.json", "--relation", "hypernym", "--out", tmp_path / "h")[0] == 0
    assert run("figure", tmp_path / "a.json", tmp_path / "b.json", "--out", tmp_path / "f.svg")[0] == 0
    assert (tmp_path / "h.png").is_file()
    code, _, err = run(
        "examples", tmp_path / "a.json", tmp_path / "b.json", "--words", word, "--out", tmp_path / "p.html"
    )
    assert code == 0, err
    assert word in (tmp_path / "p.html").read_text()


def test_show(run):
    assert "cohyponym+" in run("show")[1]
    assert "lingonberry (n," in run("show", "lingonberry")[1]
    assert run("show", "qqqq")[0] == 2


def test_mistakes_are_one_line(run, tmp_path):
    vectors = tmp_path / "v.safetensors"
    WordVectors(["lime"], np.ones((1, 7), np.float32)).save(vectors)
    bad = tmp_path / "bad.tsv"
    bad.write_text("1\ttest\tlime (n,4,7)\n")
    out = ["--out", tmp_path / "r.json"]
    for arguments, reason in [
        (["eval", "--vectors", vectors, *out], "another model"),
        (["eval", "--vectors", vectors, "--method", "avg", *out], "exclude each other"),
        (["eval", "--data", bad, *out], "bad.tsv, line 1"),
        (["eval", "--relation", "meronym", *out], "unknown relation"),
        (["eval", "--only", "common", *out], "--only takes 'rare'"),
        (["compare", bad], "not a JSON file"),
        (["build", "--counts", tmp_path / "none.tsv", *out], "WordNet|do not exist"),
    ]:
        code, _, err = run(*arguments)
        assert code == 2, arguments
        assert len(err.strip().splitlines()) == 1
        assert any(part in err for part in reason.split("|")), err
    assert not (tmp_path / "r.json").exists()
