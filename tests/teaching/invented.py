"""The invented words of tests/data/invented."""

from tests.architectures import DATA

FOLDER = DATA / "invented"


def sentences_of(*words, most=None):
    """The sentences of some words, at most so many of each, as a text."""
    lines = (FOLDER / "text.txt").read_text("utf-8").splitlines()
    chosen = [[line for line in lines if word in line.lower()][:most] for word in words]
    return "".join(f"{line}\n" for own in chosen for line in own)


def hypernyms():
    """Each word with its half and its hypernyms."""
    lines = (FOLDER / "words.tsv").read_text("utf-8").splitlines()
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    return {word: (half, targets.split()) for word, half, targets in rows}
