"""Progress on stderr: silent unless asked, lines where there is no terminal, a bar where there is one."""

import logging
from io import StringIO

import pytest
from rich.console import Console

import rarewords
from rarewords._internal import progress


@pytest.fixture(autouse=True)
def silent():
    """As a program begins, whatever a command line that another test ran has enabled."""
    progress.enable(False)


@pytest.fixture
def enabled(monkeypatch):
    """Progress is shown, and no line is left out because the last one is too recent."""
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN_LINES", 0.0)
    monkeypatch.setattr(progress, "_SECONDS_WORTH_A_LINE", 0.0)
    progress.enable()
    yield
    progress.enable(False)


@pytest.fixture
def terminal(enabled, monkeypatch):  # noqa: ARG001 - enabled first
    """What a terminal shows, escape sequences included."""
    screen = StringIO()
    monkeypatch.setattr(progress, "_console", Console(file=screen, force_terminal=True, width=100))
    return screen


def count(number=4, title="Counting"):
    with progress.progress(title, total=number, unit="files") as bar:
        for _ in range(number):
            bar.advance()


def test_silent_unless_enabled(capsys):
    count()
    progress.message("nothing")
    assert capsys.readouterr() == ("", "")


def test_messages_go_to_the_logger_of_the_library(caplog):
    with caplog.at_level(logging.INFO, logger="rarewords"):
        progress.message("done")
    assert [(one.name, one.getMessage()) for one in caplog.records] == [("rarewords", "done")]


@pytest.mark.usefixtures("enabled")
def test_messages_go_to_stderr_uncut_and_without_markup(capsys):
    text = "[bold]" + "word " * 60 + "end"
    progress.message(text)
    assert capsys.readouterr() == ("", text + "\n")


@pytest.mark.usefixtures("enabled")
def test_lines_say_what_is_done_and_left(capsys):
    count()
    *lines, last = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("Counting: 1 of 4 files, ")
    assert all(line.endswith(" left") for line in lines)
    assert last.startswith("Counting: 4 of 4 files, ")
    assert last.endswith(" in all")


@pytest.mark.usefixtures("enabled")
def test_work_inside_other_work_prints_no_lines(capsys):
    with progress.progress("Outer", total=1) as bar:
        count(title="Inner")
        bar.advance()
    lines = capsys.readouterr().err.splitlines()
    assert lines
    assert all(line.startswith("Outer: ") for line in lines)


@pytest.mark.usefixtures("enabled")
def test_after_an_error_the_next_work_stands_alone(capsys):
    with pytest.raises(ZeroDivisionError), progress.progress("Outer", total=1), progress.progress("Inner", total=1):
        _ = 1 / 0
    count(title="Next")
    lines = capsys.readouterr().err.splitlines()
    assert lines
    assert all(line.startswith("Next: ") for line in lines)


def test_a_terminal_shows_a_bar_for_each_work_and_none_at_the_end(terminal, capsys):
    with progress.progress("Outer", total=2, unit="words") as bar:
        count(title="Inner")
        progress._live.refresh()
        bar.advance()
        progress._live.refresh()
    shown = terminal.getvalue()
    assert "Inner" in shown
    assert "1 of 2 words" in shown
    assert progress._live is None
    assert capsys.readouterr().err == ""  # no lines between the bars


def test_the_bar_goes_when_the_work_fails(terminal):
    with pytest.raises(ZeroDivisionError), progress.progress("Outer", total=2):
        _ = 1 / 0
    *_, last = terminal.getvalue().split("\x1b[2K")  # which erases a line
    assert "Outer" not in last
    assert progress._live is None


def test_work_of_unknown_size_has_no_time_left():
    with progress.progress("Counting") as bar:
        bar.advance()
        assert bar.line().startswith("Counting: 1")
        assert "left" not in bar.line()


def test_durations_for_people():
    shown = [progress.duration(seconds) for seconds in (0.4, 59.4, 59.6, 75, 3599.7)]
    assert shown == ["0 s", "59 s", "1 min 0 s", "1 min 15 s", "1 h 0 min"]


@pytest.mark.usefixtures("enabled")
def test_real_work_tells_how_far_it_is(lm, capsys, monkeypatch):
    monkeypatch.setattr("rarewords.lm._TOKENS_ON_CPU", 30)
    lm.fill([rarewords.Query(f"{'very ' * (number % 5)}big is a _ .") for number in range(30)], top_k=1)
    lines = [line for line in capsys.readouterr().err.splitlines() if line.endswith(" left")]
    done = [int(line.removeprefix("Filling blanks: ").split(" of 30 queries")[0]) for line in lines]
    assert done == sorted(done)
    assert len(done) > 5
    assert done[-1] == 30
