"""``python -m experiments.paper``: a part by itself, machine-readable output, and mistakes in one line."""

import json
from functools import partial

import pytest

from experiments.paper import settings as paper_settings
from experiments.paper.__main__ import main
from experiments.paper.draw import main as draw
from tests.cli import run
from tests.cli.run import rarewords
from tests.cli.run import refused as refused_by
from tests.experiments.paper.conftest import SMALL
from tests.wnlampro.results import made

reproduce = partial(rarewords, program=main)
refused = partial(refused_by, program=main)


@pytest.mark.slow
def test_a_part_by_itself_writes_its_report(corpus, tmp_path, monkeypatch):
    monkeypatch.setattr(paper_settings, "QUICK", SMALL)
    out = tmp_path / "out"
    options = ["--quick", "--corpus", corpus.path, "--out", out, "--device", "cpu"]
    done = reproduce("heatmap", *options)
    assert "Ranks improve with the number of occurrences." in done.stdout
    assert "report.html: " in done.stdout
    assert "Probing with subwords" in done.stderr
    text = (out / "report.md").read_text("utf-8")
    same = "--seeds=1 --seed=0 --corpus=corpus --out=out --data=default --quick"
    assert f"python -m experiments.paper heatmap --model=default {same}" in text
    assert str(tmp_path) not in text  # a report is read elsewhere
    settings = json.loads((out / "settings.json").read_text())
    assert settings["settings"]["name"] == "small"
    again = reproduce("-q", "heatmap", "--json", *options)
    found = json.loads(again.stdout)
    assert set(found["results"]) == {"heatmap"}
    assert found["claims"][-1]["statement"] == "Ranks improve with the number of occurrences."
    assert all(claim["verdict"] and claim["test"] for claim in found["claims"])
    assert again.stderr == ""
    monkeypatch.setattr(run, "loaded", lambda *_, **__: run.bundled())  # as if it came from the hub
    reproduce("-q", "report", "--model", "someone/bert", *options)
    text = (out / "report.md").read_text("utf-8")
    assert f"python -m experiments.paper all --model=someone/bert {same}" in text


def test_mistakes_are_one_line(corpus, tmp_path):
    common = ["--corpus", corpus.path, "--out", tmp_path / "x"]
    assert "unknown part 'tables'" in refused("usage", "tables", *common)
    refused("corpus", "--corpus", tmp_path, "--out", tmp_path / "x")
    refused("missing-file", "--targets", tmp_path / "none.safetensors", *common)
    (tmp_path / "file").write_text("x")
    refused("output", "-q", "--quick", "--corpus", corpus.path, "--out", tmp_path / "file")
    refused("missing-file", "-q", "report", "--quick", "--corpus", corpus.path, "--out", tmp_path / "x")


def test_results_are_drawn(tmp_path):
    results = [tmp_path / "a.json", tmp_path / "b.json"]
    for shift, path in enumerate(results):
        made(path.stem, shift).save(path)
    refuse = partial(refused_by, program=draw)
    refuse("wnlampro", results[0], "--heatmap", "--relation", "corruption", "--out", tmp_path / "x")
    refuse("usage", *results, "--heatmap", "--out", tmp_path / "x")
    assert not (tmp_path / "x.png").exists()
    done = rarewords(results[0], "--heatmap", "--relation", "cohyponym+", "--out", tmp_path / "h", program=draw)
    assert done.stdout.split() == [str(tmp_path / "h.png"), str(tmp_path / "h.svg")]
    assert (tmp_path / "h.png").is_file()
    rarewords(*results, "--out", tmp_path / "f.svg", program=draw)
    assert (tmp_path / "f.svg").is_file()
    (tmp_path / "shape.json").write_text("{}")
    refuse("wnlampro", tmp_path / "shape.json", "--out", tmp_path / "x")
