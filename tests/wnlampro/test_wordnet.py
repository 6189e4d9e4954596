"""Where WordNet's files are found, and what is said if they are not."""

import pytest

from rarewords.wnlampro.builder import open_wordnet
from tests.errors import refused_with


def test_wordnet_reads_debians_files_without_their_lexnames(wordnet):
    assert [synset.name() for synset in wordnet.synsets("kumquat", "n")] == ["kumquat.n.01", "kumquat.n.02"]
    assert wordnet.get_version() == "3.0"


def test_a_folder_that_is_not_wordnet(tmp_path):
    pytest.importorskip("nltk")
    with refused_with("wnlampro"):
        open_wordnet(tmp_path)


def test_the_error_says_where_to_get_wordnet(tmp_path, monkeypatch):
    nltk = pytest.importorskip("nltk")
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    monkeypatch.setattr("rarewords.wnlampro.builder.DEBIAN_FOLDER", tmp_path / "none")
    with refused_with("wnlampro") as caught:
        open_wordnet()
    assert "nltk.downloader wordnet" in str(caught.value)
    assert "apt install wordnet-base" in str(caught.value)
