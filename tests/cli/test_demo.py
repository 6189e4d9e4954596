"""The demo: recent words, each from its definition, in a table that fits a terminal."""

import json
import re

import pytest

from tests.cli.run import rarewords

# What each word is, among the first three answers after it was added.
KINDS = {
    "compersion": "happiness",
    "cryptojacking": "theft",
    "femicide": "murder",
    "kombucha": "drink",
    "mpox": "disease",
    "mukbang": "meal",
    "ozempic": "drug",
    "paxlovid": "drug",
    "ransomware": "software",
    "splinternet": "network",
}


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo") / "taught"
    return rarewords("-q", "demo", "--out", folder).stdout, folder


def test_the_demo_fits_a_terminal_and_names_the_next_command(demo):
    lines = demo[0].splitlines()
    assert max(map(len, lines)) <= 80
    assert "a … is a kind of _" in lines
    assert lines[-1].endswith("rarewords teach --glossary FILE --out FOLDER")


def test_the_demo_answers_rightly_for_words_that_it_did_not_know(demo):
    shown, folder = demo
    rows = [line for line in shown.split("after\n")[1].splitlines() if line][1:-1]
    table = {word: (before, after) for word, before, after in (re.split(r" {2,}", row) for row in rows)}
    assert list(table) == [one["word"] for one in json.loads((folder / "teaching.json").read_text("utf-8"))["words"]]
    for word, kind in KINDS.items():
        assert kind in table[word][1].split(", "), word
    assert sum(kind in table[word][0] for word, kind in KINDS.items()) <= 2
