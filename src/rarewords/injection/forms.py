"""Forms of a word: which longer words come from it, and which only begin with the same letters.

``kaolinite`` comes from ``kaolin`` and may share its embedding; ``curacao`` has nothing to do with ``cur``.
"""

import lzma
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from importlib.resources import files

_LEAST_LETTERS = 4  # shorter words begin too many others
_LAST = "\U0010ffff"  # sorts behind every letter
_ENDINGS = """
s es ed d ing er ers r rs or ors ist ists ism isms ize izes ized izing ization ise ises ised ising isation ish
y ly al ally ic ical ically ous less ness ful fully able ability ation ations ment ments ship hood
like wise ward wards man men woman women ry ries dom ia ian ians an ans ean eans ese ite ites oid oids
idae inae aceae ales ina ine ines ate ates ated ating ative ity in ine ide ides ol ose ase ases um
"""


def begin_other_words(words: Iterable[str], text: Iterable[str] = ()) -> dict[str, str]:
    """The words that also begin words of English or of a text that do not come from them, with one such word.

    >>> begin_other_words(["cur", "kaolin", "antic"])
    {'cur': 'curacies', 'antic': 'antica'}
    """
    words, packed = list(words), (files("rarewords") / "assets" / "english-words.txt.xz").read_bytes()
    english = lzma.decompress(packed).decode().split("\n")
    known = sorted({*english, *(one.lower() for one in (*text, *words) if one.isalnum())})
    found = {}
    for word in words:
        start = word.lower()
        longer = known[bisect_right(known, start) : bisect_left(known, start + _LAST)]
        other = next((one for one in longer if not comes_from(one, start)), "")
        if other or len(word) < _LEAST_LETTERS:
            found[word] = other or word
    return found


def comes_from(longer: str, word: str) -> bool:
    """Whether a longer word is an inflected or derived form of a word, as far as its ending tells."""
    return longer.startswith(word) and longer[len(word) :] in _ENDINGS.split()


def plural(word: str) -> str:
    """The regular plural of a noun.

    >>> [plural(word) for word in ("kumquat", "berry", "boy", "box")]
    ['kumquats', 'berries', 'boys', 'boxes']
    """
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return word[:-1] + "ies"
    return word + ("es" if word.endswith(("s", "x", "z", "ch", "sh")) else "s")


def inflections(word: str) -> tuple[str, ...]:
    """The regular inflections of a word that is a noun or a verb, the plural first."""
    stem = word.removesuffix("e")
    return tuple(dict.fromkeys([plural(word), f"{stem}ed", f"{stem}ing"]))


def relatives(word: str) -> tuple[str, ...]:
    """Other forms that a word may have, as far as its letters tell.

    >>> relatives("skis")
    ('skises', 'skised', 'skising', 'ski')
    """
    stems = [
        word.removesuffix(ending) + back
        for ending, back in (("ies", "y"), ("es", ""), ("s", ""), ("ed", ""), ("ed", "e"), ("ing", ""), ("ing", "e"))
        if word.endswith(ending) and len(word) > len(ending) + 2
    ]
    return tuple(dict.fromkeys([*inflections(word), *stems]))
