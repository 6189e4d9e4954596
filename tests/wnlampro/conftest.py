"""Real counts, real WordNet, and a few hundred real entries that every relation has a share of."""

import gzip
import re
from collections import Counter
from pathlib import Path

import pytest

from rarewords import InputError
from rarewords.wnlampro.dataset import load

TEXT = Path(__file__).parent.parent / "data" / "wikipedia.txt.gz"


@pytest.fixture(scope="session")
def wordnet():
    from rarewords.wnlampro.builder import open_wordnet

    try:
        return open_wordnet()
    except InputError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def counts():
    with gzip.open(TEXT, "rt", encoding="utf-8") as lines:
        return Counter(word for line in lines for word in re.findall(r"[a-z]+(?:-[a-z]+)*", line.lower()))


@pytest.fixture(scope="session")
def bundled():
    return load()
