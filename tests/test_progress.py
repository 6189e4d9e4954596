"""Progress on stderr: lines where there is no terminal, and one bar for work inside other work."""

import pytest

from rarewords import progress


@pytest.fixture(autouse=True)
def shown(monkeypatch):
    for name in ("_SECONDS_BETWEEN_LINES", "_SECONDS_WORTH_A_LINE", "_SECONDS_BETWEEN_NOTES"):
        monkeypatch.setattr(progress, name, 0.0)
    progress.enable()
    yield
    progress.enable(False)


def test_lines_say_what_is_done_and_left(capsys):
    with progress.progress("Counting", total=4, unit="files") as bar:
        bar.advance(1)
    first, last = capsys.readouterr().err.splitlines()
    assert first.startswith("Counting: 1 of 4 files, ")
    assert first.endswith("left")
    assert last.endswith("in all")


def test_work_inside_other_work_is_a_remark(capsys):
    with progress.progress("Learning", total=2, unit="words") as outer:
        with progress.progress("Reading", total=8, unit="contexts") as inner:
            inner.advance(3)
        outer.advance(1)
    lines = capsys.readouterr().err.splitlines()
    assert all(line.startswith("Learning: ") for line in lines)
    assert lines[0].endswith("reading 3 of 8 contexts")
    assert "reading" not in lines[-1]


def test_after_an_error_inside_the_next_bar_stands_alone(capsys):
    def broken():
        with progress.progress("Outer", total=1), progress.progress("Inner", total=1):
            raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        broken()
    with progress.progress("Next", total=1) as bar:
        bar.advance(1)
    assert "Next: 1 of 1" in capsys.readouterr().err


def test_silent_unless_asked(capsys):
    progress.enable(False)
    with progress.progress("Counting", total=1) as bar:
        bar.advance(1)
    progress.message("nothing")
    assert capsys.readouterr().err == ""
