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


@pytest.mark.parametrize(("relation", "number"), [("antonym", 5), ("cohyponym", 2), ("corruption", 2)])
def test_numbers_of_the_papers_table(relation, number):
    patterns = patterns_for(relation, "lime")
    assert len(patterns) == number
    assert all(p.count("<W>") == 1 and p.count("_") == 1 and p[-1] in ".?!" for p in patterns)


def test_unknown_relation():
    with pytest.raises(InputError, match="meronym"):
        patterns_for("meronym", "lime")
