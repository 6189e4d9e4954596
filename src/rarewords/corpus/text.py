"""Sentences and words of a text, found by array operations on its code points.

**Words.** A word is a run of letters, marks and digits of any script. It goes on over a hyphen
(``red-tailed``), over a period or comma between digits (``9,000``), over the periods of initials (``u.s.``,
``e.g.``) and over the apostrophe of ``n't``. What follows another apostrophe is a word of its own: ``dog's``
is ``dog`` and ``'s``, ``o'brien`` is ``o`` and ``brien``. Punctuation is no word; it stays in the sentence.

**Sentences.** A sentence ends with its line, or after ``. ! ? …`` and closing quotes or brackets when space
and then a digit or a letter that is not lower-case follow; not after an abbreviation, an initial, or, before
a number, ``No.``, ``vol.`` and the like. A sentence longer than 5000 characters is cut between two words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from rarewords.corpus import characters as ch

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

Int = npt.NDArray[np.int64]


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
    hashes: npt.NDArray[np.uint64]
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
        cuts = _union(cuts, _sentence_starts(points, kind, starts, ends))
    cuts = np.append(cuts, len(points) - _PAD)
    if sentences and (np.diff(cuts) > MAX_SENTENCE).any():
        cuts = _cut_long(cuts, starts, ends)
    offsets = np.searchsorted(starts, cuts)
    return Words(text, starts - _PAD, ends - _PAD, hashes, cuts - _PAD, offsets)


def words_of(text: str, *, lower_case: bool = True) -> list[str]:
    """The words of a text in order.

    >>> words_of("A red-tailed Hawk's nest.")
    ['a', 'red-tailed', 'hawk', "'s", 'nest']
    """
    found = split(text, lower_case=lower_case, sentences=False)
    named = ch.fold(found.text) if lower_case else found.text
    return [named[start:end] for start, end in zip(found.starts.tolist(), found.ends.tolist(), strict=True)]


def blocks(text: str, size: int = _CHARACTERS_AT_ONCE) -> Iterator[str]:
    """Cut a text at line ends into blocks of about ``size`` characters; a longer line is a block."""
    start = 0
    while start < len(text):
        stop = text.rfind("\n", start, start + size) + 1
        if stop <= start:
            stop = text.find("\n", start + size) + 1
        if stop <= start or start + size >= len(text):
            stop = len(text)
        yield text[start:stop]
        start = stop


def word_hashes(words: list[str]) -> npt.NDArray[np.uint64]:
    """The hash of each word as :func:`split` gives it for a word taken as it is. *Shape:* (words,)"""
    points = _points("\n".join(["", *words, ""]))
    breaks = np.flatnonzero(points == ord("\n"))
    return _hash_spans(ch.hashes(False)[points], breaks[:-1] + 1, breaks[1:])


@cache
def entry_pattern(rule: str, lower_case: bool) -> re.Pattern[str]:
    """What a word must look like to get counts and contexts."""
    if rule == "english":
        letters = "a-z" if lower_case else "A-Za-z"
        return re.compile(rf"(?=.{{1,{MAX_WORD}}}$)[.-]*[{letters}][{letters}.-]*")
    return re.compile(rf"(?=.{{1,{MAX_WORD}}}$).*[^\W\d_].*")


def _points(text: str) -> npt.NDArray[np.uint32]:
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
    if points.size and points.max() >= ch.TABLE_SIZE:
        points = np.minimum(points, np.uint32(ch.TABLE_SIZE - 1))
    return points


def _clean(text: str) -> tuple[str, npt.NDArray[np.uint32], npt.NDArray[np.uint8]]:
    """The text without control characters, its code points and their kinds with line ends at both sides."""
    padding = "\n" * _PAD
    points = _points(padding + text + padding)
    kind = ch.kinds()[points]
    if kind.max() >= ch.CONTROL:
        exact = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
        own = kind[_PAD:-_PAD]
        exact = np.where(own == ch.CONTROL, np.uint32(ord(" ")), exact)[own != ch.REMOVED]
        text = exact.tobytes().decode("utf-32-le", "surrogatepass")
        points = _points(padding + text + padding)
        kind = ch.kinds()[points]
    return text, points, kind


def _word_flags(
    points: npt.NDArray[np.uint32], kind: npt.NDArray[np.uint8]
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
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
    if initial.size:
        last = period[alone & (after >= ch.OTHER)]
        joined = np.zeros(len(kind), dtype=np.bool_)
        joined[initial] = True
        inside[last[joined[last - 2]]] = True

    apostrophe = np.flatnonzero(kind == ch.APOSTROPHE)
    apostrophe = apostrophe[plain[apostrophe - 1] & plain[apostrophe + 1]]
    clitics = np.zeros(0, dtype=np.int64)
    if apostrophe.size:
        around = [points[apostrophe + step] | 32 for step in (-1, 1, 2)]
        one, two = ~plain[apostrophe + 2], plain[apostrophe + 2] & ~plain[apostrophe + 3]
        inside[apostrophe[(around[0] == ord("n")) & (around[1] == ord("t")) & one]] = True
        short = one & ((around[1] == ord("s")) | (around[1] == ord("d")) | (around[1] == ord("m")))
        long = np.zeros(len(apostrophe), dtype=np.bool_)
        for first, second in ("re", "ve", "ll"):
            long |= two & (around[1] == ord(first)) & (around[2] == ord(second))
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
def _powers(size: int) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    inverse = pow(_MULTIPLIER, -1, 2**64)
    tables = []
    for factor in (_MULTIPLIER, inverse):
        table = np.full(size, factor, dtype=np.uint64)
        table[0] = 1
        tables.append(np.cumprod(table, dtype=np.uint64))
    return tables[0], tables[1]


def powers(size: int) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """Powers of the multiplier of all rolling hashes, and of its inverse, modulo 2^64. *Shape:* (>= size,)"""
    return _powers(1 << max(size - 1, 1).bit_length())


def _hash_spans(values: npt.NDArray[np.uint64], starts: Int, ends: Int) -> npt.NDArray[np.uint64]:
    """hash = mix(sum over the span of value[i] * multiplier^(i - start)), from one running sum."""
    power, inverse = powers(len(values))
    running = np.empty(len(values) + 1, dtype=np.uint64)
    running[0] = 0
    np.cumsum(values * power[: len(values)], out=running[1:])
    sums: npt.NDArray[np.uint64] = running[ends]
    sums -= running[starts]
    sums *= inverse[starts]
    return ch.mix(sums)


@cache
def _hash_set(words: str) -> npt.NDArray[np.uint64]:
    return np.sort(word_hashes(words.split()))


def _is_in(hashes: npt.NDArray[np.uint64], words: str) -> npt.NDArray[np.bool_]:
    known = _hash_set(words)
    found: npt.NDArray[np.bool_] = known[np.minimum(np.searchsorted(known, hashes), len(known) - 1)] == hashes
    return found


@cache
def _kind_set(*kinds: int) -> npt.NDArray[np.bool_]:
    table = np.zeros(ch.REMOVED + 1, dtype=np.bool_)
    table[list(kinds)] = True
    return table


def _sentence_starts(
    points: npt.NDArray[np.uint32], kind: npt.NDArray[np.uint8], starts: Int, ends: Int
) -> Int:
    """Positions after which a new sentence begins inside a line."""
    wide = np.flatnonzero(kind == ch.WIDE_STOP) + 1
    stop = np.flatnonzero((kind == ch.PERIOD) | (kind == ch.STOP))
    after = stop + 1
    closing = _kind_set(ch.CLOSER, ch.QUOTE, ch.APOSTROPHE)
    for _ in range(3):
        after += closing[kind[after]]
    spaced = kind[after] == ch.SPACE
    stop, after = stop[spaced], after[spaced] + 1
    head = after.copy()
    opening = _kind_set(ch.SPACE, ch.OPENER, ch.QUOTE, ch.APOSTROPHE)
    for _ in range(4):
        head += opening[kind[head]]
    head_kind = kind[head]
    begins = (head_kind == ch.LETTER) | (head_kind == ch.DIGIT)
    stop, after, head_kind = stop[begins], after[begins], head_kind[begins]

    # The word before a period decides: an abbreviation or an initial does not end a sentence.
    word = np.searchsorted(ends, stop) if ends.size else np.zeros(0, dtype=np.int64)
    word = np.minimum(word, max(len(ends) - 1, 0))
    at = ends[word] if ends.size else stop
    touches = (kind[stop] == ch.PERIOD) & ((at == stop) | (at == stop + 1))
    first = starts[word] if ends.size else stop
    size = stop - first
    initials = touches & (at == stop + 1)
    single = touches & (at == stop) & (size == 1) & (kind[np.minimum(first, len(kind) - 1)] <= ch.LETTER)
    hashes = _hash_spans_short(points, first, size)
    title = touches & _is_in(hashes, _ABBREVIATIONS)
    number = touches & (head_kind == ch.DIGIT) & _is_in(hashes, _BEFORE_NUMBERS)
    return _union(wide, after[~(initials | single | title | number)])


def _union(first: Int, second: Int) -> Int:
    """All numbers of two rising arrays, each once, rising."""
    if not first.size or not second.size:
        return first if first.size else second
    both = np.sort(np.concatenate([first, second]))
    distinct: Int = both[np.append(True, both[1:] != both[:-1])]
    return distinct


def _hash_spans_short(points: npt.NDArray[np.uint32], first: Int, size: Int) -> npt.NDArray[np.uint64]:
    """Lower-case hashes of spans of at most 8 characters; longer ones get 0, no abbreviation is so long."""
    power, _ = powers(8)
    sums = np.zeros(len(first), dtype=np.uint64)
    table = ch.hashes(True)
    for step in range(8):
        inside = step < size
        sums[inside] += table[points[first[inside] + step]] * power[step]
    result = ch.mix(sums)
    result[(size > 8) | (size <= 0)] = 0
    return result


def _cut_long(cuts: Int, starts: Int, ends: Int) -> Int:
    """Add cuts so that no sentence is longer than MAX_SENTENCE, each at the start of a word."""
    extra: list[int] = []
    for index in np.flatnonzero(np.diff(cuts) > MAX_SENTENCE).tolist():
        begin, end = int(cuts[index]), int(cuts[index + 1])
        while end - begin > MAX_SENTENCE:
            word = int(np.searchsorted(starts, begin + MAX_SENTENCE, side="right")) - 1
            # Not between a word and its 's: alone it would be read as another word.
            while word > 0 and ends[word - 1] == starts[word]:
                word -= 1
            cut = int(starts[word]) if word >= 0 else begin
            if cut <= begin:
                # One word alone is longer than a sentence may be; it stays whole.
                word = int(np.searchsorted(starts, begin + MAX_SENTENCE))
                while 0 < word < len(starts) and ends[word - 1] == starts[word]:
                    word += 1
                cut = int(starts[word]) if word < len(starts) else end
            if cut >= end:
                break
            extra.append(cut)
            begin = cut
    return _union(cuts, np.array(extra, dtype=np.int64))
