"""Contexts as token ids with the mask in the word's place, end to end and without padding."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rarewords.corpus.characters import fold
from rarewords.corpus.store import Store
from rarewords.corpus.text import split
from rarewords.errors import InputError
from rarewords.progress import progress
from rarewords.tokens import Tokens

Span = tuple[str, int, int]  # a sentence, and the characters of the word in it


@dataclass(frozen=True)
class MaskedContexts:
    """The contexts of some words, each with the mask where the word stood, those of a word together.

    :param words: a word may come more than once.
    :param rows: the tokens of each context, special tokens included.
    :param blank: the place of the mask in each. *Shape:* (contexts,)
    :param counts: the number of contexts of each word. *Shape:* (words,)
    """

    words: Sequence[str]
    rows: list[np.ndarray]
    blank: np.ndarray
    counts: np.ndarray

    @property
    def owner(self) -> np.ndarray:
        """The word of each context. *Shape:* (contexts,)"""
        return np.repeat(np.arange(len(self.counts)), self.counts)


def contexts_of_words(
    tokens: Tokens, store: Store, words: Sequence[str], *, contexts: int | None = None, length: int = 64
) -> MaskedContexts:
    """The contexts of words in a store.

    :param contexts: at most this many per word.
    :param length: cut a context to this many tokens around the mask.
    """
    owners = [np.zeros(0, np.int64)]
    rows: list[np.ndarray] = []
    blanks: list[int] = []
    with progress("Reading contexts", unit="contexts") as bar:
        for owner, spans in store.context_texts(words, contexts):
            owners.append(owner)
            _encode(tokens, spans, length, rows, blanks)
            bar.advance(len(spans))
    owner = np.concatenate(owners)
    order = np.argsort(owner, kind="stable")
    counts = np.bincount(owner, minlength=len(words))
    ordered = [rows[at] for at in order.tolist()]
    return MaskedContexts(words, ordered, np.array(blanks, np.int64)[order], counts)


def contexts_of_sentences(
    tokens: Tokens, sentences: Sequence[tuple[str, str]], *, length: int = 64
) -> MaskedContexts:
    """One context for each pair of a word and a sentence; the word's first occurrence is masked."""
    spans: list[Span] = []
    for word, sentence in sentences:
        text = split(sentence, lower_case=False, sentences=False).text
        found = find_word(word, text, lower_case=tokens.lower_case)
        if found is None:
            raise InputError(f"the sentence {sentence[:60]!r} does not contain the word {word!r}")
        spans.append((text, *found))
    rows: list[np.ndarray] = []
    blanks: list[int] = []
    _encode(tokens, spans, length, rows, blanks)
    words, counts = [word for word, _ in sentences], np.ones(len(rows), np.int64)
    return MaskedContexts(words, rows, np.array(blanks, np.int64), counts)


def find_word(word: str, sentence: str, *, lower_case: bool) -> tuple[int, int] | None:
    """The characters of a word's first whole occurrence in a sentence.

    >>> find_word("cat", "a catalogue, a Cat.", lower_case=True)
    (15, 18)
    """
    found = split(sentence, lower_case=False, sentences=False)
    # Folding keeps the places of characters, which str.lower does not ("İ" becomes two characters).
    wanted, text = (fold(word), fold(found.text)) if lower_case else (word, found.text)
    for start, end in zip(found.starts.tolist(), found.ends.tolist(), strict=True):
        if text[start:end] == wanted:
            return start, end
    # A phrase, or a word that our splitting cuts differently: anywhere that is not inside another word.
    parts = r"\s+".join(map(re.escape, wanted.split()))
    inside = re.search(rf"(?<![^\W_]){parts}(?![^\W_])", text) if parts else None
    return inside.span() if inside else None


def _encode(
    tokens: Tokens, spans: Sequence[Span], length: int, rows: list[np.ndarray], blanks: list[int]
) -> None:
    """Append the token ids and the place of the mask of each sentence."""
    mask, before, after = tokens.mask_token, *tokens.special_tokens
    texts = [text[:start] + mask + text[end:] for text, start, end in spans]
    encoded = tokens.tokenizer(texts, add_special_tokens=False, verbose=False)["input_ids"] if texts else []
    mask_id = tokens.tokenizer.mask_token_id
    room = length - len(before) - len(after)
    for ids, (text, start, _) in zip(encoded, spans, strict=True):
        # The sentence may itself say "[MASK]": ours comes after those to the left of the word.
        blank = [place for place, token in enumerate(ids) if token == mask_id][text[:start].count(mask)]
        # The same number of tokens on either side; if one side is short, more of the other.
        first = max(0, min(blank - room // 2, len(ids) - room))
        rows.append(np.array([*before, *ids[first : first + room], *after], dtype=np.int32))
        blanks.append(blank - first + len(before))
