"""Which words of a text does a model lack, and which of them may be taught?"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from rarewords._internal.progress import progress
from rarewords.corpus.corpus import Corpus
from rarewords.errors import InputError
from rarewords.injection.inject import unfit_words
from rarewords.teaching.clutter import clutter
from rarewords.teaching.forms import other_contexts
from rarewords.teaching.glossary import NO_DEFINITION, Glossary, GlossaryEntry
from rarewords.tokens import Placement, Tokens

KNOWN = "the model already has it as one token"
TAUGHT = "it was added before; forget it first to add it again"
NOT_IN_TEXT = "the text does not contain it as a word"
_NO_WORDS = "the text has no words; check the files, or use the word rule `any` for letters other than a-z"
_WORDS_AT_ONCE, _CHECKED_AT_ONCE = 4096, 512
_COMPONENT = re.compile(r"[^.\-]+")


@dataclass(frozen=True)
class MissingWord:
    """A word the model does not have as one subword.

    :param fragmentation: the share of its letters in fragments; 1 if the tokenizer cannot represent it.
    :param mismatch: how far the model's answers about it are from what its sentences say, from 0 to 1.
    :param mismatch_drop: how much lower the mismatch is with an embedding made from a few sentences.
    :param answers: what the model answers about it now.
    :param skipped: why it is not taught; empty if it is worth teaching.
    """

    word: str
    count: int
    subwords: tuple[str, ...]
    fragmentation: float
    mismatch: float | None = None
    mismatch_drop: float | None = None
    answers: tuple[str, ...] = ()
    skipped: str = ""


def count_words(corpus: Corpus) -> dict[str, int]:
    """The words of a corpus with their counts, the most frequent first."""
    words, counts = corpus.counts()
    if not words:
        raise InputError(_NO_WORDS, code="no-text")
    return dict(zip(words, counts.tolist(), strict=True))


def missing_words(counts: Mapping[str, int], tokens: Tokens) -> list[MissingWord]:
    """The words that the tokenizer splits, the largest count times fragmentation first."""
    missing = [one for one in _split(counts, tokens) if one.skipped != KNOWN]
    return sorted(missing, key=lambda one: (-one.count * one.fragmentation, -one.count, one.word))


def _split(counts: Mapping[str, int], tokens: Tokens) -> Iterator[MissingWord]:
    """How the tokenizer splits words; one that it does not split is skipped."""
    words = list(counts)
    with progress("Splitting words", total=len(words), unit="words") as bar:
        for start in range(0, len(words), _WORDS_AT_ONCE):
            batch = words[start : start + _WORDS_AT_ONCE]
            for word, located in zip(batch, tokens.located_subwords(batch), strict=True):
                ids = [token for token, _, _ in located]
                unknown = not ids or tokens.has_unknown(ids)
                fragmentation = 1.0 if unknown else _fragmentation(word, [(a, b) for _, a, b in located])
                skipped = KNOWN if len(ids) == 1 and not unknown else ""
                subwords = tuple(tokens.subword_strings(ids))
                yield MissingWord(word, counts[word], subwords, fragmentation, skipped=skipped)
            bar.advance(len(batch))


def without_clutter(
    corpus: Corpus, missing: Iterable[MissingWord], tokens: Tokens, placement: Placement, earlier: Set[str]
) -> Iterator[MissingWord]:
    """The words in order; clutter, and what cannot get a token, with the reason why it is skipped."""
    words = [word for word in missing if word.fragmentation > 0]
    for start in range(0, len(words), _CHECKED_AT_ONCE):
        batch = words[start : start + _CHECKED_AT_ONCE]
        found = clutter(corpus, {one.word: one.count for one in batch}, tokens.whole_words)
        found |= {one.word: TAUGHT for one in batch if one.word in earlier}
        others = [one.word for one in batch if one.word not in found]
        found |= unfit_words(tokens.tokenizer, others, placement=placement)
        yield from (replace(one, skipped=found.get(one.word, "")) for one in batch)


def listed_words(
    listed: Sequence[str],
    corpus: Corpus | None,
    glossary: Glossary,
    tokens: Tokens,
    placement: Placement,
    earlier: Set[str],
) -> list[MissingWord]:
    """The words of a list, in its order; those that there is nothing to learn from are skipped.

    :param glossary: definitions, by the words as the model spells them.
    :param earlier: words that the model was taught before.
    """
    words = dict.fromkeys(map(tokens.spelled, listed))
    counts = {word: corpus.count(word) or len(other_contexts(corpus, word)) if corpus else 0 for word in words}
    found, nothing = list(_split(counts, tokens)), GlossaryEntry()
    unused = [one.word for one in found if not one.count and glossary.get(one.word, nothing) == nothing]
    reasons = {word: NO_DEFINITION if word in glossary else NOT_IN_TEXT for word in unused}
    reasons |= {one.word: one.skipped for one in found if one.skipped}
    reasons |= {word: TAUGHT for word in words if word in earlier}
    reasons |= unfit_words(tokens.tokenizer, [word for word in words if word not in reasons], placement=placement)
    return [replace(one, skipped=reasons.get(one.word, "")) for one in found]


def _fragmentation(word: str, spans: list[tuple[int, int]]) -> float:
    """The share of the letters outside the longest subword of each part between hyphens and periods.

    >>> _fragmentation("skiers", [(0, 5), (5, 6)])
    0.16666666666666666
    >>> _fragmentation("red-tailed", [(0, 3), (3, 4), (4, 10)])
    0.0
    """
    letters = kept = 0
    for part in _COMPONENT.finditer(word):
        letters += part.end() - part.start()
        kept += max((min(b, part.end()) - max(a, part.start()) for a, b in spans), default=0)
    return 1 - kept / letters if letters else 0.0
