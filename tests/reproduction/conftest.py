"""One small real run of all parts, made once and looked at by many tests."""

import gzip

import pytest

from rarewords.corpus.store import Store
from rarewords.reproduction.run import reproduce
from rarewords.reproduction.settings import ReproduceSettings, Sample
from tests.architectures import DATA
from tests.cli.run import rarewords

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
def corpus(tmp_path_factory):
    """A store of the megabyte of text that the tests have."""
    folder = tmp_path_factory.mktemp("corpus")
    (folder / "text.txt").write_bytes(gzip.decompress((DATA / "wikipedia.txt.gz").read_bytes()))
    rarewords(
        "-q", "corpus", "build", "--text", folder / "text.txt", "--out", folder / "store", "--workers", 1
    )
    return Store.open(folder / "store")


@pytest.fixture(scope="session")
def settings():
    return ReproduceSettings(SMALL)


@pytest.fixture(scope="session")
def done(lm, corpus, settings, tmp_path_factory):
    """All parts: the folder, and what was returned."""
    folder = tmp_path_factory.mktemp("all") / "out"
    return folder, reproduce(lm, corpus, folder, settings=settings)
