"""The invented words of tests/data/invented."""

from rarewords.corpus.corpus import Context
from tests.architectures import DATA

FOLDER = DATA / "invented"


def sentences_of(*words, most=None):
    """The sentences of some words, at most ``most`` of each, as a text."""
    lines = (FOLDER / "text.txt").read_text("utf-8").splitlines()
    chosen = [[line for line in lines if word in line.lower()][:most] for word in words]
    return "".join(f"{line}\n" for own in chosen for line in own)


def occurrences_of(word, most=None):
    """The contexts of a word, at most ``most``."""
    lines = sentences_of(word, most=most).splitlines()
    starts = [line.lower().index(word) for line in lines]
    return tuple(Context(line, at, at + len(word)) for line, at in zip(lines, starts, strict=True))


def hypernyms():
    """The hypernyms of each word."""
    lines = (FOLDER / "words.tsv").read_text("utf-8").splitlines()
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    return {word: targets.split() for word, _, targets in rows}
