"""One small real run of all parts with two seeds, made once and looked at by many tests."""

from dataclasses import replace

import pytest

from experiments.paper.run import reproduce
from experiments.paper.settings import QUICK

# As small as it goes: the suite runs it more than once.
SMALL = replace(
    QUICK,
    name="small",
    curve_words=4,
    curve_steps=12,
    cell_entries=1,
    targets=6,
    ota_steps=2,
    contexts=5,
    epochs=(1, 2),
)


@pytest.fixture(scope="session")
def settings():
    return replace(SMALL, seeds=2)


@pytest.fixture(scope="session")
def done(lm, corpus, settings, tmp_path_factory):
    """All parts: the folder, and what was returned."""
    folder = tmp_path_factory.mktemp("all") / "out"
    return folder, reproduce(lm, corpus, folder, settings=settings)
