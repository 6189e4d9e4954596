"""Words of a text that its writer would not call vocabulary: a search passes over them, a list may name them."""

import re
from collections import Counter
from collections.abc import Container, Mapping

from rarewords.corpus.corpus import Context, Corpus

ADDRESS = "in addresses or markup"
CUT_OFF = "cut off at the end of a line"
REPEATED = "in repeated lines only"
INFLECTED = "an inflection of a known word"

_SHOWN = 5
_CONTEXTS = 12  # looked at for each word
_FEWEST = 4  # occurrences that make a repetition
_AROUND = 24  # characters on each side that tell one line from another
_BEFORE, _AFTER = re.compile(r".*\s", re.DOTALL), re.compile(r"\s.*", re.DOTALL)
# In the run of characters without white space around the word.
_ADDRESS = re.compile(
    r"""://|^www\.|\w@\w|[\w-]\.(?:com|org|net|gov|edu|html?|php|cfm|aspx?|xml|pdf|jpe?g|png|gif)\b|\w/\w*/|
    [?&]\w+=|</?\w|\w>|\w=["'\w]|&\w+;?$|\\\w|[{}|]""",
    re.IGNORECASE | re.VERBOSE,
)
_HYPHEN = "[-\u00ad\u2010\u00ac]"
_CUT_BEHIND, _CUT_BEFORE = re.compile(rf"{_HYPHEN}(?:\s|$)"), re.compile(rf"\w{_HYPHEN}\s+$")
_SUFFIXES = [("s", ""), ("es", ""), ("ies", "y"), ("ed", ""), ("d", ""), ("ied", "y")]
_SUFFIXES += [("ing", ""), ("ing", "e"), ("ly", "")]
_SHORTEST_STEM = 4


def clutter(corpus: Corpus, counts: Mapping[str, int], known: Container[str]) -> dict[str, str]:
    """Those of the words that are not worth teaching, and why.

    :param counts: words with their counts in the text; each needs contexts in the corpus.
    :param known: the words the model has as one subword.
    """
    found = {}
    for word, spans in corpus.contexts_of(list(counts), _CONTEXTS):
        if inflected(word, known):
            found[word] = INFLECTED
        elif 2 * sum(_in_address(*span) for span in spans) > len(spans):
            found[word] = ADDRESS
        elif 2 * sum(_cut_off(*span) for span in spans) > len(spans):
            found[word] = CUT_OFF
        elif counts[word] >= _FEWEST and len(set(map(_line, spans))) <= min(counts[word], _CONTEXTS) // 4:
            found[word] = REPEATED
    return found


def summary(passed_over: Mapping[str, str]) -> list[str]:
    """One line for each reason: the number of words, and the first of them."""
    lines = []
    for reason, number in Counter(passed_over.values()).most_common():
        words = [word for word, why in passed_over.items() if why == reason]
        shown = ", ".join([*words[:_SHOWN], *(["…"] if number > _SHOWN else [])])
        lines.append(f"{reason}: {number:,} ({shown})")
    return lines


def inflected(word: str, known: Container[str]) -> bool:
    """Whether a word is an English inflection of a known one.

    >>> [inflected(word, {"skier", "berry", "plot"}) for word in ("skiers", "berries", "plotting", "skiff")]
    [True, True, True, False]
    """
    for suffix, ending in _SUFFIXES:
        if word.endswith(suffix) and len(stem := word.removesuffix(suffix)) >= _SHORTEST_STEM - len(ending):
            doubled = suffix in ("ed", "ing") and stem[-1:] == stem[-2:-1]
            if stem + ending in known or (doubled and stem[:-1] in known):
                return True
    return False


def _in_address(text: str, start: int, end: int) -> bool:
    run = _BEFORE.sub("", text[:start]) + text[start:end] + _AFTER.sub("", text[end:])
    return len(run) > end - start and _ADDRESS.search(run) is not None


def _cut_off(text: str, start: int, end: int) -> bool:
    return bool(_CUT_BEHIND.match(text[end:]) or _CUT_BEFORE.search(text[:start]))


def _line(span: Context) -> str:
    """What stands around the word, without digits: page numbers do not make a new line."""
    text, start, end = span
    return re.sub(r"\d+", "", text[max(0, start - _AROUND) : end + _AROUND]).lower()
