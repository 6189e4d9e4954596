"""Which words of a text does a model lack, and which of them would gain most from teaching?

A word is missing if the model's tokenizer splits it. Splitting alone does no harm: ``red-tailed`` is read as
two words the model knows. Fragments do. What a word *loses* is therefore the share of its letters outside the
longest piece of each of its parts between hyphens and periods: ``skier ##s`` loses 1/6, ``ku ##m ##qua ##t``
4/7, ``red - tailed`` nothing, a word the tokenizer cannot represent everything. Words are ordered by count
times loss, without those of :mod:`.clutter`. The first of them can be looked at more closely: the model is
asked about them, and what it answers is compared with what their sentences say.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType

from rarewords.corpus.build import build
from rarewords.corpus.settings import CorpusSettings, WordRule
from rarewords.corpus.sources import find_sources, spool
from rarewords.corpus.store import Store
from rarewords.errors import HopelessError
from rarewords.injection import unfit_words
from rarewords.models import DEFAULT_MODEL, load_tokens, model_kind, shown_name
from rarewords.progress import progress
from rarewords.rules import words_with_rules
from rarewords.teaching.clutter import clutter
from rarewords.teaching.glossary import NO_DEFINITION, Glossary, GlossaryEntry
from rarewords.teaching.phrases import fixed_phrases, phrase_contexts
from rarewords.teaching.settings import TeachSettings
from rarewords.tokens import Tokens

_NO_WORDS = "the text holds no words; check the files, or use --rule any if it is not written in letters a-z"
_WORDS_AT_ONCE, _CHECKED_AT_ONCE = 4096, 512
_CONTEXTS = 16  # kept per word for a scan
_LOOKED_AT = 3  # words looked at for each that is wanted
_FEWEST_PHRASES = 4  # occurrences below which two words may stand together by chance
_COMPONENT = re.compile(r"[^.\-]+")


@dataclass(frozen=True)
class MissingWord:
    """A word the model does not have as one piece.

    :param lost: the share of its letters that is lost in fragments.
    :param need: how far the model's answers about it are from what its sentences say, from 0 to 1; None for a
        word the model was not asked about.
    :param answers: what the model answers about it now.
    """

    word: str
    count: int
    pieces: tuple[str, ...]
    lost: float
    need: float | None = None
    answers: tuple[str, ...] = ()

    @property
    def gain(self) -> float:
        """The occurrences that would gain: the count times the need, or times the loss if it is not known."""
        return self.count * (self.lost if self.need is None else self.need)


@dataclass(frozen=True)
class Scan:
    """What a model lacks of a text.

    :param words: distinct words of the text under the word rule; ``occurrences``: how often they occur.
    :param missing_words: those that are not one piece; ``missing_occurrences``: how often they occur.
    :param frequent_words: those of them that occur at least ``min_count`` times.
    :param missing: the first ``top`` of these, the largest gain first, without clutter.
    :param passed_over: the clutter met on the way to them, and why it is.
    :param left_out: distinct words that the rule leaves out of all of these.
    :param phrases: fixed phrases with a missing word, with their counts, the highest first, if asked for.
    """

    model: str
    words: int
    occurrences: int
    missing_words: int
    missing_occurrences: int
    frequent_words: int
    missing: tuple[MissingWord, ...]
    passed_over: dict[str, str]
    left_out: int
    phrases: dict[str, int]


def scan(
    texts: Sequence[str | Path],
    model: str = DEFAULT_MODEL,
    *,
    rule: WordRule = "english",
    min_count: int = 1,
    top: int | None = None,
    ask: int = 0,
    phrases: bool = False,
    device: str = "auto",
    field: str = "text",
    workers: int | None = None,
) -> Scan:
    """Count the words of a text and find those that the model's tokenizer splits.

    :param texts: files, folders, patterns, ``-`` for standard input.
    :param rule: what counts as a word: ``english`` (letters a-z, ``.`` and ``-``) or ``any`` script.
    :param top: list at most this many words.
    :param ask: ask a masked LM about the first N words; without it the model is not loaded.
    :param phrases: find fixed phrases of the missing words as well, which takes a second pass over the text.
    """
    tokens = load_tokens(model)
    settings = CorpusSettings(lower_case=tokens.lower_case, words=rule, contexts=_CONTEXTS)
    with TemporaryDirectory() as folder:
        files = spool(texts, Path(folder) / "spool")
        store = build(files, Path(folder) / "store", settings, field=field, workers=workers)
        counts = _counts(store)
        missing = missing_words(counts, tokens)
        frequent = [word for word in missing if word.count >= min_count]
        chosen, passed_over = worth_teaching(store, frequent, tokens, top)
        if ask and chosen and model_kind(model) == "masked":
            # torch, which counting does without, loads slowly
            from rarewords.teaching.learning import with_need

            read = with_need(model, device, store, chosen[:ask])
            chosen = sorted(read, key=_order) + chosen[ask:]
        fixed: dict[str, int] = {}
        if phrases:
            rare, least = {word.word for word in missing}, max(min_count, _FEWEST_PHRASES)
            fixed = fixed_phrases(find_sources(files, field), rare, counts, least, tokens.lower_case)
        return Scan(
            model=shown_name(model),
            words=len(counts),
            occurrences=sum(counts.values()),
            missing_words=len(missing),
            missing_occurrences=sum(word.count for word in missing),
            frequent_words=len(frequent),
            missing=tuple(chosen),
            passed_over=passed_over,
            left_out=len(store) - len(counts),
            phrases=dict(list(fixed.items())[:top]),
        )


def worth_teaching(
    store: Store, missing: Sequence[MissingWord], tokens: Tokens, top: int | None
) -> tuple[list[MissingWord], dict[str, str]]:
    """The first ``top`` words that are not clutter, and the clutter met on the way to them."""
    chosen: list[MissingWord] = []
    passed_over: dict[str, str] = {}
    for start in range(0, len(missing), _CHECKED_AT_ONCE):
        batch = missing[start : start + _CHECKED_AT_ONCE]
        found = clutter(store, {word.word: word.count for word in batch}, tokens.whole_words)
        for word in batch:
            if len(chosen) == top:
                return chosen, passed_over
            if word.word in found:
                passed_over[word.word] = found[word.word]
            else:
                chosen.append(word)
    return chosen, passed_over


def missing_words(counts: Mapping[str, int], tokens: Tokens) -> list[MissingWord]:
    """The words that the tokenizer splits, the largest gain first; not those taught with their pieces."""
    words, missing, taught = list(counts), [], words_with_rules(tokens.tokenizer)
    with progress("Splitting words", total=len(words), unit="words") as bar:
        for start in range(0, len(words), _WORDS_AT_ONCE):
            batch = words[start : start + _WORDS_AT_ONCE]
            for word, pieces in zip(batch, tokens.located_pieces(batch), strict=True):
                ids = [token for token, _, _ in pieces]
                unknown = not ids or tokens.has_unknown(ids)
                if (len(ids) != 1 or unknown) and word not in taught:
                    lost = 1.0 if unknown else _lost(word, [(a, b) for _, a, b in pieces])
                    missing.append(MissingWord(word, counts[word], tuple(tokens.piece_strings(ids)), lost))
            bar.advance(len(batch))
    return sorted(missing, key=_order)


def _order(word: MissingWord) -> tuple[float, int, str]:
    return -word.gain, -word.count, word.word


@dataclass(frozen=True)
class ChosenWords:
    """Words to teach with their counts in the text, and words that are not taught, with the reason.

    :param passed_over: words that a search of the text found not to be worth teaching.
    """

    counts: dict[str, int]
    refused: dict[str, str]
    passed_over: dict[str, str]


def choose_words(
    store: Store | None,
    tokens: Tokens,
    settings: TeachSettings,
    listed: Sequence[str] | None = None,
    glossary: Glossary = MappingProxyType({}),
) -> ChosenWords:
    """Choose among the words of a text; it is an error if there is nothing to teach.

    :param glossary: definitions, by the words as the model spells them.

    :param listed: the user's own list; without it the text is searched for words worth teaching, three times
        as many as ``settings.top``, to look at them more closely.
    """
    known = _counts(store) if store else {}
    refused: dict[str, str] = {}
    passed_over: dict[str, str] = {}
    if listed is None:
        assert store is not None  # without a text there is a list
        asked = {word: count for word, count in known.items() if count >= settings.min_count}
        missing = missing_words(asked, tokens)
        losing = [word for word in missing if word.lost > 0]
        worth, passed_over = worth_teaching(store, losing, tokens, _LOOKED_AT * settings.top)
        wanted = {word.word: word.count for word in worth}
    else:
        folded = list(dict.fromkeys(map(tokens.spelled, listed)))
        if store:
            phrases = {word: len(phrase_contexts(store, word)) for word in folded if word not in known}
            known |= {word: count for word, count in phrases.items() if count}
        for word, pieces in zip(folded, tokens.pieces_of(folded), strict=True):
            if len(pieces) == 1 and not tokens.has_unknown(pieces):
                refused[word] = "the model already has it as one piece"
            elif word not in known and word not in glossary:
                refused[word] = "the text does not contain it as a word"
            elif word not in known and glossary[word] == GlossaryEntry():
                refused[word] = NO_DEFINITION
        wanted = {word: known.get(word, 0) for word in folded if word not in refused}
    again = "the model was taught it already; `rarewords forget` it first to teach it again"
    refused |= {word: again for word in wanted if word in tokens.taught}
    others = [word for word in wanted if word not in tokens.taught]
    refused |= unfit_words(tokens.tokenizer, others, slash=settings.slash)
    chosen = {word: count for word, count in wanted.items() if word not in refused}
    if not chosen and refused:
        word, reason = next(iter(refused.items()))
        raise HopelessError(f"none of the {len(refused)} words can be taught; {word!r}: {reason}")
    if not chosen:
        none = f"the text has no word worth teaching: none that is split occurs {settings.min_count} times"
        raise HopelessError(f"{none}; give more text, a lower --min-count, or a list with --words")
    return ChosenWords(chosen, refused, passed_over)


def _counts(store: Store) -> dict[str, int]:
    words, counts = store.counts()
    if not words:
        raise HopelessError(_NO_WORDS)
    return dict(zip(words, counts.tolist(), strict=True))


def _lost(word: str, spans: list[tuple[int, int]]) -> float:
    """The share of the letters outside the longest piece of each part between hyphens and periods.

    >>> _lost("skiers", [(0, 5), (5, 6)])
    0.16666666666666666
    >>> _lost("red-tailed", [(0, 3), (3, 4), (4, 10)])
    0.0
    """
    letters = kept = 0
    for part in _COMPONENT.finditer(word):
        letters += part.end() - part.start()
        kept += max((min(b, part.end()) - max(a, part.start()) for a, b in spans), default=0)
    return 1 - kept / letters if letters else 0.0
