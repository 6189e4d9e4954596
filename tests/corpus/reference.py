"""The rules of sentences, words and contexts once more, slow and plain, to compare with.

Nothing here uses the package: characters are looked at one by one, contexts are tuples of words.
"""

import unicodedata
from collections import Counter, defaultdict

TITLES = (
    "mr mrs ms mx dr prof st ste sr jr lt col gen maj capt cpt sgt cpl cmdr adm rev fr hon gov sen rep pres "
    "messrs mme mlle vs cf ca approx esp viz al ave blvd rd mt ft bros mss ser"
)
ABBREVIATIONS = set(TITLES.split())
NUMBERED = (
    "no nos vol vols p pp fig figs eq eqs ch chap sec art pt op ed eds bk jan feb mar apr jun jul aug sep "
    "sept oct nov dec c b d r fl circa"
)
BEFORE_NUMBERS = set(NUMBERED.split())
LINE_ENDS = "\n\r\x0b\x0c\x85\u2028\u2029"
DROPPED = "\xad\u200b\u2060\ufeff"
MULTIPLIER = 0xD6E8FEB86659FD93
MASK = 2**64 - 1


def clean(text):
    return "".join(
        " " if unicodedata.category(c) == "Cc" and c not in LINE_ENDS and c != "\t" else c
        for c in text
        if c not in DROPPED
    )


def is_letter(c):
    return unicodedata.category(c)[0] == "L"


def is_digit(c):
    return unicodedata.category(c)[0] == "N"


def is_plain(c):
    return unicodedata.category(c)[0] in "LMN" or c in "\u200c\u200d"


def spans(line):
    """The words of a line as (start, end)."""
    n = len(line)

    def at(i):
        return line[i] if 0 <= i < n else "\n"

    def joins(i):
        c, before, after = at(i), at(i - 1), at(i + 1)
        if c in "-\u2010\u2011":
            return is_plain(before) and is_plain(after)
        if c == ",":
            return is_digit(before) and is_digit(after)
        if c == ".":
            if is_digit(before) and is_digit(after):
                return True
            return is_letter(before) and is_letter(after) and not is_plain(at(i - 2)) and not is_plain(at(i + 2))
        if c in "'’":
            return before in "nN" and after in "tT" and not is_plain(at(i + 2))
        return False

    def closes_initials(i):
        return (
            at(i) == "."
            and is_letter(at(i - 1))
            and at(i - 2) == "."
            and joins(i - 2)
            and not is_digit(at(i - 3))
            and not is_plain(at(i + 1))
        )

    def clitic(i):
        if at(i) not in "'’" or not is_plain(at(i - 1)):
            return 0
        if at(i + 1).lower() in ("s", "d", "m") and ord(at(i + 1)) < 128 and not is_plain(at(i + 2)):
            return 2
        pair = at(i + 1) + at(i + 2)
        if pair.isascii() and pair.lower() in ("re", "ve", "ll") and not is_plain(at(i + 3)):
            return 3
        return 0

    found, i = [], 0
    while i < n:
        if clitic(i):
            end = i + clitic(i)
            found.append((i, end))
            i = end
        elif is_plain(at(i)):
            end = i
            while end < n and not clitic(end) and (is_plain(at(end)) or joins(end) or closes_initials(end)):
                end += 1
            found.append((i, end))
            i = end
        else:
            i += 1
    return found


def sentences(text):
    """Sentences with at least one word; not for sentences of more than 5000 characters."""
    result = []
    for end in LINE_ENDS[1:]:
        text = text.replace(end, "\n")
    for line in text.split("\n"):
        words, start = spans(line), 0
        for i, c in enumerate(line):
            if c in "。！？":
                result.append(line[start : i + 1])
                start = i + 1
            if c not in ".!?…؟।॥։":
                continue
            j = i + 1
            for _ in range(3):
                j += j < len(line) and line[j] in ")]}”»›」』\"'’"
            if j >= len(line) or not is_space(line[j]):
                continue
            cut = head = j + 1
            for _ in range(4):
                head += head < len(line) and (is_space(line[head]) or line[head] in "([{“‘«„‹「『\"'’")
            if head >= len(line) or not (is_digit(line[head]) or capital(line[head])):
                continue
            if c == "." and holds_on(line, words, i, is_digit(line[head])):
                continue
            result.append(line[start:cut])
            start = cut
        result.append(line[start:])
    return [sentence.strip() for sentence in result if spans(sentence)]


def is_space(c):
    return unicodedata.category(c) == "Zs" or c in "\t_"


def capital(c):
    return is_letter(c) and unicodedata.category(c) != "Ll"


def holds_on(line, words, stop, number):
    for start, end in words:
        if end == stop + 1:
            return True
        if end == stop:
            word = lower(line[start:end])
            single = len(word) == 1 and is_letter(line[start])
            return single or word in ABBREVIATIONS or (number and word in BEFORE_NUMBERS)
    return False


def lower(word):
    return "".join(c.lower()[0] for c in word)


def corpus(text, window):
    """Counts of all words, and for each word its distinct contexts as (left, word, right)."""
    counts, contexts = Counter(), defaultdict(set)
    for sentence in sentences(clean(text)):
        words = [lower(sentence[a:b]) for a, b in spans(sentence)]
        counts.update(words)
        for i, word in enumerate(words):
            left = tuple(words[max(0, i - window) : i])
            contexts[word].add((left, word, tuple(words[i + 1 : i + 1 + window])))
    return counts, contexts


def around(sentence, start, window):
    """The context of the word that starts at a character of a sentence, as (left, word, right)."""
    words = [lower(sentence[a:b]) for a, b in spans(sentence)]
    i = [a for a, _ in spans(sentence)].index(start)
    return tuple(words[max(0, i - window) : i]), words[i], tuple(words[i + 1 : i + 1 + window])


def mix(value):
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB & MASK
    return value ^ (value >> 31)


def rolling(values):
    return sum(value * pow(MULTIPLIER, i, 2**64) for i, value in enumerate(values)) & MASK


def word_hash(word):
    return mix(rolling(mix((ord(c) + 1) * 0x9E3779B97F4A7C15 & MASK) for c in word))


def context_hash(context, seed):
    left, word, right = context
    window = rolling(word_hash(w) for w in (*left, word, *right))
    seeded = (window + mix((seed + 1) * 0x9E3779B97F4A7C15 & MASK)) & MASK
    return mix((mix(seeded) + len(left)) & MASK)
