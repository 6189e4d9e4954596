"""Known words split into pieces, as if they had never made it into the vocabulary.

What a model makes of a word's pieces can be compared with the truth only where the truth is known: for words
that have an embedding of their own. ``walking`` is split into ``walk ##ing``; the model is shown these pieces
or their one-token approximation, and what comes out is held against the embedding of ``walking``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from rarewords.lm import LanguageModel
from rarewords.tokens import Tokens

_SHORTEST_HEAD = 2


@dataclass(frozen=True)
class Splitter:
    """The pieces a vocabulary has, by their text; tokenizers mark them differently, so they are observed.

    :param heads: pieces that begin a word.
    :param tails: pieces that go on.
    """

    heads: dict[str, int]
    tails: dict[str, int]
    seed: int = 0

    @classmethod
    def of(cls, lm: LanguageModel, seen: Sequence[str], seed: int = 0) -> Splitter:
        """Collect the pieces of words seen; a few ten thousand words show nearly all pieces."""
        heads = dict(lm.whole_words)
        tails: dict[str, int] = {}
        # Behind an apostrophe or a hyphen tokenizers begin anew: only words of letters show how words go on.
        for pieces in surfaces(lm.tokens, [word for word in seen if word.isalpha()]):
            for place, (text, token) in enumerate(pieces):
                (tails if place else heads).setdefault(text, token)
        return cls(heads, tails, seed)

    def split(self, word: str) -> list[int] | None:
        """Two or more pieces that spell the word; None where the vocabulary has none.

        The head is the longest piece of at most a length drawn for this word, or the next longer; the rest is
        taken greedily from left to right, as WordPiece does.
        """
        if len(word) <= _SHORTEST_HEAD:
            return None
        drawn = self._drawn(word)
        for size in (*range(drawn, _SHORTEST_HEAD - 1, -1), *range(drawn + 1, len(word))):
            head = self.heads.get(word[:size])
            rest = None if head is None else self._go_on(word[size:])
            if head is not None and rest is not None:
                return [head, *rest]
        return None

    def _drawn(self, word: str) -> int:
        summed = int.from_bytes(hashlib.sha256(f"{self.seed} {word}".encode()).digest()[:8], "big")
        return _SHORTEST_HEAD + summed % (len(word) - _SHORTEST_HEAD)

    def _go_on(self, text: str) -> list[int] | None:
        found: list[int] = []
        while text:
            size = next((n for n in range(len(text), 0, -1) if text[:n] in self.tails), None)
            if size is None:
                return None
            found.append(self.tails[text[:size]])
            text = text[size:]
        return found


def surfaces(tokens: Tokens, words: Sequence[str]) -> list[list[tuple[str, int]]]:
    """The pieces of words with the text each covers: ``kumquat -> [("ku", 13970), ("m", 2213), …]``.

    Words whose pieces do not spell them letter by letter, such as those with accents a tokenizer strips, give
    nothing.
    """
    found = []
    for word, pieces in zip(words, tokens.pieces_with_text(words), strict=True):
        whole = "".join(text for text, _ in pieces) == word and all(text for text, _ in pieces)
        found.append(pieces if whole else [])
    return found
