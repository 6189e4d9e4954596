"""The command line itself: how it reports mistakes, interruptions and full disks."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rarewords import WordEmbeddings, __version__
from rarewords.cli.options import table
from rarewords.models import bundled_model
from tests.cli.run import rarewords, refused


def test_help_and_version_answer_without_loading_torch():
    assert rarewords("--version").stdout.strip() == __version__
    shown = rarewords("--help").stdout
    for command in ("ask", "inject", "demo"):
        assert command in shown
    slow = ("torch", "transformers", "pyarrow", "huggingface_hub")
    code = f"import sys; import rarewords.cli.app; sys.exit(any(one in sys.modules for one in {slow}))"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_real_process_prints_one_line_and_exits_with_2():
    command = [sys.executable, "-m", "rarewords", "ask", "no blank here"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("rarewords: a pattern needs one _")
    assert done.stderr.endswith(" [pattern]\n")
    assert done.stderr.count("\n") == 1


def test_quiet_may_stand_anywhere(tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("The kumquat is a fruit . A kumquat grows on a tree .")
    command = ("build", text, text.with_name("copy.txt"), "--workers", 1, "--out")
    text.with_name("copy.txt").write_bytes(text.read_bytes())
    assert "Skipping" in rarewords("corpus", *command, tmp_path / "said").stderr
    for number, given in enumerate((("-q", "corpus", *command), ("corpus", "-q", *command))):
        assert rarewords(*given, tmp_path / str(number)).stderr == ""
    assert rarewords("corpus", *command, tmp_path / "last", "--quiet").stderr == ""
    assert "-q does not exist" in refused("missing-file", "scan", "--", "-q")


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (("ask", "a _ .", "--colour", "red"), "No such option"),
        (("inject",), "rarewords inject --help"),
        (("tech",), "No such command"),
        (("ask", "a _ .", "--top", "many"), "--top"),
        (("ask", "a _ .", "--top", "0"), "--top"),
        (("inject", "--placement", "beside", "--embeddings", "a", "--out", "b"), "--placement"),
        (
            ("teach", "--placement", "beside"),
            "'--placement': 'beside' is not one of 'append', 'replace' (see rarewords",
        ),
    ],
)
def test_wrong_options_are_one_line_that_names_the_help(command, says):
    (line,) = rarewords(*command, code=2).stderr.splitlines()
    assert says in line
    assert line.endswith("--help)")


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


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("mount"), reason="needs root to mount a small file system")
def test_a_full_disk_and_a_read_only_one_are_one_line_and_leave_nothing(tmp_path, monkeypatch):
    embeddings = tmp_path / "v.safetensors"
    WordEmbeddings(["kumquat"], np.full((1, 384), 0.01, dtype=np.float32)).save(embeddings)
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(small)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("this machine does not let the test mount a small file system")
    try:
        refused("disk-full", "inject", "--embeddings", embeddings, "--out", small / "out")
        assert list(small.iterdir()) == []
        monkeypatch.setenv("RAREWORDS_CACHE", str(small / "cache"))
        refused("disk-full", "ask", "a _ .")
        monkeypatch.undo()
        left = [path for path in (small / "cache" / "models").rglob("*") if path.is_file() and path.suffix != ".lock"]
        assert left == []
        subprocess.run(["mount", "-o", "remount,ro", str(small)], check=True)
        refused("output", "inject", "--embeddings", embeddings, "--out", small / "new" / "out")
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


@pytest.mark.parametrize("terminal", [True, False])
def test_a_table_fits_a_terminal_and_keeps_a_word_on_one_line_in_a_pipe(terminal, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal, raising=False)
    rows = [("kumquat", "1,204", "a small orange fruit " * 6), ("漢字", "7", "a\x1b[2J b [red] :apple:")]
    header, line, *shown = table(("word", "count", "meaning"), rows, numbers=("count",))
    assert (max(map(len, [header, line, *shown])) <= 80) is terminal
    assert (len(shown) > len(rows)) is terminal
    assert shown[0].startswith("kumquat   1,204   a small orange fruit")
    assert shown[-1] == r"漢字          7   a\x1b[2J b [red] :apple:"  # two columns for each sign
