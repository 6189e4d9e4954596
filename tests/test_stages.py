"""The one mechanism for work that takes long: keyed, locked, whole or not at all."""

import multiprocessing
import os
import signal

import numpy as np
import pytest

from rarewords.errors import InputError
from rarewords.stages import Stages, key_of, require_free, work_beside


def test_a_piece_is_made_once_for_each_key(tmp_path):
    made = []

    def make(value):
        made.append(value)
        return {"value": value}

    stages = Stages(tmp_path)
    for value in (1, 2, 1):
        assert stages.json("number", key_of(value), lambda value=value: make(value)) == {"value": value}
    assert made == [1, 2]
    assert Stages(tmp_path).json("number", key_of(2), lambda: make(3)) == {"value": 2}


def test_arrays_come_back_as_they_were_and_damaged_ones_are_made_again(tmp_path):
    wanted = {"rows": np.arange(6, dtype=np.float32).reshape(2, 3), "counts": np.array([3, 4])}
    stages = Stages(tmp_path)
    for _ in range(2):
        found = stages.arrays("readings", "k", lambda: wanted)
        assert all((found[name] == wanted[name]).all() for name in wanted)
    (path,) = tmp_path.glob("readings-*")
    path.write_bytes(path.read_bytes()[:-5])
    assert (stages.arrays("readings", "k", lambda: wanted)["rows"] == wanted["rows"]).all()


def test_a_stage_that_fails_leaves_nothing_but_its_unfinished_work(tmp_path):
    stages = Stages(tmp_path)

    def fail(target, work):
        work.mkdir()
        (work / "half").write_text("done so far")
        (target / "result").write_text("never seen")
        raise RuntimeError

    def finish(target, work):
        (target / "result").write_text((work / "half").read_text())

    with pytest.raises(RuntimeError):
        stages.folder("Training", {"seed": 0}, fail)
    assert not list(tmp_path.glob("training-*"))
    folder = stages.folder("Training", {"seed": 0}, finish)
    assert (folder / "result").read_text() == "done so far"
    assert [(cost.stage, cost.resumed, cost.reused) for cost in stages.costs.values()] == [
        ("Training", True, False)
    ]
    assert stages.folder("Training", {"seed": 1}, lambda target, _: (target / "x").touch()) != folder


def test_the_work_folder_goes_when_all_is_done_and_stays_when_there_is_something_to_keep(tmp_path):
    out = tmp_path / "taught"
    with work_beside(out) as stages:
        stages.json("words", "k", list)
        with pytest.raises(InputError, match="another process is writing"), work_beside(out):
            pass
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(KeyboardInterrupt), work_beside(out) as stages:
        stages.json("words", stages.json("number", "k", lambda: "k"), _interrupted)
    with work_beside(out) as stages:
        assert list(stages.path.glob("number-*"))
    with pytest.raises(InputError, match="hopeless"), work_beside(out):
        raise InputError("hopeless")
    assert list(tmp_path.iterdir()) == []


def test_an_output_that_is_not_free_is_refused_and_stale_work_removed(tmp_path):
    out = tmp_path / "taught"
    require_free(out)
    (tmp_path / ".taught.work").mkdir()
    (tmp_path / ".taught.work" / "words-k.json").write_text("[]")
    out.mkdir()
    (out / "config.json").write_text("{}")
    with pytest.raises(InputError, match="exists and is not empty"):
        require_free(out)
    assert not (tmp_path / ".taught.work").exists()
    with pytest.raises(InputError, match="is a file"):
        require_free(out / "config.json")


def test_a_folder_that_a_killed_run_had_replaced_is_removed(tmp_path):
    out, aside = tmp_path / "store", tmp_path / ".store.abcdefgh.old"
    (aside / "old").mkdir(parents=True)
    (tmp_path / ".store.abcdefgh.part").mkdir()
    out.mkdir()
    with work_beside(out):
        pass
    assert list(tmp_path.iterdir()) == [out]


def test_a_file_that_a_killed_run_was_writing_is_removed(tmp_path):
    left = tmp_path / ".vectors.safetensors.abcdefgh.part"
    left.mkdir()
    (left / "vectors.safetensors").write_bytes(b"half")
    with work_beside(tmp_path / "vectors.safetensors"):
        pass
    assert list(tmp_path.iterdir()) == []


def _interrupted():
    raise KeyboardInterrupt


def _hold(out, started):
    with work_beside(out) as stages:
        stages.json("words", "k", lambda: [1])
        started.set()
        signal.pause()


def test_a_killed_process_leaves_no_lock(tmp_path):
    context = multiprocessing.get_context("spawn")
    started = context.Event()
    process = context.Process(target=_hold, args=(tmp_path / "out", started))
    process.start()
    assert started.wait(120)
    with pytest.raises(InputError, match="another process"), work_beside(tmp_path / "out"):
        pass
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    with work_beside(tmp_path / "out") as stages:
        assert stages.json("words", "k", lambda: [2]) == [1]
