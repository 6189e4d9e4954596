"""Killed, run twice at once or out of disk: the same command ends with the same files and leaves no others."""

import pytest

from tests import faults
from tests.fuzz.bench import Bench

pytestmark = pytest.mark.slow
CHEAP = ("corpus build", "ota", "mimic train")


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    return faults.prepare(Bench(tmp_path_factory.mktemp("bench")))


@pytest.fixture(scope="module")
def whole(bench, tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    return {name: faults.undisturbed(name, bench, folder / name.replace(" ", "-")) for name in CHEAP}


@pytest.mark.parametrize("name", CHEAP)
def test_killed_at_random_moments(bench, whole, tmp_path, name):
    for number, moment in enumerate(faults.moments(2)):
        faults.killed_then_resumed(name, bench, tmp_path / str(number), whole[name], moment)


@pytest.mark.parametrize("name", CHEAP)
def test_two_processes_on_one_output(bench, whole, tmp_path, name):
    faults.two_at_once(name, bench, tmp_path / "both", whole[name])


@pytest.mark.parametrize("name", CHEAP)
def test_no_space_for_a_file(bench, whole, tmp_path, name):
    assert faults.out_of_disk(name, bench, tmp_path / "full", whole[name], 1_000)
