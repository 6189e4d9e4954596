"""Contexts as token ids with the mask in the word's place, end to end and without padding."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rarewords._internal.progress import progress
from rarewords.corpus.characters import fold
from rarewords.corpus.corpus import Context, Corpus
from rarewords.corpus.text import clean, split
from rarewords.errors import InputError
from rarewords.tokens import Tokens

_AROUND = ("", *" .,;:!?()[]\n")  # what ends a word of several letters, whatever follows


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
    tokens: Tokens, corpus: Corpus, words: Sequence[str], *, contexts: int | None = None, length: int = 64
) -> MaskedContexts:
    """The contexts of words in a corpus.

    :param contexts: at most this many per word.
    :param length: cut a context to this many tokens around the mask.
    """
    owners, rows, blanks = list[int](), list[np.ndarray](), list[int]()
    with progress("Reading contexts", unit="contexts") as bar:
        for owner, spans in corpus.context_texts(words, contexts):
            found = _encode(tokens, spans, length)
            owners += owner.tolist()
            rows += found[0]
            blanks += found[1]
            bar.advance(len(spans))
    order = np.argsort(owners, kind="stable")
    counts = np.bincount(np.array(owners, np.int64), minlength=len(words))
    return MaskedContexts(words, [rows[at] for at in order], np.array(blanks, np.int64)[order], counts)


def contexts_of_sentences(tokens: Tokens, sentences: Sequence[tuple[str, str]], *, length: int = 64) -> MaskedContexts:
    """One context for each pair of a word and a sentence; the word's first occurrence is masked."""
    spans: list[Context] = []
    for word, sentence in sentences:
        text = clean(sentence)
        found = find_word(word, text, lower_case=tokens.lower_case)
        if found is None:
            raise InputError(f"the sentence {sentence[:60]!r} does not contain {word!r}", code="word-not-found")
        spans.append(Context(text, *found))
    rows, blanks = _encode(tokens, spans, length)
    ones = np.ones(len(spans), np.int64)
    return MaskedContexts([word for word, _ in sentences], rows, np.array(blanks, np.int64), ones)


def find_word(word: str, sentence: str, *, lower_case: bool) -> tuple[int, int] | None:
    """The characters of a word's first whole occurrence in a sentence.

    >>> find_word("cat", "a catalogue, a Cat.", lower_case=True)
    (15, 18)
    """
    text = clean(sentence)
    # Folding keeps the places of characters, which str.lower does not ("İ" becomes two characters).
    wanted, text = (fold(word), fold(text)) if lower_case else (word, text)
    first = text.find(wanted)
    end = first + len(wanted)
    # Almost every word: letters between spaces or stops are one word however the rest is split.
    plain = wanted.isascii() and wanted.isalpha() and len(wanted) > 1
    if plain and first >= 0 and text[first - 1 : first] in _AROUND and text[end : end + 1] in _AROUND:
        return first, end
    found = split(sentence, lower_case=False, sentences=False)
    for start, end in zip(found.starts.tolist(), found.ends.tolist(), strict=True):
        if text[start:end] == wanted:
            return start, end
    # A phrase, or a word that our splitting cuts differently: anywhere that is not inside another word.
    parts = r"\s+".join(map(re.escape, wanted.split()))
    inside = re.search(rf"(?<![^\W_]){parts}(?![^\W_])", text) if parts else None
    return inside.span() if inside else None


def _encode(tokens: Tokens, spans: Sequence[Context], length: int) -> tuple[list[np.ndarray], list[int]]:
    """The token ids of each sentence, and the place of the mask in them."""
    mask, mask_id, (before, after) = tokens.mask_token, tokens.tokenizer.mask_token_id, tokens.special_tokens
    texts = [text[:start] + mask + text[end:] for text, start, end in spans]
    room = length - len(before) - len(after)
    rows, blanks = [], []
    for encoding, (text, start, _) in zip(tokens.encode(texts), spans, strict=True):
        ids = encoding.ids
        # The sentence may itself say "[MASK]": ours comes after those to the left of the word.
        blank = [place for place, token in enumerate(ids) if token == mask_id][text[:start].count(mask)]
        # The same number of tokens on either side; if one side is short, more of the other.
        first = max(0, min(blank - room // 2, len(ids) - room))
        rows.append(np.array([*before, *ids[first : first + room], *after], dtype=np.int32))
        blanks.append(blank - first + len(before))
    return rows, blanks
