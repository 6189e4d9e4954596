"""``rarewords reproduce``: a part by itself, machine-readable output, and mistakes in one line."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from rarewords.reproduction.settings import SAMPLES
from tests.cli.run import rarewords, refused
from tests.reproduction.conftest import SMALL


def test_a_part_by_itself_writes_its_report(store, tmp_path, monkeypatch):
    monkeypatch.setitem(SAMPLES, "tiny", SMALL)
    out = tmp_path / "out"
    options = ["--sample", "tiny", "--corpus", store.path, "--out", out, "--device", "cpu"]
    done = rarewords("reproduce", "heatmap", *options)
    assert "Ranks improve with the number of occurrences." in done.stdout
    assert "report.html: " in done.stdout
    assert "Probing with pieces" in done.stderr
    page = (out / "report.html").read_text("utf-8")
    assert "rarewords reproduce heatmap --model default --corpus store --out out --sample tiny" in page
    assert str(tmp_path) not in page  # a report is read elsewhere
    settings = json.loads((out / "settings.json").read_text())
    assert settings["settings"]["sample"]["name"] == "small"
    again = rarewords("-q", "reproduce", "heatmap", "--json", *options)
    found = json.loads(again.stdout)
    assert set(found["results"]) == {"heatmap"}
    assert [claim["part"] for claim in found["claims"]] == ["heatmap"] * 3
    assert again.stderr == ""


def test_mistakes_are_one_line(store, tmp_path):
    common = ["--corpus", store.path, "--out", tmp_path / "x"]
    assert "unknown part 'tables'" in refused("reproduce", "tables", *common)
    assert "unknown sample 'huge'" in refused("reproduce", "--sample", "huge", *common)
    assert "exclude each other" in refused("reproduce", "--quick", "--sample", "tiny", *common)
    assert "no preset 'slow'" in refused("reproduce", "--ota-preset", "slow", *common)
    assert "is not a store" in refused("reproduce", "--corpus", tmp_path, "--out", tmp_path / "x")
    assert "does not exist" in refused("reproduce", "--targets", tmp_path / "none.safetensors", *common)
    (tmp_path / "file").write_text("x")
    assert "is a file" in refused(
        "-q", "reproduce", "--sample", "tiny", "--corpus", store.path, "--out", tmp_path / "file"
    )


def test_helpers_make_stages_ahead(store, tmp_path):
    out = tmp_path / "out"
    options = ["--sample", "tiny", "--corpus", store.path, "--out", out, "--device", "cpu"]
    done = rarewords("reproduce", "methods", "heatmap", "--jobs", 3, *options)
    assert "Made ahead by a helper: methods; its log is" in done.stderr
    assert "helper-2" not in done.stderr  # nothing of the ablation was asked for
    log = (out / "stages" / "helper-1.log").read_text("utf-8")
    assert "Part 1 of 1" in log
    made = log.count(": beginning") + done.stderr.count(": beginning")
    assert made == len(list((out / "stages").glob("*/stage.json")))  # nothing twice
    assert "--jobs 3" in (out / "report.html").read_text("utf-8")
    assert "made by another process" in done.stderr or log.count(": beginning") == 0
    costs = (out / "tables" / "costs.md").read_text("utf-8")
    assert "earlier run" not in costs  # what a helper made was made now


def test_a_helper_ends_when_the_run_is_gone():
    helper = (
        "import os, time; from rarewords.reproduction.side_by_side import end_with; "
        "end_with(os.getppid()); print('ready', flush=True); time.sleep(60)"
    )
    run = (
        "import subprocess, sys; helper = subprocess.Popen([sys.executable, '-c', sys.argv[1]], "
        "stdout=subprocess.PIPE); helper.stdout.readline(); print(helper.pid)"
    )
    done = subprocess.run([sys.executable, "-c", run, helper], capture_output=True, text=True, check=True)
    number = int(done.stdout)
    for _ in range(100):
        try:
            os.kill(number, 0)
        except ProcessLookupError:
            return
        state = Path(f"/proc/{number}/stat")
        if not state.exists() or state.read_text("utf-8").rpartition(")")[2].split()[0] == "Z":
            return  # ended; nobody may have asked how
        time.sleep(0.1)
    raise AssertionError("the helper lives on")
