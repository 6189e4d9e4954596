"""The commands as a user types them, mistakes included."""

import gzip
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest
from typer.testing import CliRunner

from rarewords.cli.app import app
from rarewords.errors import InputError
from rarewords.stages import work_beside
from tests.architectures import real_text
from tests.corpus.conftest import tables


def run(*arguments, **options):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(
        [sys.executable, "-m", "rarewords", *map(str, arguments)],
        capture_output=True, text=True, env=environment, check=False, **options,
    )  # fmt: skip


def call(*arguments):
    """A command in this process; gives what it printed."""
    result = CliRunner().invoke(app, ["--quiet", *map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture
def text_file(tmp_path):
    (tmp_path / "wikipedia.txt").write_text(real_text(), "utf-8")
    return tmp_path / "wikipedia.txt"


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli")
    (folder / "text.txt").write_text(real_text()[:200_000], "utf-8")
    call("corpus", "build", folder / "text.txt", "--out", folder / "store", "--workers", 1)
    return folder / "store"


def test_show_prints_count_and_contexts(store):
    lines = call("corpus", "show", store, "Zero", "--contexts", 4).splitlines()
    assert lines[0].startswith("Zero: ")
    assert len(lines) == 5
    assert all("[zero]" in line.lower() for line in lines[1:])
    shown = json.loads(call("corpus", "show", store, "zero", "--contexts", 4, "--json"))
    assert len(shown["contexts"]) == 4
    assert shown["count"] == int(lines[0].split()[1].replace(",", ""))
    assert all(c["sentence"][c["start"] : c["end"]].lower() == "zero" for c in shown["contexts"])
    assert call("corpus", "show", store, "nosuchword") == "nosuchword: 0 times\n"
    assert f"{store}: " in call("corpus", "show", store)
    assert json.loads(call("corpus", "show", store, "--json"))["settings"]["window"] == 25


def test_standard_input_and_several_files(store, tmp_path):
    text = real_text()[:200_000].encode()
    half = text.index(b"\n", 100_000) + 1
    (tmp_path / "a.txt").write_bytes(text[:half])
    (tmp_path / "copy.txt").write_bytes(text[:half])
    command = [sys.executable, "-m", "rarewords", "corpus", "build", "--out", tmp_path / "s", "-"]
    piped = subprocess.run(
        [*command, tmp_path / "a.txt", tmp_path / "copy.txt"],
        input=text[half:], capture_output=True, check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert piped.returncode == 0, piped.stderr
    assert b"copy.txt: its text has already been read" in piped.stderr
    assert tables(tmp_path / "s") == tables(store)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["gone.txt", "--out", "s"], "gone.txt does not exist"),
        (["a.jsonl", "--field", "txet", "--out", "s"], "no field 'txet'; it has 'text'"),
        (["cut.txt.gz", "--out", "s"], "truncated"),
        (["empty.txt", "--out", "s"], "empty.txt is empty"),
        (["dots.txt", "--out", "s"], "the text has no words"),
        (["--out", "s"], "no text given"),
        (
            ["a.jsonl", "--out", "s", "--settings", "window.toml"],
            "window must be at least 1 and at most 1000,",
        ),
        (
            ["a.jsonl", "--out", "s", "--contexts", "0"],
            "contexts must be at least 1 and at most 1000000, not 0",
        ),
        (["a.jsonl", "--out", "s", "--rule", "all"], "rule (--rule) must be english or any"),
        (["a.jsonl", "--out", "taken"], "choose another folder"),
        (["a.jsonl", "--out", "s", "--engine", "spark"], "no engine called 'spark'"),
    ],
)
def test_mistakes_are_one_line_and_leave_nothing(tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.jsonl").write_text('{"text": "some words"}\n')
    (tmp_path / "empty.txt").touch()
    (tmp_path / "dots.txt").write_text("...\n")
    (tmp_path / "window.toml").write_text("window = 0\n")
    (tmp_path / "cut.txt.gz").write_bytes(gzip.compress(b"some words " * 999)[:-9])
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "file").touch()
    before = sorted(path.name for path in tmp_path.iterdir())
    with pytest.raises(InputError) as caught:
        CliRunner().invoke(
            app, ["-q", "corpus", "build", "--workers", "1", *arguments], catch_exceptions=False
        )
    assert message in str(caught.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_a_mistake_exits_with_2_and_says_one_line(tmp_path):
    result = run("corpus", "show", tmp_path, "word")
    assert result.returncode == 2
    assert result.stderr == f"rarewords: {tmp_path} is not a store; make one with rarewords corpus build\n"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_unreadable_file(tmp_path):
    path = tmp_path / "secret.txt"
    path.write_text("words")
    path.chmod(0)
    with pytest.raises(InputError, match="cannot be read"):
        call("corpus", "build", path, "--out", tmp_path / "s")


def _in_small_disk(folder, command):
    return subprocess.run(
        ["unshare", "-rm", "sh", "-c", f"mount -t tmpfs -o size=1m tmpfs {folder} && {command}"],
        capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip


def test_full_disk(text_file, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    if not shutil.which("unshare") or _in_small_disk(disk, "true").returncode:
        pytest.skip("no small disk can be mounted here")
    for workers in (1, 2):
        build = f"{sys.executable} -m rarewords corpus build {text_file} --out {disk}/s"
        result = _in_small_disk(disk, f"{build} --workers {workers}; echo code $?; ls {disk}")
        assert result.stdout.split() == ["code", "2"], result.stderr
        assert "no space left on the disk" in result.stderr
        assert len(result.stderr.strip().splitlines()) == 1


def test_interrupt_stops_everything_and_the_next_start_goes_on(tmp_path):
    (tmp_path / "big.txt").write_text(real_text() * 12, "utf-8")
    command = [sys.executable, "-m", "rarewords", "corpus", "build", tmp_path / "big.txt"]
    command += ["--out", tmp_path / "s", "--workers", "2"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(
        command, env=environment, start_new_session=True, stderr=subprocess.PIPE, text=True
    )
    shards = tmp_path / ".s.work" / "shards"
    while not list(shards.glob("*/done.json")):
        assert process.poll() is None
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate()
    assert process.returncode == 130
    assert "Traceback" not in errors
    assert not (tmp_path / "s").exists()
    while _group_is_alive(process.pid):  # workers must not outlive their parent
        time.sleep(0.05)
    again = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    finished, shards = map(int, re.search(r"Resuming: (\d+) of (\d+) shards", again.stderr).groups())
    assert 0 < finished < shards
    assert (tmp_path / "s" / "store.json").exists()


def _group_is_alive(group):
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def test_two_builds_of_one_store_at_once_are_refused(text_file, tmp_path):
    with work_beside(tmp_path / "s"), pytest.raises(InputError, match="another process is writing"):
        call("corpus", "build", text_file, "--out", tmp_path / "s", "--workers", 1)


def test_a_build_over_a_store_leaves_the_work_of_others_alone(store, text_file):
    with work_beside(store) as stages:
        (stages.path / "piece").touch()
        with pytest.raises(InputError, match="exists and is not empty"):
            call("corpus", "build", text_file, "--out", store)
        assert (stages.path / "piece").exists()
