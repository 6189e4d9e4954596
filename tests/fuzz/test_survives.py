"""What fuzzing must notice, tried with commands that do it."""

import sys
import tempfile
from pathlib import Path

import pytest

from tests.fuzz import bench
from tests.fuzz.tally import FindingError, Tally


def _refuse():
    sys.stderr.write("rarewords: this input is refused [test]\n")
    sys.exit(2)


def _crash():
    raise KeyError("name")


def _write_beside():
    (Path(sys.argv[-1]).parents[2] / "victim").touch()
    sys.exit(0)


def _change():
    Path(sys.argv[-1]).with_name("model").write_text("other")
    _refuse()


def _leave_work():
    Path(sys.argv[-1]).with_name(".out.work").mkdir()
    sys.exit(0)


def _leave_output():
    Path(sys.argv[-1]).mkdir()
    _refuse()


def _leave_temporary():
    tempfile.mkdtemp()
    _refuse()


def _say_much():
    sys.stderr.write("WARNING: something\n")
    _refuse()


@pytest.fixture
def place(tmp_path):
    folder = tmp_path / "bench" / "place"
    folder.mkdir(parents=True)
    (folder / "model").write_text("good")
    return folder


@pytest.mark.parametrize(
    ("command", "sort"),
    [
        (_crash, "traceback"), (_write_beside, "outside"), (_change, "outside"), (_leave_work, "left"),
        (_leave_output, "left"), (_leave_temporary, "left"), (_say_much, "other"), (_refuse, None),
    ],
)  # fmt: skip
def test_every_fault_is_found_and_counted(command, sort, place, monkeypatch):
    tally = Tally()
    monkeypatch.setattr(bench, "main", command)
    monkeypatch.setattr(bench, "tally", tally)

    def survive():
        bench.survives(place, "ask", "--out", place / "out")

    tally.counting("test", survive, go_on=True)()
    one = tally.kinds["test"]
    assert (one.inputs, dict(one.findings)) == (1, {sort: 1} if sort else {})
    assert f"1 inputs, 0 of them model folders; {one.refused} commands refused; " in tally.summary()


def test_a_finding_of_the_suite_is_an_error(place, monkeypatch):
    monkeypatch.setattr(bench, "main", _crash)
    with pytest.raises(FindingError, match="KeyError: 'name'"):
        bench.survives(place, "ask")
