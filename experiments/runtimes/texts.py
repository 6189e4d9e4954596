"""Words to teach and sentences to compare, from plain text."""

import random
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

from rarewords.injection.inject import unfit_words
from rarewords.tokens import Placement, Tokens

_COUNTED = 200_000  # sentences
_TERM = re.compile(r"(?<![\w-])[a-z]{4,}(?:-[a-z]{2,})*(?![\w-])")


def sentences_of(paths: Sequence[Path]) -> Iterator[str]:
    """The sentences of some texts, by their full stops."""
    for path in paths:
        with path.open(encoding="utf-8", errors="ignore") as stream:
            for line in stream:
                yield from (part for part in line.strip().split(". ") if 20 < len(part) < 400)


@cache
def _terms(paths: tuple[Path, ...]) -> tuple[str, ...]:
    """Words and hyphenated words that occur five times or more, in an order drawn once."""
    counts = Counter(term for line in islice(sentences_of(paths), _COUNTED) for term in _TERM.findall(line))
    terms = sorted(term for term, count in counts.items() if count >= 5)
    random.Random(0).shuffle(terms)
    return tuple(terms)


def split_words(paths: Sequence[Path], tokenizer: Any, number: int, placement: Placement) -> list[str]:
    """Terms of a text that a tokenizer splits and that can be taught."""
    terms = _terms(tuple(paths))
    subwords = zip(terms, Tokens(tokenizer).subwords_of(terms), strict=True)
    split = list(islice((term for term, own in subwords if len(own) > 1), number + number // 10))
    unfit = unfit_words(tokenizer, split, placement=placement)
    return [term for term in split if term not in unfit][:number]


def half_with(words: Sequence[str], paths: Sequence[Path], number: int) -> list[str]:
    """Sentences, the first half with one of the words or a longer word that begins with one, at most ten per word."""
    pattern = _beginning(tuple(words))
    seen, found, plain = Counter[str](), list[str](), list[str]()
    for line in sentences_of(paths):
        match = pattern.search(line)
        if match is None and not holds(words, line):
            plain.append(line)
        elif match and seen[match[1].lower()] < 10 and len(found) < number // 2:
            seen[match[1].lower()] += 1
            found.append(line)
        if len(found) == number // 2 and len(plain) > len(found):
            break
    return [*found, *plain[:: max(1, len(plain) * 2 // number)][: number // 2]]


def holds(words: Sequence[str], text: str) -> bool:
    """Whether any word begins a word of a text, whatever case, accents and ligatures it is written in."""
    plain = "".join(one for one in unicodedata.normalize("NFKD", text) if not unicodedata.combining(one)).lower()
    return _beginning(tuple(words)).search(plain) is not None


@cache
def _beginning(words: tuple[str, ...]) -> re.Pattern[str]:
    """A word of a text that begins with one of some words."""
    return re.compile(rf"(?<![^\W_])({'|'.join(map(re.escape, sorted(words, key=len, reverse=True)))})", re.I)
