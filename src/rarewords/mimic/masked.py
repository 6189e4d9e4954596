"""Contexts as token ids with the mask in the word's place, end to end and without padding."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rarewords.corpus.store import Store
from rarewords.corpus.text import split
from rarewords.errors import InputError
from rarewords.progress import progress
from rarewords.tokens import Tokens

Span = tuple[str, int, int]


@dataclass(frozen=True)
class MaskedContexts:
    """The contexts of a list of words, each with the mask where the word stood.

    :param ids: the tokens of all contexts, special tokens included, end to end. *Shape:* (tokens,)
    :param starts: where each context starts. *Shape:* (contexts + 1,)
    :param blank: the place of the mask in each context. *Shape:* (contexts,)
    :param word_starts: where each word's contexts start. *Shape:* (words + 1,)
    """

    ids: np.ndarray
    starts: np.ndarray
    blank: np.ndarray
    word_starts: np.ndarray

    def __len__(self) -> int:
        return len(self.blank)

    @property
    def counts(self) -> np.ndarray:
        """The number of contexts of each word. *Shape:* (words,)"""
        return np.diff(self.word_starts)

    @property
    def owner(self) -> np.ndarray:
        """The word of each context. *Shape:* (contexts,)"""
        return np.repeat(np.arange(len(self.counts)), self.counts)

    @property
    def lengths(self) -> np.ndarray:
        """The number of tokens of each context. *Shape:* (contexts,)"""
        return np.diff(self.starts)

    def rows(self, contexts: np.ndarray) -> np.ndarray:
        """The tokens of contexts of one length. *Shape:* (contexts, length)"""
        length = int(self.lengths[contexts[0]])
        rows: np.ndarray = self.ids[self.starts[contexts][:, None] + np.arange(length)[None, :]]
        return rows


def contexts_of_words(
    tokens: Tokens, store: Store, words: Sequence[str], *, limit: int | None = None, length: int = 64
) -> MaskedContexts:
    """The contexts of words in a store.

    :param limit: at most so many contexts of each word.
    :param length: cut a context to so many tokens around the mask.
    """
    owners: list[np.ndarray] = []
    found: list[tuple[np.ndarray, int]] = []
    with progress("Reading contexts", total=None, unit="contexts") as bar:
        for owner, spans in store.context_texts(words, limit):
            owners.append(owner)
            found += _encode(tokens, spans, length)
            bar.advance(len(spans))
    return _joined(len(words), np.concatenate([np.zeros(0, np.int64), *owners]), found)


def contexts_of_sentences(
    tokens: Tokens, sentences: Mapping[str, Sequence[str]], *, length: int = 64
) -> MaskedContexts:
    """Sentences given as text; each must contain its word, whose first occurrence is masked."""
    spans = [_span(tokens, word, one) for word, own in sentences.items() for one in own]
    owner = np.repeat(np.arange(len(sentences)), [len(own) for own in sentences.values()])
    return _joined(len(sentences), owner.astype(np.int64), _encode(tokens, spans, length))


def find_word(word: str, sentence: str, *, lower_case: bool) -> tuple[int, int] | None:
    """The characters of a word's first whole occurrence in a sentence."""
    found = split(sentence, lower_case=False, sentences=False)
    wanted, text = (word.lower(), found.text.lower()) if lower_case else (word, found.text)
    spans = zip(found.starts.tolist(), found.ends.tolist(), strict=True)
    for start, end in spans:
        if text[start:end] == wanted:
            return start, end
    # A phrase, or a word our own splitting cuts differently: anywhere that is not inside another word.
    start = text.find(wanted)
    while start >= 0:
        end = start + len(wanted)
        before, after = text[start - 1 : start], text[end : end + 1]
        if not (before.isalnum() or after.isalnum()):
            return start, end
        start = text.find(wanted, start + 1)
    return None


def _span(tokens: Tokens, word: str, sentence: str) -> Span:
    text = split(sentence, lower_case=False, sentences=False).text
    found = find_word(word, text, lower_case=tokens.lower_case)
    if found is None:
        raise InputError(f"the sentence {_shortened(sentence)!r} does not contain the word {word!r}")
    return text, *found


def _shortened(text: str, limit: int = 60) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _encode(tokens: Tokens, spans: Iterable[Span], length: int) -> list[tuple[np.ndarray, int]]:
    """Token ids and the mask's place for each sentence."""
    spans = list(spans)
    if not spans:
        return []
    mask, before, after = tokens.mask_token, *tokens.special_tokens
    texts = [text[:start] + mask + text[end:] for text, start, end in spans]
    # The sentence may itself say "[MASK]": ours is the one behind those left of the word.
    earlier = [text[:start].count(mask) for text, start, _ in spans]
    mask_id = tokens.tokenizer.mask_token_id
    room = length - len(before) - len(after)
    result = []
    for ids, skipped in zip(
        tokens.tokenizer(texts, add_special_tokens=False, verbose=False)["input_ids"], earlier, strict=True
    ):
        blank = [place for place, token in enumerate(ids) if token == mask_id][skipped]
        # As much on either side as there is, and where one side is short, more of the other.
        first = max(0, min(blank - room // 2, len(ids) - room))
        cut = ids[first : first + room]
        row = np.array([*before, *cut, *after], dtype=np.int32)
        result.append((row, blank - first + len(before)))
    return result


def _joined(words: int, owner: np.ndarray, found: list[tuple[np.ndarray, int]]) -> MaskedContexts:
    order = np.argsort(owner, kind="stable")
    rows = [found[place][0] for place in order.tolist()]
    blank = np.array([found[place][1] for place in order.tolist()], dtype=np.int64)
    starts = np.cumsum([0, *(len(row) for row in rows)], dtype=np.int64)
    ids = np.concatenate([np.zeros(0, np.int32), *rows])
    word_starts = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=words))]).astype(np.int64)
    return MaskedContexts(ids, starts, blank, word_starts)
