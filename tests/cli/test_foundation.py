"""The commands of the foundation, run as processes: what they print, and what they say of mistakes."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rarewords import WordVectors, __version__
from rarewords.models import bundled_model
from rarewords.probe.dataset import Dataset
from rarewords.vectors import read_words
from tests.cli.run import rarewords, refused


@pytest.fixture
def vectors(tmp_path):
    path = tmp_path / "v.safetensors"
    WordVectors(["kumquat", "salsify"], np.full((2, 384), 0.01, dtype=np.float32)).save(path)
    return path


def test_help_and_version_answer_without_loading_torch():
    assert rarewords("--version").stdout.strip() == __version__
    shown = rarewords("--help").stdout
    for command in ("ask", "inject", "demo"):
        assert command in shown
    slow = ("torch", "transformers", "pyarrow", "scipy")
    code = f"import sys; import rarewords.cli.app; sys.exit(any(one in sys.modules for one in {slow}))"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_real_process_prints_one_line_and_exits_with_2():
    command = [sys.executable, "-m", "rarewords", "ask", "no blank here"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("rarewords: a pattern needs one _")
    assert done.stderr.count("\n") == 1


def test_ask_answers_in_text_and_json():
    assert "bike" in rarewords("ask", "a bicycle is a _ .").stdout
    answer = json.loads(rarewords("ask", "a bicycle is a _ .", "--json", "--top", "3").stdout)
    assert len(answer[0]["answers"]) == 3
    assert 0 < answer[0]["answers"][0]["probability"] <= 1


def test_ask_takes_the_blank_of_any_model():
    sentences = ("a bicycle is a _ .", "a bicycle is a [MASK] .", "a bicycle is a <mask> .")
    lines = rarewords("ask", *sentences).stdout.splitlines()
    assert len({line.split("  ->  ")[1] for line in lines}) == 1
    assert [line.split("  ->  ")[0] for line in lines] == list(sentences)
    assert "a pattern needs one _" in refused("ask", "a _ is a [MASK] .")


def test_quiet_may_stand_anywhere(tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("The kumquat is a fruit . A kumquat grows on a tree .")
    rarewords("corpus", "build", text, "--out", tmp_path / "store", "--workers", 1)
    again = ("corpus", "add", tmp_path / "store", text)
    assert "Skipping" in rarewords(*again).stderr
    for command in (("-q", *again), ("corpus", "-q", *again[1:]), (*again, "--quiet")):
        assert "Skipping" not in rarewords(*command).stderr
    assert "-q does not exist" in refused("scan", "--", "-q")


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The demo, run once with some of its words: what it prints, and its folder."""
    folder = tmp_path_factory.mktemp("demo") / "taught"
    some = ("kumquat", "dandelion", "persimmon", "rattan", "tracer", "unicycle")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "rarewords.cli.demo.read_words", lambda path: [one for one in read_words(path) if one in some]
        )
        patch.setattr("rarewords.cli.demo._SHOWN", 3)
        return rarewords("-q", "demo", "--out", folder).stdout, folder


def test_the_demo_fits_a_terminal_states_its_rule_and_names_the_next_command(demo):
    lines = demo[0].splitlines()
    assert max(map(len, lines)) <= 80
    assert "(kumquat: ku ##m ##qua ##t)" in lines[0]
    assert "at most 20 sentences of Wikipedia each" in lines[1]
    assert "a … is a kind of _      (* right by WordNet; 1 word in 2, by the alphabet)" in lines
    assert lines[-1].endswith("rarewords teach FILES --out FOLDER")


def test_the_demo_shows_its_words_by_the_rule_and_marks_right_answers(demo):
    shown, folder = demo
    report = json.loads((folder / "teaching.json").read_text("utf-8"))
    kept, worse = ({one["word"]: one for one in report[kind]} for kind in ("words", "worse"))
    assert len(kept) > len(worse)
    table = shown.split("after\n")[1].split("\n\n")[0]
    rows = [(line[:13].strip(), line[13:44].strip(), line[44:]) for line in table.splitlines()]
    assert [word for word, _, _ in rows] == sorted({**kept, **worse})[::2]
    assert any(after != "left alone" for _, _, after in rows)
    right = {}
    for entry in Dataset.load():
        if entry.relation == "hypernym":
            right.setdefault(entry.word.text, set()).update(target.text for target in entry.targets)

    def marked(word, answers):
        return ", ".join(f"{one}*" if one in right.get(word, ()) else one for one in answers[:3])

    for word, before, after in rows:
        assert before == marked(word, {**kept, **worse}[word]["before"])
        assert after == (marked(word, kept[word]["after"]) if word in kept else "left alone")
    assert table.count("*") > 2
    assert f"{len(kept)} words taught, {len(worse)} left alone because no gain is expected" in shown


def test_the_demo_gives_the_mrr_of_all_its_words_and_it_rises(demo):
    shown, folder = demo
    report = json.loads((folder / "teaching.json").read_text("utf-8"))
    words = len(report["words"]) + len(report["worse"])
    said = re.search(rf"all {words} words: ([\d.]+) before, ([\d.]+) after", shown)
    before, after = map(float, said.groups())
    assert after > before + 0.05
    # Words left alone count in the demo's figures and are the same before and after.
    taught = report["wnlampro"]["scores"][-1]
    assert taught["after"] - taught["before"] >= after - before - 0.002


def test_inject_makes_a_folder_and_takes_word2vec_text_too(tmp_path, vectors):
    done = json.loads(rarewords("inject", "--vectors", vectors, "--out", tmp_path / "a", "--json").stdout)
    assert done["ids"] == {"kumquat": 30522, "salsify": 30523}
    WordVectors.load(vectors).save_word2vec(tmp_path / "v.txt")
    rarewords("inject", "--vectors", tmp_path / "v.txt", "--out", tmp_path / "b")
    assert (tmp_path / "a" / "model.safetensors").read_bytes() == (
        tmp_path / "b" / "model.safetensors"
    ).read_bytes()
    shown = rarewords("ask", "a kumquat is a _ .", "--model", tmp_path / "b")
    assert shown.stdout.startswith("a kumquat is a _ .")


def test_mistakes_are_one_line_and_exit_code_2(tmp_path):
    out = tmp_path / "out"
    assert "does not exist" in refused("ask", "a _ .", "--model", tmp_path / "missing")
    assert "no config.json" in refused("ask", "a _ .", "--model", tmp_path)
    assert "one _ that stands alone" in refused("ask", "no blank here")
    assert "unknown device" in refused("ask", "a _ .", "--device", "abacus")
    assert "nothing.safetensors does not exist" in refused(
        "inject", "--vectors", tmp_path / "nothing.safetensors", "--out", out
    )
    WordVectors(["kumquat"], np.ones((1, 3), dtype=np.float32)).save(tmp_path / "small")
    assert "size 3, but the model takes size 384" in refused(
        "inject", "--vectors", tmp_path / "small", "--out", out
    )
    (tmp_path / "nan.txt").write_text("kumquat " + " ".join(["nan"] * 384) + "\n")
    assert "NaN or infinite" in refused("inject", "--vectors", tmp_path / "nan.txt", "--out", out)
    row = " ".join(["0.1"] * 384)
    (tmp_path / "twice.txt").write_text(f"kumquat {row}\nkumquat {row}\n")
    assert "given twice" in refused("inject", "--vectors", tmp_path / "twice.txt", "--out", out)
    (tmp_path / "known.txt").write_text(f"world {row}\n")
    assert "has a token for 'world' already" in refused(
        "inject", "--vectors", tmp_path / "known.txt", "--out", out
    )
    assert not out.exists()
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_wrong_options_are_one_line_that_names_the_help():
    assert "No such option" in refused("ask", "a _ .", "--colour", "red")
    assert "rarewords inject --help" in refused("inject")
    assert "No such command" in refused("tech")
    assert "--top" in refused("ask", "a _ .", "--top", "many")


def test_an_interruption_says_so_and_exits_with_130():
    command = [sys.executable, "-m", "rarewords", "-q", "corpus", "build", "-", "--out", "never"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    process.stdin.write("text " * 100_000)  # more than a pipe holds: this returns once the program reads it
    process.stdin.flush()
    process.send_signal(signal.SIGINT)
    _, said = process.communicate()
    assert process.returncode == 130
    assert "rarewords: interrupted" in said
    assert not Path("never").exists()


def test_a_target_that_is_not_free_is_refused_and_left_alone(tmp_path, vectors):
    out = tmp_path / "out"
    out.mkdir()
    (out / "mine").write_text("keep")
    assert "not empty" in refused("inject", "--vectors", vectors, "--out", out)
    assert (out / "mine").read_text() == "keep"
    assert "is a file" in refused("inject", "--vectors", vectors, "--out", vectors)
    assert "cannot be written: File exists; choose another place" in refused(
        "inject", "--vectors", vectors, "--out", vectors / "x"
    )


@pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("mount"), reason="needs root to mount a small file system"
)
def test_a_full_disk_and_a_read_only_one_are_one_line_and_leave_nothing(tmp_path, vectors, monkeypatch):
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(small)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("this machine does not let the test mount a small file system")
    try:
        assert "no space left" in refused("inject", "--vectors", vectors, "--out", small / "out")
        assert list(small.iterdir()) == []
        monkeypatch.setenv("RAREWORDS_CACHE", str(small / "cache"))
        assert "no space left" in refused("ask", "a _ .")
        monkeypatch.undo()
        left = [
            path
            for path in (small / "cache" / "models").rglob("*")
            if path.is_file() and path.suffix != ".lock"
        ]
        assert left == []
        subprocess.run(["mount", "-o", "remount,ro", str(small)], check=True)
        assert "cannot be written" in refused("inject", "--vectors", vectors, "--out", small / "new" / "out")
    finally:
        subprocess.run(["umount", str(small)], check=True)


def test_a_damaged_cache_is_mended_on_the_way(tmp_path, monkeypatch):
    monkeypatch.setenv("RAREWORDS_CACHE", str(tmp_path))
    rarewords("ask", "a _ .")
    weights = next(tmp_path.rglob("model.safetensors"))
    assert weights.parent.name == bundled_model().name
    weights.write_bytes(weights.read_bytes()[: 1 << 20])
    assert rarewords("ask", "a bicycle is a _ .").stdout
    assert weights.stat().st_size > 80_000_000
