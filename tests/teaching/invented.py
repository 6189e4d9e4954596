"""The invented words of tests/data/invented."""

from tests.architectures import DATA

FOLDER = DATA / "invented"


def sentences_of(*words):
    """All sentences of some words, as a text."""
    lines = (FOLDER / "text.txt").read_text("utf-8").splitlines()
    return "\n".join(line for line in lines if any(word in line.lower() for word in words)) + "\n"


def hypernyms():
    """Each word with its half and its hypernyms."""
    lines = (FOLDER / "words.tsv").read_text("utf-8").splitlines()
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    return {word: (half, targets.split()) for word, half, targets in rows}
