"""Progress on stderr: lines where there is no terminal, and one bar for work inside other work."""

import re
import time
from contextlib import redirect_stderr
from itertools import pairwise
from types import SimpleNamespace

import pytest

from rarewords import WordLearner, progress
from rarewords.corpus.sources import cut, find_sources
from rarewords.teaching.settings import TeachSettings
from rarewords.teaching.teach import teach
from tests.teaching.invented import hypernyms, sentences_of


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


def test_durations_for_a_reader():
    shown = [progress.duration(seconds) for seconds in (0.4, 59.4, 59.6, 75, 3599.7)]
    assert shown == ["0 s", "59 s", "1 min 0 s", "1 min 15 s", "1 h 0 min"]


def test_silent_unless_asked(capsys):
    progress.enable(False)
    with progress.progress("Counting", total=1) as bar:
        bar.advance(1)
    progress.message("nothing")
    assert capsys.readouterr().err == ""


def test_the_time_left_goes_by_the_work_inside(monkeypatch):
    now = 0.0
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: now))
    with progress.progress("Learning", 4, "words", passes=100) as bar:
        with progress.progress("Reading", 20, "contexts") as inner:
            inner.advance(10)
        assert bar.share == pytest.approx(0.1)
        with progress.progress("Counting") as inner:  # it knows no end, so it says nothing about the whole
            inner.advance(10)
        assert bar.share == pytest.approx(0.1)
        bar.advance(1, passes=40)  # a word was dearer than it seemed, and so are the others
        assert bar.share == pytest.approx(0.4)
        with progress.progress("Reading", 20, "contexts") as inner:
            inner.advance(5)
        assert bar.share == pytest.approx(0.6)


class Work:
    """A clock that goes by the tokens a model reads, not by time, which other processes change."""

    def __init__(self, lm):
        self.tokens = 0
        self.hook = lm._base.register_forward_pre_hook(self._read, with_kwargs=True)

    def _read(self, _, __, given):
        rows, length = given["inputs_embeds"].shape[:2]
        self.tokens += rows * length

    def monotonic(self):
        return self.tokens / 200  # about what one core reads in a second


class Screen:
    """A terminal that notes when it is written to: by the work done, and by the time computed."""

    def __init__(self, work):
        self._work, self.written, self._times = work, [], [time.process_time()]

    def write(self, text):
        self.written.append((self._work.monotonic(), text))
        self._times.append(time.process_time())

    def flush(self):
        pass

    def isatty(self):
        return True

    def gaps(self):
        return [later - earlier for earlier, later in pairwise(self._times)]

    def estimates(self, title):
        """The durations expected, as shares of the true one, each with its place in the work, from 0 to 1."""
        own = [(at, text) for at, text in self.written if title in text]
        start, total = own[0][0], own[-1][0] - own[0][0]
        for at, text in own:
            left = re.search(r"(?:(\d+) min )?(\d+) s left", text)
            if left:
                yield (at - start) / total, (at - start + 60 * int(left[1] or 0) + int(left[2])) / total


def check(monkeypatch, lm, title, work):
    """Progress moves every two seconds, and after a tenth of the work its amount is known within 30 %."""
    clock = Work(lm)
    monkeypatch.setattr(progress, "time", clock)
    try:
        with redirect_stderr(Screen(clock)) as screen:
            work()
    finally:
        clock.hook.remove()
    assert max(screen.gaps()) < 2
    later = [expected for place, expected in screen.estimates(title) if place >= 0.1]
    assert len(later) > 5
    assert later[0] == pytest.approx(1, abs=0.3)


def test_the_progress_of_teaching(lm, tmp_path, monkeypatch):
    words = list(hypernyms())[:10]
    text = tmp_path / "text.txt"
    text.write_text(sentences_of(*words, most=8), "utf-8")
    given = {"words": words, "model": lm, "settings": TeachSettings(keep_all=True), "workers": 1}
    check(monkeypatch, lm, "Learning and judging", lambda: teach([text], tmp_path / "out", **given))


def test_the_progress_of_fitting(lm, store, monkeypatch):
    check(monkeypatch, lm, "Reading", lambda: WordLearner.fit(lm, store, words=50, contexts=4, min_count=4))


def test_a_short_text_is_read_in_small_pieces_and_a_long_one_is_not(tmp_path):
    for size, pieces in ((100, 1), (16 << 20, 16), (100 << 20, 32), (800 << 20, 100)):
        with (tmp_path / "text.txt").open("wb") as stream:
            stream.truncate(size)
        assert len(cut(find_sources([tmp_path / "text.txt"]), 1)) == pieces
