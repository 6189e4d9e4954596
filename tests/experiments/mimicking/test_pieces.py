"""The pieces of both parts."""

import pickle
from types import SimpleNamespace

import pytest

from experiments.mimicking import pieces
from experiments.mimicking.report import RESULTS
from experiments.mimicking.study import Size
from experiments.mimicking.table import WAYS
from rarewords._internal.files import read_json


class AnyStudy(SimpleNamespace):
    """A study whose methods do nothing."""

    def __getattr__(self, _):
        return print


@pytest.mark.parametrize("part", ["table", "factorial"])
def test_what_a_piece_needs_is_a_piece_before_it(part):
    made = list(pieces.jobs(AnyStudy(size=Size()), part).values())
    for place, job in enumerate(made):
        assert set(job.needs) <= {one.name for one in made[:place]}, job.name


def test_the_table_has_every_way_with_each_seed():
    names = set(pieces.jobs(AnyStudy(size=Size()), "table"))
    assert {f"test-{way}-{seed}" for way in ("paper", "paper-am", "bertram") for seed in Size().seeds} <= names
    assert {"subwords-test", "token-distillation", "ota", "test-learner-0"} <= names
    asked = {row["setting"] for row in read_json(RESULTS / "table-gte-mlm.json")["rows"] if row["part"] == "sampled"}
    assert asked <= set(WAYS)


def test_another_process_can_be_told_what_to_do():
    assert pickle.loads(pickle.dumps(pieces.work)) is pieces.work
