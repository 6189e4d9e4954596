"""How a tokenizer splits words in running text.

WordPiece writes ``ku ##m ##qua ##t``, byte-level BPE ``Ġk um qu at``. Nothing here knows such marks: a word's
subwords are the tokens that cover its characters, found by their offsets.
"""

import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, Literal

from tokenizers import Encoding

from rarewords.errors import InputError

Placement = Literal["append", "replace"]
WORD_SLOT = "<W>"
BLANK = re.compile(r"(?<![\w_])_(?![\w_])")
_BEFORE = "a "


def is_pattern(text: str) -> bool:
    """Whether a text has one ``<W>`` and one blank that stands alone."""
    return text.count(WORD_SLOT) == 1 and len(BLANK.findall(text)) == 1


def with_slot(
    ids: tuple[int, ...], start: int, end: int, slash: tuple[int, ...] | None = None
) -> tuple[tuple[int, ...], int]:
    """Make room for one embedding in place of a word's subwords, or behind them and a slash; and where it is.

    ``(CLS, ku, ##m, is, MASK), 1, 3 -> (CLS, slot, is, MASK), 1``, with slash
    ``(CLS, ku, ##m, /, slot, is, MASK), 4``. The slot holds the last subword until an embedding replaces it.
    """
    slot = ids[end - 1 : end]
    shown = slot if slash is None else ids[start:end] + slash + slot
    return ids[:start] + shown + ids[end:], start + len(shown) - 1


class Tokens:
    """The subwords of words under a fast Hugging Face tokenizer, one that reports offsets."""

    def __init__(self, tokenizer: Any) -> None:
        if not getattr(tokenizer, "is_fast", False):
            problem = f"{type(tokenizer).__name__} cannot report offsets"
            raise InputError(f"{problem}; save it as a fast tokenizer (tokenizer.json)", code="tokenizer")
        self.tokenizer = tokenizer

    def of_copy(self, tokenizer: Any) -> "Tokens":
        """The same for a copy of the tokenizer, with what was found out about its vocabulary."""
        same = Tokens(tokenizer)
        vars(same).update(vars(self) | {"tokenizer": tokenizer})
        return same

    @cached_property
    def lower_case(self) -> bool:
        """Whether the tokenizer ignores case."""
        upper, lower = self.encode(["The Rare WORDS of Alphabet", "the rare words of alphabet"])
        return bool(upper.ids == lower.ids)

    @cached_property
    def special_tokens(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The ids put before and after every text, such as ``([CLS],), ([SEP],)``."""
        (text,) = self.encode(["a"], special_tokens=True)
        inside = [place for place, special in enumerate(text.special_tokens_mask) if not special]
        return tuple(text.ids[: inside[0]]), tuple(text.ids[inside[-1] + 1 :])

    def spelled(self, word: str) -> str:
        """A word with single spaces, in small letters if the tokenizer ignores case."""
        plain = " ".join(word.split())
        return plain.lower() if self.lower_case else plain

    def behind_a_word(self, text: str) -> tuple[int, ...]:
        """The ids of a text behind a word and a space; the space may be a token of its own."""
        word, both = self.encode(["a", f"a {text}"])
        return tuple(both.ids[len(word.ids) :])

    @property
    def mask_token(self) -> str:
        """The mask token as text."""
        if self.tokenizer.mask_token is None:
            problem = "the tokenizer has no mask token, so blanks cannot be filled; use a masked LM"
            raise InputError(problem, code="tokenizer")
        return str(self.tokenizer.mask_token)

    def subwords(self, word: str) -> list[int]:
        """The ids of a word's subwords in running text, that is, after a space.

        >>> tokens.subword_strings(tokens.subwords("kumquat"))  # doctest: +SKIP
        ['ku', '##m', '##qua', '##t']
        """
        return self.subwords_of([word])[0]

    def subwords_of(self, words: Sequence[str]) -> list[list[int]]:
        """:meth:`subwords` for many words at once."""
        return [[token for token, _, _ in one] for one in self.located_subwords(words)]

    def encode(self, texts: Sequence[str], *, special_tokens: bool = False) -> list[Encoding]:
        """The tokens of each text with their offsets; three times as fast as through transformers."""
        backend = self.tokenizer.backend_tokenizer
        if backend.truncation or backend.padding:  # a change disturbs other threads that use the tokenizer
            backend.no_truncation()
            backend.no_padding()
        found: list[Encoding] = backend.encode_batch(texts, add_special_tokens=special_tokens)
        return found

    def located_subwords(self, words: Sequence[str]) -> list[list[tuple[int, int, int]]]:
        """The subwords of each word and the letters each covers: ``skiers -> (skier, 0, 5), (##s, 5, 6)``."""
        first = len(_BEFORE)
        # The space belongs to the word: Ġ and ▁ stand for it and may be separate tokens.
        return [
            [
                (token, max(start - first, 0), end - first)
                for token, (start, end) in zip(one.ids, one.offsets, strict=True)
                if end > max(first - 1, start)
            ]
            for one in self.encode([_BEFORE + word for word in words])
        ]

    def subword_strings(self, ids: Iterable[int]) -> list[str]:
        """Token ids as the vocabulary spells them, marks included."""
        return [str(token) for token in self.tokenizer.convert_ids_to_tokens(list(ids))]

    def has_unknown(self, ids: Iterable[int]) -> bool:
        """Whether any of the subwords is the unknown token."""
        unknown = self.tokenizer.unk_token_id
        return unknown is not None and unknown in ids

    def text_of(self, ids: Iterable[int]) -> list[str]:
        """Each token as the text it stands for in running text, without marks: ``['fruit', '##s']``."""
        # Decoded one at a time, a token loses its space mark. WordPiece's ##, which marks a continuation, stays.
        decode, ids = self.tokenizer.backend_tokenizer.decode, list(ids)
        return [
            name if name.startswith("##") else decode([token], skip_special_tokens=False).strip()
            for token, name in zip(ids, self.subword_strings(ids), strict=True)
        ]

    @cached_property
    def one_subword(self) -> dict[str, int]:
        """Vocabulary entries that running text splits no further, with their ids: ``fruit`` ``,`` ``20th``"""
        tokens = sorted(set(self.tokenizer.get_vocab().values()) - set(self.tokenizer.all_special_ids))
        texts = self.text_of(tokens)
        entries = zip(texts, tokens, self.subwords_of(texts), strict=True)
        return {text: token for text, token, one in entries if one == [token] and text.split() == [text]}

    @cached_property
    def whole_words(self) -> dict[str, int]:
        """Vocabulary entries that are words by themselves: letters only, one subword in running text."""
        return {text: token for text, token in self.one_subword.items() if text.isalpha()}

    def encode_blanks(self, patterns: Sequence[str], words: Sequence[str]) -> list[tuple[tuple[int, ...], int, int]]:
        """Put each word into its pattern, such as ``"a <W> is a kind of _ ."``, and tokenize that as running text.

        A pattern without ``<W>`` goes with an empty word.

        :return: token ids with one mask, and where the word's subwords start and end in them.
        """
        filled = list(map(self._fill_slots, patterns, words))
        encoded = self.encode([text for text, _, _ in filled], special_tokens=True)
        mask, result = self.tokenizer.mask_token_id, []
        for one, (text, start, end) in zip(encoded, filled, strict=True):
            if one.ids.count(mask) != 1:
                raise InputError(f"expected one blank in {text!r}, found {one.ids.count(mask)}", code="pattern")
            first = start - 1 if start and text[start - 1] == " " else start
            inside = [
                place
                for place, (token, (left, right)) in enumerate(zip(one.ids, one.offsets, strict=True))
                if right > max(left, first) and left < end and token != mask
            ]
            if not inside and end > start:
                raise InputError(f"the tokenizer drops the word {text[start:end]!r}; use another word", code="pattern")
            result.append((tuple(one.ids), inside[0], inside[-1] + 1) if inside else (tuple(one.ids), 0, 0))
        return result

    def _fill_slots(self, pattern: str, word: str) -> tuple[str, int, int]:
        """A pattern with its mask and its word, and where the word starts and ends."""
        if pattern.count(WORD_SLOT) > 1 or len(BLANK.findall(pattern)) != 1:
            problem = f"a pattern needs one _ that stands alone, at most one {WORD_SLOT}: {pattern!r}"
            raise InputError(problem, code="pattern")
        if (WORD_SLOT in pattern) != bool(word.strip()) or word.isspace():
            reason = "its keyword is empty" if WORD_SLOT in pattern else f"it has no {WORD_SLOT} for {word!r}"
            raise InputError(f"the pattern {pattern!r} cannot be used: {reason}", code="pattern")
        masked = BLANK.sub(lambda _: self.mask_token, pattern)
        start = masked.index(WORD_SLOT) if word else 0
        return masked.replace(WORD_SLOT, word), start, start + len(word)
