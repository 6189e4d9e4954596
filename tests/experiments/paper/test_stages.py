"""The stages of the reproduction."""

import pytest

from experiments.paper.stages import Stages


def test_a_stage_that_fails_leaves_nothing_but_its_unfinished_work(tmp_path):
    cache = Stages(tmp_path)

    def fail(target, work):
        work.mkdir()
        (work / "half").write_text("done so far")
        (target / "result").write_text("never seen")
        raise RuntimeError

    def finish(target, work):
        (target / "result").write_text((work / "half").read_text())

    with pytest.raises(RuntimeError):
        cache.folder("Training", {"seed": 0}, fail)
    assert not list(tmp_path.glob("training-*"))
    folder = cache.folder("Training", {"seed": 0}, finish)
    assert (folder / "result").read_text() == "done so far"
    assert cache.folder("Training", {"seed": 1}, lambda target, _: (target / "x").touch()) != folder
