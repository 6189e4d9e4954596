"""The patterns a relation is asked with: the paper's table.

``<W>`` is the keyword, ``_`` the blank. "a" stands for "a" or "an": before the keyword its first letter
decides; before the blank, where the answer is not known, both are asked.
"""

from rarewords.errors import InputError

# {a} is the article before the keyword.
_PATTERNS: dict[str, tuple[str, ...]] = {
    "antonym": (
        "<W> is the opposite of _.",
        "<W> is not _.",
        "someone who is <W> is not _.",
        "something that is <W> is not _.",
        '"<W>" is the opposite of "_".',
    ),
    "hypernym": (
        "<W> is a _.",
        "<W> is an _.",
        "{a} <W> is a _.",
        "{a} <W> is an _.",
        '"<W>" refers to a _.',
        '"<W>" refers to an _.',
        "<W> is a kind of _.",
        "{a} <W> is a kind of _.",
    ),
    "cohyponym": ("<W> and _.", '"<W>" and "_".'),
    "corruption": ('"<W>" is a misspelling of "_".', '"<W>". did you mean "_"?'),
}


def patterns_for(relation: str, word: str) -> tuple[str, ...]:
    """The patterns of a relation, ready for this keyword.

    >>> patterns_for("hypernym", "onion")[2]
    'an <W> is a _.'
    """
    if relation not in _PATTERNS:
        raise InputError(f"unknown relation {relation!r}; use {', '.join(_PATTERNS)}")
    article = "an" if word[:1].lower() in tuple("aeiou") else "a"
    return tuple(pattern.replace("{a}", article) for pattern in _PATTERNS[relation])
