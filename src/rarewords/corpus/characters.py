"""Tables over Unicode: what kind of character this is, its hash; and lower case.

All tables are indexed by code point and reach up to the last letter Unicode has assigned; whatever is above
them (private use, tags) counts as :data:`OTHER`.
"""

import unicodedata
from functools import cache

import numpy as np
import numpy.typing as npt

# np.ndarray below OTHER make words, so that "is it part of a word" is one comparison.
LOWER, LETTER, MARK, DIGIT, OTHER = 0, 1, 2, 3, 4
SPACE, NEWLINE, PERIOD, COMMA, HYPHEN, APOSTROPHE, STOP, WIDE_STOP, OPENER, CLOSER, QUOTE = range(5, 16)
# np.ndarray from CONTROL on need cleaning; text without them, nearly all of it, is used as it is.
CONTROL, REMOVED = 16, 17

TABLE_SIZE = 0x32400

Int = npt.NDArray[np.int64]
Hash = npt.NDArray[np.uint64]

_SPECIAL = {
    PERIOD: ".",
    COMMA: ",",
    HYPHEN: "-\u2010\u2011",
    APOSTROPHE: "'\u2019",
    STOP: "!?…؟।॥։",
    WIDE_STOP: "。！？",
    OPENER: "([{“‘«„‹「『",
    CLOSER: ")]}”»›」』",
    QUOTE: '"',
    NEWLINE: "\n\r\x0b\x0c\x85\u2028\u2029",
    MARK: "\u200c\u200d",
    SPACE: "\t_",
    REMOVED: "\xad\u200b\u2060\ufeff",
}
_OF_CATEGORY = {"Ll": LOWER, "L": LETTER, "M": MARK, "N": DIGIT, "Zs": SPACE, "Cc": CONTROL}


@cache
def kinds() -> np.ndarray:
    """The kind of every code point. *Shape:* (TABLE_SIZE,)"""
    categories = [unicodedata.category(chr(point)) for point in range(TABLE_SIZE - 1)]
    table = [_OF_CATEGORY.get(one, _OF_CATEGORY.get(one[0], OTHER)) for one in categories]
    result = np.array([*table, OTHER], dtype=np.uint8)
    for kind, characters in _SPECIAL.items():
        result[[ord(character) for character in characters]] = kind
    return result


@cache
def hashes(lower_case: bool) -> Hash:
    """A fixed random number for every code point, equal for both cases if wanted. *Shape:* (TABLE_SIZE,)"""
    numbers = mix(np.arange(1, TABLE_SIZE + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15))
    return numbers[code_points(fold("".join(map(chr, range(TABLE_SIZE)))))] if lower_case else numbers


def code_points(text: str) -> np.ndarray:
    """The code point of each character, the last one of the tables for all above. *Shape:* (characters,)"""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4").clip(max=TABLE_SIZE - 1)


def fold(text: str) -> str:
    """Lower-case a text as the corpus does: one character for one, so that places in it stay.

    >>> fold("Straßen-CAFÉ")
    'straßen-café'
    """
    # The two that Python lower-cases otherwise: İ to i and a combining dot, Σ by its place in the word.
    return text.replace("İ", "i").replace("Σ", "σ").lower()


def mix(values: Hash) -> Hash:
    """Spread 64-bit numbers evenly (the finalizer of SplitMix64); every input bit reaches every output bit.

    *Shape:* any, kept
    """
    values = values ^ (values >> np.uint64(30))
    values *= np.uint64(0xBF58476D1CE4E5B9)
    values ^= values >> np.uint64(27)
    values *= np.uint64(0x94D049BB133111EB)
    values ^= values >> np.uint64(31)
    return values
