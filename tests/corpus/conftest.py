"""Real text for the corpus tests."""

import gzip
import hashlib
from pathlib import Path

import pytest

DATA = Path(__file__).parent.parent / "data" / "wikipedia.txt.gz"


@pytest.fixture(scope="session")
def wikipedia():
    """A megabyte of encyclopaedic text."""
    return gzip.decompress(DATA.read_bytes()).decode("utf-8")


@pytest.fixture
def text_file(wikipedia, tmp_path):
    """The text as a file."""
    path = tmp_path / "wikipedia.txt"
    path.write_text(wikipedia, "utf-8")
    return path


def digests(corpus):
    """Checksums of all files of a corpus."""
    folder = Path(corpus)
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(folder.iterdir())}


def tables(corpus):
    """Checksums of the Arrow files of a corpus; ``corpus.json`` also holds digests of the files with the text."""
    return {name: digest for name, digest in digests(corpus).items() if name.endswith(".arrow")}
