"""Killed, run twice at once or out of disk: the same command ends with the same files and leaves no others.

The suite kills each command a few times; ``RAREWORDS_KILLS=50`` kills it so often.
"""

import itertools
import os

import pytest

from tests import faults
from tests.fuzz.bench import Bench

pytestmark = pytest.mark.slow
CHEAP = ("corpus build", "ota", "mimic train", "inject", "forget")
LOCKED = ("corpus build", "ota", "mimic train")  # which keep finished work beside the output
KILLS = int(os.environ.get("RAREWORDS_KILLS", "2"))


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    return faults.prepare(Bench(tmp_path_factory.mktemp("bench")))


@pytest.fixture(scope="module")
def whole(bench, tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    return {name: faults.undisturbed(name, bench, folder / name.replace(" ", "-")) for name in CHEAP}


@pytest.mark.parametrize("name", CHEAP)
def test_killed_at_random_moments(bench, whole, tmp_path, name):
    for number, moment in enumerate(faults.moments(KILLS)):
        for attempt in itertools.count():
            place = tmp_path / f"{number}-{attempt}"
            if faults.killed_then_resumed(name, bench, place, whole[name], moment * 0.8**attempt):
                break  # otherwise the command ended before the kill came


@pytest.mark.parametrize("name", LOCKED)
def test_two_processes_on_one_output(bench, whole, tmp_path, name):
    faults.two_at_once(name, bench, tmp_path / "both", whole[name])


@pytest.mark.parametrize("name", CHEAP)
def test_no_space_for_a_file(bench, whole, tmp_path, name):
    assert faults.out_of_disk(name, bench, tmp_path / "full", whole[name], 1_000)
