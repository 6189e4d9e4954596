"""The engine: a lost worker costs only its task."""

import os
import signal

from rarewords.engine import engine_for


def test_the_task_of_a_killed_worker_runs_again(tmp_path):
    with engine_for("local", workers=2) as engine:
        results = dict(engine.map(die_once, [tmp_path / f"mark-{i}" for i in range(6)]))
    assert results == {i: f"mark-{i}" for i in range(6)}


def die_once(mark):
    if mark.name == "mark-2" and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return mark.name
