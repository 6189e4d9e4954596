"""A store of real text, built once."""

import gzip

import pytest

from rarewords.corpus.store import Store
from tests.architectures import DATA
from tests.cli.run import rarewords


@pytest.fixture(scope="session")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    (folder / "text.txt").write_bytes(gzip.decompress((DATA / "wikipedia.txt.gz").read_bytes()))
    rarewords(
        "-q", "corpus", "build", "--text", folder / "text.txt", "--out", folder / "store", "--workers", 1
    )
    return Store.open(folder / "store")
