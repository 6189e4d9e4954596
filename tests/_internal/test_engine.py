"""Processes: a lost worker is no traceback, and a mistake in a worker comes back as one line."""

import os
import signal

import pytest

from rarewords._internal.engine import processes
from rarewords.errors import InputError
from tests.errors import refused_with


@pytest.mark.slow
def test_a_killed_worker_ends_the_work_with_a_mistake_that_can_be_resumed():
    with refused_with("memory"), processes(2) as in_processes:
        list(in_processes(die, range(6)))


def die(number):
    if number == 2:
        os.kill(os.getpid(), signal.SIGKILL)


def test_results_and_mistakes_come_back_from_other_processes():
    with processes(2) as in_processes:
        found = dict(in_processes(where, range(6)))
        assert set(found) == set(range(6))
        assert os.getpid() not in found.values()
        with refused_with("word"):
            list(in_processes(refuse, range(2)))


def where(_):
    return os.getpid()


def refuse(number):
    raise InputError(f"{number} is no word", code="word")


@pytest.mark.parametrize("workers", [0, -1, 10**9])
def test_an_impossible_number_of_workers_is_refused(workers):
    with refused_with("settings"), processes(workers):
        pass
