"""Sentences and words of a text, found by array operations on its code points.

The rules are in docs/concepts/corpus.md. Besides: of what follows an apostrophe only ``n't`` stays in its word, and
``o'brien`` is ``o`` and ``brien``; a number begins no sentence after ``No.``, ``vol.`` and the like; a sentence longer
than 5000 characters is cut between two words.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np

from rarewords.corpus import characters as ch
from rarewords.corpus.characters import Hash, Int

# Arrays over this many characters stay in the processor's cache; ten times as many are three times slower.
_CHARACTERS_AT_ONCE = 1 << 15
MAX_SENTENCE = 5000
MAX_WORD = 64
_PAD = 8
_MULTIPLIER = 0xD6E8FEB86659FD93

_ABBREVIATIONS = (
    "mr mrs ms mx dr prof st ste sr jr lt col gen maj capt cpt sgt cpl cmdr adm rev fr hon gov sen rep pres "
    "messrs mme mlle vs cf ca approx esp viz al ave blvd rd mt ft bros mss ser"
)
_BEFORE_NUMBERS = (
    "no nos vol vols p pp fig figs eq eqs ch chap sec art pt op ed eds bk jan feb mar apr jun jul aug sep "
    "sept oct nov dec c b d r fl circa"
)
# By kind of character: what may follow the stop that ends a sentence, and precede the first letter.
_CLOSING = np.isin(np.arange(ch.REMOVED + 1), (ch.CLOSER, ch.QUOTE, ch.APOSTROPHE))
_OPENING = np.isin(np.arange(ch.REMOVED + 1), (ch.SPACE, ch.OPENER, ch.QUOTE, ch.APOSTROPHE))


@dataclass(frozen=True)
class Words:
    """The words of a text by sentence.

    ``text`` is the cleaned text. ``starts``, ``ends`` (words,): character span of each word. ``hashes``
    (words,): 64-bit hash of each word, of its lower case if asked for. ``cuts`` (sentences + 1,): where each
    sentence starts, white space included. ``offsets`` (sentences + 1,): first word of each sentence.
    """

    text: str
    starts: Int
    ends: Int
    hashes: Hash
    cuts: Int
    offsets: Int

    def sentences(self) -> list[str]:
        """The sentences that have at least one word, without the white space around them."""
        text, cuts = self.text, self.cuts
        full = np.flatnonzero(self.offsets[1:] > self.offsets[:-1])
        spans = zip(cuts[full].tolist(), cuts[full + 1].tolist(), strict=True)
        return [text[start:end].strip() for start, end in spans]

    def lengths(self) -> Int:
        """Words in each sentence that has any. *Shape:* (sentences with words,)"""
        lengths = np.diff(self.offsets)
        return lengths[lengths > 0]


def split(text: str, *, lower_case: bool = True, sentences: bool = True) -> Words:
    """Cut a text into sentences and words; with ``sentences=False`` only lines are cut.

    >>> words = split("Dr. Who's 9,000 red-tailed monkeys. They e.g. don't eat.")
    >>> [words.text[a:b] for a, b in zip(words.starts, words.ends)]
    ['Dr', 'Who', "'s", '9,000', 'red-tailed', 'monkeys', 'They', 'e.g.', "don't", 'eat']
    >>> words.sentences()
    ["Dr. Who's 9,000 red-tailed monkeys.", "They e.g. don't eat."]
    """
    text, points, kind = _clean(text)
    start_flags, end_flags = _word_flags(points, kind)
    starts, ends = np.flatnonzero(start_flags), np.flatnonzero(end_flags) + 1
    hashes = _hash_spans(ch.hashes(lower_case)[points], starts, ends)
    cuts = np.flatnonzero(kind == ch.NEWLINE)[_PAD - 1 : -_PAD] + 1
    if sentences:
        lowered = hashes if lower_case else _hash_spans(ch.hashes(True)[points], starts, ends)
        cuts = np.union1d(cuts, _sentence_starts(kind, starts, ends, lowered))
    cuts = np.append(cuts, len(points) - _PAD)
    if sentences and (np.diff(cuts) > MAX_SENTENCE).any():
        cuts = _cut_long(cuts, starts, ends)
    offsets = np.searchsorted(starts, cuts)
    return Words(text, starts - _PAD, ends - _PAD, hashes, cuts - _PAD, offsets)


def clean(text: str) -> str:
    """A text without control characters, as :func:`split` reads it."""
    return _clean(text)[0]


def words_of(text: str, *, lower_case: bool = True) -> list[str]:
    """The words of a text in order.

    >>> words_of("A red-tailed Hawk's nest.")
    ['a', 'red-tailed', 'hawk', "'s", 'nest']
    """
    found = split(text, lower_case=lower_case, sentences=False)
    text = ch.fold(found.text) if lower_case else found.text
    return [text[start:end] for start, end in zip(found.starts.tolist(), found.ends.tolist(), strict=True)]


def blocks(text: str, size: int = _CHARACTERS_AT_ONCE) -> Iterator[str]:
    """Cut a text at line ends into blocks of about ``size`` characters; a longer line is a block."""
    start = 0
    while start < len(text):
        stop = len(text)
        if start + size < stop:
            stop = text.rfind("\n", start, start + size) + 1 or text.find("\n", start + size) + 1 or stop
        yield text[start:stop]
        start = stop


def word_hashes(words: list[str], *, lower_case: bool = False) -> Hash:
    """The hash of each word as :func:`split` gives it, of its lower case if asked for. *Shape:* (words,)"""
    points = ch.code_points("\n".join(["", *words, ""]))
    breaks = np.flatnonzero(points == ord("\n"))
    return _hash_spans(ch.hashes(lower_case)[points], breaks[:-1] + 1, breaks[1:])


def entry_pattern(rule: str, lower_case: bool) -> re.Pattern[str]:
    """What a word must look like to get counts and contexts."""
    if rule == "english":
        letters = "a-z" if lower_case else "A-Za-z"
        return re.compile(rf"(?=.{{1,{MAX_WORD}}}$)[.-]*[{letters}][{letters}.-]*")
    return re.compile(rf"(?=.{{1,{MAX_WORD}}}$).*[^\W\d_].*")


def _clean(text: str) -> tuple[str, np.ndarray, np.ndarray]:
    """The text without control characters, its code points and their kinds with line ends at both sides."""
    padding = "\n" * _PAD
    points = ch.code_points(padding + text + padding)
    kind = ch.kinds()[points]
    if kind.max() >= ch.CONTROL:
        own = kind[_PAD:-_PAD]
        exact = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
        exact = np.where(own == ch.CONTROL, np.uint32(ord(" ")), exact)[own != ch.REMOVED]
        return _clean(exact.tobytes().decode("utf-32-le", "surrogatepass"))
    return text, points, kind


def _word_flags(points: np.ndarray, kind: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where words start, and their last characters. *Shape:* (characters,) each"""
    plain = kind < ch.OTHER
    inside = plain.copy()
    hyphen = np.flatnonzero(kind == ch.HYPHEN)
    inside[hyphen[plain[hyphen - 1] & plain[hyphen + 1]]] = True
    comma = np.flatnonzero(kind == ch.COMMA)
    inside[comma[(kind[comma - 1] == ch.DIGIT) & (kind[comma + 1] == ch.DIGIT)]] = True

    period = np.flatnonzero(kind == ch.PERIOD)
    before, after = kind[period - 1], kind[period + 1]
    inside[period[(before == ch.DIGIT) & (after == ch.DIGIT)]] = True
    alone = (before <= ch.LETTER) & ~plain[period - 2]
    initial = period[alone & (after <= ch.LETTER) & ~plain[period + 2]]
    inside[initial] = True
    last = period[alone & (after >= ch.OTHER)]
    inside[last[np.isin(last - 2, initial)]] = True

    apostrophe = np.flatnonzero(kind == ch.APOSTROPHE)
    apostrophe = apostrophe[plain[apostrophe - 1] & plain[apostrophe + 1]]
    before, first, second = (points[apostrophe + step] | 32 for step in (-1, 1, 2))
    one, two = ~plain[apostrophe + 2], plain[apostrophe + 2] & ~plain[apostrophe + 3]
    inside[apostrophe[(before == ord("n")) & (first == ord("t")) & one]] = True
    short = one & np.isin(first, [ord(letter) for letter in "sdm"])
    long = two & np.any([(first == ord(a)) & (second == ord(b)) for a, b in ("re", "ve", "ll")], axis=0)
    clitics = apostrophe[short | long]
    # Such an ending ends the word: dog's-eye is dog, 's and eye; another may follow at once.
    inside[clitics + 2 + long[short | long]] = False
    inside[clitics] = True

    starts, ends = inside.copy(), inside.copy()
    starts[1:] &= ~inside[:-1]
    ends[:-1] &= ~inside[1:]
    starts[clitics] = True
    ends[clitics - 1] = True
    return starts, ends


@cache
def _powers(bits: int) -> tuple[Hash, Hash]:
    """Powers of the multiplier, and of its inverse, modulo 2^64. *Shape:* (2^bits,) each"""
    factors = np.ones((2, 2**bits), dtype=np.uint64)
    factors[0, 1:], factors[1, 1:] = _MULTIPLIER, pow(_MULTIPLIER, -1, 2**64)
    power, inverse = np.cumprod(factors, axis=1)
    return power, inverse


def span_sums(values: Hash, at: Int, starts: Int, ends: Int) -> Hash:
    """For each span the sum of value[i] * multiplier^(at[i] - at[start]) modulo 2^64, from one running sum.

    ``at`` (values,): numbers that go up by one inside each span.
    """
    power, inverse = _powers(int(at.max(initial=0)).bit_length())
    running = np.zeros(len(values) + 1, dtype=np.uint64)
    np.cumsum(values * power[at], out=running[1:])
    sums: Hash = running[ends]
    sums -= running[starts]
    sums *= inverse[at[starts]]
    return sums


def _hash_spans(values: Hash, starts: Int, ends: Int) -> Hash:
    return ch.mix(span_sums(values, np.arange(len(values)), starts, ends))


@cache
def _hashes_of(words: str) -> Hash:
    return word_hashes(words.split())


def _sentence_starts(kind: np.ndarray, starts: Int, ends: Int, hashes: Hash) -> Int:
    """Positions after which a new sentence begins inside a line; ``hashes`` are those of lower-case words."""
    wide = np.flatnonzero(kind == ch.WIDE_STOP) + 1
    if not ends.size:
        return wide
    stop = np.flatnonzero((kind == ch.PERIOD) | (kind == ch.STOP))
    after = stop + 1
    for _ in range(3):
        after += _CLOSING[kind[after]]
    spaced = kind[after] == ch.SPACE
    stop, after = stop[spaced], after[spaced] + 1
    head = after.copy()
    for _ in range(4):
        head += _OPENING[kind[head]]
    head_kind = kind[head]
    begins = (head_kind == ch.LETTER) | (head_kind == ch.DIGIT)
    stop, after, head_kind = stop[begins], after[begins], head_kind[begins]

    # The word before a period decides: an abbreviation or an initial does not end a sentence.
    word = np.minimum(np.searchsorted(ends, stop), len(ends) - 1)
    period = kind[stop] == ch.PERIOD
    initials = period & (ends[word] == stop + 1)
    touches = period & (ends[word] == stop)
    single = (stop - starts[word] == 1) & (kind[starts[word]] <= ch.LETTER)
    number = (head_kind == ch.DIGIT) & np.isin(hashes[word], _hashes_of(_BEFORE_NUMBERS))
    abbreviation = np.isin(hashes[word], _hashes_of(_ABBREVIATIONS))
    held = initials | (touches & (single | number | abbreviation))
    return np.union1d(wide, after[~held])


def _cut_long(cuts: Int, starts: Int, ends: Int) -> Int:
    """Add cuts so that no sentence is longer than MAX_SENTENCE, each at the start of a word."""
    # Not between a word and its 's: alone it would be read as another word.
    places = np.append(starts[~np.isin(starts, ends)], cuts[-1]).tolist()
    extra: list[int] = []
    for begin, end in pairwise(cuts.tolist()):
        while end - begin > MAX_SENTENCE:
            place = bisect_right(places, begin + MAX_SENTENCE)
            if place and places[place - 1] > begin:
                place -= 1  # otherwise one word alone is longer than a sentence may be; it stays whole
            begin = places[place]
            if begin < end:
                extra.append(begin)
    return np.union1d(cuts, np.array(extra, dtype=np.int64))
