"""``rarewords reproduce``: a part by itself, machine-readable output, and mistakes in one line."""

import json

from rarewords.paper import settings as paper_settings
from tests.cli import run
from tests.cli.run import rarewords, refused
from tests.paper.conftest import SMALL


def test_a_part_by_itself_writes_its_report(store, tmp_path, monkeypatch):
    monkeypatch.setattr(paper_settings, "QUICK", SMALL)
    out = tmp_path / "out"
    options = ["--quick", "--corpus", store.path, "--out", out, "--device", "cpu"]
    done = rarewords("reproduce", "heatmap", *options)
    assert "Ranks improve with the number of occurrences." in done.stdout
    assert "report.html: " in done.stdout
    assert "Probing with pieces" in done.stderr
    text = (out / "report.md").read_text("utf-8")
    same = "--seeds=1 --seed=0 --corpus=store --out=out --data=default --quick"
    assert f"rarewords reproduce heatmap --model=default {same}" in text
    assert str(tmp_path) not in text  # a report is read elsewhere
    settings = json.loads((out / "settings.json").read_text())
    assert settings["settings"]["name"] == "small"
    again = rarewords("-q", "reproduce", "heatmap", "--json", *options)
    found = json.loads(again.stdout)
    assert set(found["results"]) == {"heatmap"}
    assert [claim["statement"] for claim in found["claims"]][
        -1
    ] == "Ranks improve with the number of occurrences."
    assert all(claim["verdict"] and claim["test"] for claim in found["claims"])
    assert again.stderr == ""
    monkeypatch.setattr(run, "loaded", lambda *_, **__: run.bundled())  # as if it came from the hub
    rarewords("-q", "reproduce", "report", "--model", "someone/bert", *options)
    text = (out / "report.md").read_text("utf-8")
    assert f"rarewords reproduce all --model=someone/bert {same}" in text


def test_mistakes_are_one_line(store, tmp_path):
    common = ["--corpus", store.path, "--out", tmp_path / "x"]
    assert "unknown part 'tables'" in refused("reproduce", "tables", *common)
    assert "is not a store" in refused("reproduce", "--corpus", tmp_path, "--out", tmp_path / "x")
    assert "does not exist" in refused("reproduce", "--targets", tmp_path / "none.safetensors", *common)
    (tmp_path / "file").write_text("x")
    assert "is a file" in refused(
        "-q", "reproduce", "--quick", "--corpus", store.path, "--out", tmp_path / "file"
    )
