"""``rarewords corpus`` as a user types it, mistakes included."""

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

from rarewords import Corpus
from rarewords._internal.cache import FINISHED_PARTS, workspace
from tests.architectures import real_text, small_model
from tests.cli.run import rarewords, refused
from tests.corpus.conftest import tables


def run(*arguments, **options):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(
        [sys.executable, "-m", "rarewords", *map(str, arguments)],
        capture_output=True, text=True, env=environment, check=False, **options,
    )  # fmt: skip


def call(*arguments):
    """A command in this process; gives what it printed."""
    return rarewords("-q", *arguments).stdout


@pytest.fixture
def text_file(tmp_path):
    (tmp_path / "wikipedia.txt").write_text(real_text(), "utf-8")
    return tmp_path / "wikipedia.txt"


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli")
    (folder / "text.txt").write_text(real_text()[:200_000], "utf-8")
    call("corpus", "build", folder / "text.txt", "--out", folder / "corpus", "--workers", 1)
    return folder / "corpus"


def test_show_prints_count_and_contexts(corpus):
    lines = call("corpus", "show", corpus, "Zero", "--contexts", 4).splitlines()
    assert lines[0].startswith("Zero: ")
    assert len(lines) == 5
    assert all("[zero]" in line.lower() for line in lines[1:])
    shown = json.loads(call("corpus", "show", corpus, "zero", "--contexts", 4, "--json"))
    assert len(shown["contexts"]) == 4
    assert shown["count"] == int(lines[0].split()[1].replace(",", ""))
    assert all(c["sentence"][c["start"] : c["end"]].lower() == "zero" for c in shown["contexts"])
    assert call("corpus", "show", corpus, "nosuchword") == "nosuchword: 0 times\n"
    assert f"{corpus}: " in call("corpus", "show", corpus)
    assert json.loads(call("corpus", "show", corpus, "--json"))["settings"]["window"] == 25


def test_standard_input_and_several_files(corpus, tmp_path):
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
    assert tables(tmp_path / "s") == tables(corpus)


def test_settings_come_from_options_a_file_and_set(tmp_path):
    (tmp_path / "text.txt").write_text("Ελλάδα and Polish shoes\n" * 3, "utf-8")
    (tmp_path / "settings.toml").write_text('window = 3\nwords = "any"\n')
    build = ("corpus", "build", tmp_path / "text.txt", "--out", tmp_path / "s", "--contexts", 2)
    call(*build, "--settings", tmp_path / "settings.toml", "--set", "lower_case=false", "--set", "seed=7")
    corpus = Corpus.open(tmp_path / "s")
    found = corpus.settings
    assert (found.contexts, found.window, found.words, found.lower_case, found.seed) == (2, 3, "any", False, 7)
    assert set(corpus.counts()[0]) == {"Ελλάδα", "and", "Polish", "shoes"}


def test_a_corpus_lower_cases_as_its_model_does(tmp_path):
    (tmp_path / "text.txt").write_text("Polish shoes\n")
    for architecture, kept in (("bert", "polish"), ("roberta", "Polish")):
        for part in small_model(architecture):
            part.save_pretrained(tmp_path / architecture)
        out = tmp_path / f"{architecture}.corpus"
        call("corpus", "build", tmp_path / "text.txt", "--out", out, "--model", tmp_path / architecture)
        assert Corpus.open(out).counts()[0] == sorted([kept, "shoes"])


def test_arguments_are_always_paths(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    refused("missing-file", "corpus", "build", "a text of words", "--out", "s")
    (tmp_path / "my notes.txt").write_text("kumquat")
    call("corpus", "build", "my *.txt", "--out", "s")
    assert Corpus.open("s").counts()[0] == ["kumquat"]


@pytest.mark.parametrize(
    ("code", "arguments"),
    [
        ("missing-file", ["gone.txt", "--out", "s"]),
        ("field", ["a.jsonl", "--field", "txet", "--out", "s"]),
        ("damaged", ["cut.txt.gz", "--out", "s"]),
        ("unreadable", ["empty.txt", "--out", "s"]),
        ("no-text", ["dots.txt", "--out", "s"]),
        ("no-text", ["--out", "s"]),
        ("no-text", ["*.md", "--out", "s"]),
        ("settings", ["a.jsonl", "--out", "s", "--settings", "window.toml"]),
        ("settings", ["a.jsonl", "--out", "s", "--set", "contexts=0"]),
        ("settings", ["a.jsonl", "--out", "s", "--set", "words=all"]),
        ("settings", ["a.jsonl", "--out", "s", "--set", "colour=red"]),
        ("settings", ["a.jsonl", "--out", "s", "--set", "contexts"]),
        ("output", ["a.jsonl", "--out", "taken"]),
        ("output", ["a.jsonl", "--out", "a.jsonl"]),
        ("settings", ["a.jsonl", "--out", "s", "--workers", "99999"]),
    ],
)
def test_mistakes_are_one_line_and_leave_nothing(tmp_path, monkeypatch, code, arguments):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.jsonl").write_text('{"text": "some words"}\n')
    (tmp_path / "empty.txt").touch()
    (tmp_path / "dots.txt").write_text("...\n")
    (tmp_path / "window.toml").write_text("window = 0\n")
    (tmp_path / "cut.txt.gz").write_bytes(gzip.compress(b"some words " * 999)[:-9])
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "file").touch()
    before = sorted(path.name for path in tmp_path.iterdir())
    refused(code, "corpus", "build", "--workers", "1", *arguments)
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_a_number_out_of_its_range_names_the_option():
    assert "--contexts" in rarewords("corpus", "build", "a.txt", "--out", "s", "--contexts", 0, code=2).stderr


def test_a_mistake_exits_with_2_and_says_one_line(tmp_path):
    result = run("corpus", "show", tmp_path, "word")
    assert result.returncode == 2
    assert result.stderr == (f"rarewords: {tmp_path} is not a corpus; make one with rarewords corpus build [corpus]\n")


def test_show_without_a_word_checks_every_file(corpus, tmp_path):
    copy = shutil.copytree(corpus, tmp_path / "copy")
    data = (copy / "sentences.arrow").read_bytes()
    (copy / "sentences.arrow").write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    refused("damaged", "corpus", "show", copy)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_unreadable_file(tmp_path):
    path = tmp_path / "secret.txt"
    path.write_text("words")
    path.chmod(0)
    refused("unreadable", "corpus", "build", path, "--out", tmp_path / "s")


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
        assert result.stderr.endswith("[disk-full]\n")
        assert len(result.stderr.strip().splitlines()) == 1


@pytest.mark.slow
def test_an_interruption_stops_all_processes_and_the_next_start_resumes(tmp_path):
    (tmp_path / "big.txt").write_text(real_text() * 12, "utf-8")
    command = [sys.executable, "-m", "rarewords", "corpus", "build", tmp_path / "big.txt"]
    command += ["--out", tmp_path / "s", "--workers", "2"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(command, env=environment, start_new_session=True, stderr=subprocess.PIPE, text=True)
    while not list((tmp_path / ".s.work").glob(FINISHED_PARTS)):
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
    assert int(re.search(r"Resuming: (\d+) parts are finished", again.stderr)[1]) > 0
    assert (tmp_path / "s" / "corpus.json").exists()


def _group_is_alive(group):
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def test_two_builds_of_one_corpus_at_once_are_refused(text_file, tmp_path):
    with workspace(tmp_path / "s"):
        refused("busy", "corpus", "build", text_file, "--out", tmp_path / "s", "--workers", 1)


def test_a_build_over_a_corpus_leaves_the_work_of_others_alone(corpus, text_file):
    with workspace(corpus) as cache:
        (cache.path / "words.json").touch()
        refused("output", "corpus", "build", text_file, "--out", corpus)
        assert (cache.path / "words.json").exists()
