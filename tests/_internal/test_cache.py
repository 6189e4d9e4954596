"""The cache for long work: keyed by content and code, locked, whole or not at all."""

import multiprocessing
import os
import signal

import numpy as np
import pytest

from rarewords._internal import cache as module
from rarewords._internal.cache import Cache, digest_of, key_of, open_cache, require_free, workspace
from rarewords._internal.files import whole_file
from rarewords.errors import InputError
from tests.errors import refused_with


def test_a_value_is_made_once_for_each_key(tmp_path):
    made = []

    def make(value):
        made.append(value)
        return {"value": value}

    cache = Cache(tmp_path)
    for value in (1, 2, 1):
        assert cache.json("number", key_of(value), lambda value=value: make(value)) == {"value": value}
    assert made == [1, 2]
    assert Cache(tmp_path).json("number", key_of(2), lambda: make(3)) == {"value": 2}


def test_a_key_depends_on_the_code_and_a_digest_does_not(monkeypatch):
    key, digest = key_of("words", 3), digest_of("words", 3)
    assert (key_of("words", 3), digest_of("words", 3)) == (key, digest)
    assert key_of("words", 4) != key
    monkeypatch.setattr(module, "_program", lambda: "another version")
    assert (key_of("words", 3) != key, digest_of("words", 3)) == (True, digest)


def test_the_code_is_all_source_files_of_the_package(tmp_path, monkeypatch):
    package = tmp_path / "package"
    (package / "_internal").mkdir(parents=True)
    (package / "lm.py").write_text("one = 1\n")
    monkeypatch.setattr(module, "__file__", str(package / "_internal" / "cache.py"))
    program = module._program.__wrapped__
    before = program()
    assert program() == before
    (package / "lm.py").write_text("one = 2\n")
    assert program() != before


def test_arrays_come_back_as_they_were_and_damaged_ones_are_made_again(tmp_path):
    wanted = {"rows": np.arange(6, dtype=np.float32).reshape(2, 3), "counts": np.array([3, 4])}
    cache = Cache(tmp_path)
    for _ in range(2):
        found = cache.arrays("readings", "k", lambda: wanted)
        assert all((found[name] == wanted[name]).all() for name in wanted)
    (path,) = tmp_path.glob("readings-*")
    path.write_bytes(path.read_bytes()[:-5])
    assert (cache.arrays("readings", "k", lambda: wanted)["rows"] == wanted["rows"]).all()


def test_the_work_folder_goes_when_all_is_done_and_stays_when_there_is_something_to_keep(tmp_path):
    out = tmp_path / "taught"
    with workspace(out) as cache:
        cache.json("words", "k", list)
        with refused_with("busy"), workspace(out):
            pass
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(KeyboardInterrupt), workspace(out) as cache:
        cache.json("words", cache.json("number", "k", lambda: "k"), _interrupted)
    with workspace(out) as cache:
        assert list(cache.path.glob("number-*"))
    with refused_with("settings"), workspace(out):
        raise InputError("without any work done", code="settings")
    assert list(tmp_path.iterdir()) == []


def test_a_mistake_in_the_input_leaves_no_work_but_that_of_an_earlier_run(tmp_path):
    def fail(code):
        with refused_with(code), workspace(tmp_path / "out") as cache:
            cache.json("words", "k", list)
            raise InputError("this time", code=code)
        return [path.name for path in tmp_path.iterdir()]

    assert fail("nothing-to-teach") == []
    assert fail("embeddings") == []
    assert fail("disk-full") == [".out.work"]
    assert fail("embeddings") == [".out.work"]


def test_a_cache_folder_lasts_and_is_for_one_process_at_a_time(tmp_path):
    with open_cache(tmp_path / "cache") as cache:
        cache.json("words", "k", lambda: [1])
        with refused_with("busy"), open_cache(tmp_path / "cache"):
            pass
    with open_cache(tmp_path / "cache") as cache:
        assert cache.json("words", "k", lambda: [2]) == [1]
    with open_cache(None) as cache:
        assert cache.json("words", "k", lambda: [3]) == [3]
    assert not cache.path.exists()


def test_an_output_that_is_not_free_is_refused_and_stale_work_removed(tmp_path):
    out = tmp_path / "taught"
    require_free(out)
    (tmp_path / ".taught.work").mkdir()
    (tmp_path / ".taught.work" / "words-k.json").write_text("[]")
    out.mkdir()
    (out / "config.json").write_text("{}")
    with refused_with("output"):
        require_free(out)
    assert not (tmp_path / ".taught.work").exists()
    with refused_with("output"):
        require_free(out / "config.json")


def test_a_file_that_a_killed_run_was_writing_is_removed(tmp_path):
    left = tmp_path / ".embeddings.safetensors.abcdefgh.part"
    left.mkdir()
    (left / "embeddings.safetensors").write_bytes(b"half")
    with whole_file(tmp_path / "embeddings.safetensors") as temporary:
        temporary.write_bytes(b"whole")
    assert [path.name for path in tmp_path.iterdir()] == ["embeddings.safetensors"]


def test_a_file_that_is_being_written_is_not_removed(tmp_path):
    target = tmp_path / "embeddings.safetensors"
    with whole_file(target) as first, whole_file(target) as second:
        second.write_bytes(b"second")
        first.write_bytes(b"first")
    assert target.read_bytes() == b"first"
    assert list(tmp_path.iterdir()) == [target]


def _interrupted():
    raise KeyboardInterrupt


def _hold(out, started):
    with workspace(out) as cache:
        cache.json("words", "k", lambda: [1])
        started.set()
        signal.pause()


def test_a_killed_process_leaves_no_lock(tmp_path):
    context = multiprocessing.get_context("spawn")
    started = context.Event()
    process = context.Process(target=_hold, args=(tmp_path / "out", started))
    process.start()
    assert started.wait(120)
    with refused_with("busy"), workspace(tmp_path / "out"):
        pass
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    with workspace(tmp_path / "out") as cache:
        assert cache.json("words", "k", lambda: [2]) == [1]
