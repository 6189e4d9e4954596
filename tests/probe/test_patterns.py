"""The paper's table of patterns."""

import pytest

from rarewords import InputError
from rarewords.probe.patterns import patterns_for


def test_hypernym_articles():
    # Before the keyword its first letter decides, before the blank both are tried.
    assert patterns_for("hypernym", "onion") == (
        "<W> is a _.",
        "<W> is an _.",
        "an <W> is a _.",
        "an <W> is an _.",
        '"<W>" refers to a _.',
        '"<W>" refers to an _.',
        "<W> is a kind of _.",
        "an <W> is a kind of _.",
    )
    assert patterns_for("hypernym", "lime")[2] == "a <W> is a _."


def test_the_other_patterns_of_the_papers_table():
    assert patterns_for("antonym", "new") == (
        "<W> is the opposite of _.",
        "<W> is not _.",
        "someone who is <W> is not _.",
        "something that is <W> is not _.",
        '"<W>" is the opposite of "_".',
    )
    assert patterns_for("cohyponym", "lime") == ("<W> and _.", '"<W>" and "_".')
    assert patterns_for("corruption", "liem") == (
        '"<W>" is a misspelling of "_".',
        '"<W>". did you mean "_"?',
    )


def test_unknown_relation():
    with pytest.raises(InputError, match="meronym"):
        patterns_for("meronym", "lime")
