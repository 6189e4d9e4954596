"""Reading in bfloat16: where it is done, and that a reading hardly moves."""

import pytest
import torch

from rarewords import arithmetic
from rarewords.arithmetic import reading_type
from rarewords.learner.expected import read
from rarewords.learner.known_words import KnownWords
from rarewords.learner.masked import contexts_of_sentences


@pytest.fixture
def fresh(monkeypatch, tmp_path):
    """A machine on which nothing was tried yet."""
    monkeypatch.setenv("RAREWORDS_CACHE", str(tmp_path))
    arithmetic._fast_on_cpu.cache_clear()
    yield tmp_path
    arithmetic._fast_on_cpu.cache_clear()


def test_what_was_found_out_is_kept_for_the_next_program(fresh, monkeypatch):
    first = reading_type(torch.device("cpu"))
    monkeypatch.setattr(arithmetic, "_speed", lambda: pytest.fail("tried again"))
    arithmetic._fast_on_cpu.cache_clear()
    assert reading_type(torch.device("cpu")) == first
    assert (first == torch.bfloat16) <= any(fresh.rglob("speed-*.json"))


def test_a_processor_that_refuses_reads_in_float32(monkeypatch):
    assert arithmetic._speed() > 0
    monkeypatch.setattr(arithmetic, "_PROBE", "import os; os.abort()")
    assert arithmetic._speed() == 0


def test_a_reading_moves_less_than_one_context_differs_from_the_next(lm, monkeypatch):
    sentences = [("kumquat", "She peeled a kumquat and ate it."), ("kumquat", "The kumquat tree was in bloom.")]
    known, masked = KnownWords.of(lm), contexts_of_sentences(lm.tokens, sentences)
    monkeypatch.setattr("rarewords.network.reading_type", lambda _: torch.float32)
    exact = read(lm, known, masked)
    monkeypatch.setattr("rarewords.network.reading_type", lambda _: torch.bfloat16)
    moved = (read(lm, known, masked) - exact).norm(dim=1)
    assert 0 < moved.max() < 0.1 * (exact[0] - exact[1]).norm()
