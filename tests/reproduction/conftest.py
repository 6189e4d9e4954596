"""One small real run of all parts, made once and looked at by many tests."""

import pytest

from rarewords.reproduction.run import reproduce
from rarewords.reproduction.settings import ReproduceSettings, Sample

# As the sample "tiny", with less to approximate: the suite runs it more than once.
SMALL = Sample(
    "small",
    ota_words=4,
    ota_iterations=12,
    dev_entries=6,
    test_entries=6,
    smallest_cell=1,
    targets=6,
    averaging_steps=2,
    contexts=5,
    min_count=30,
    copies_max=1,
    epochs=(1, 2),
    drawn=1,
)


@pytest.fixture(scope="session")
def settings():
    return ReproduceSettings(SMALL)


@pytest.fixture(scope="session")
def done(lm, store, settings, tmp_path_factory):
    """All parts: the folder, and what was returned."""
    folder = tmp_path_factory.mktemp("all") / "out"
    return folder, reproduce(lm, store, folder, settings=settings)
