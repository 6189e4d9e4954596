"""The sequences a word is seen in, and randomness that belongs to the word alone.

A word's contexts follow from the seed and its pieces by counting and mixing bits, on any device. So they
are the same whatever batch, shard or machine the word is computed in.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from rarewords.errors import InputError
from rarewords.lm import LanguageModel

_GOLDEN = 0x9E3779B97F4A7C15 - 2**64
_MIX_1 = 0xBF58476D1CE4E5B9 - 2**64
_MIX_2 = 0x94D049BB133111EB - 2**64


def word_key(pieces: Sequence[int], seed: int) -> int:
    """A 64-bit number (signed) for a seed and a word's pieces; equal pieces have equal keys."""
    text = f"{seed}:{','.join(map(str, pieces))}".encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little", signed=True)


def draw(keys: Tensor, counters: Tensor, choices: int) -> Tensor:
    """Uniform random numbers below ``choices``, the ``counters``-th ones of each key.

    :param keys: int64. *Shape:* (words,)
    :param counters: int64, not negative. *Shape:* (draws,)
    :return: int64. *Shape:* (draws, words)
    """
    mixed = keys[None, :] + (counters[:, None] + 1) * _GOLDEN
    mixed = (mixed ^ _shift(mixed, 30)) * _MIX_1
    mixed = (mixed ^ _shift(mixed, 27)) * _MIX_2
    mixed = mixed ^ _shift(mixed, 31)
    return (_shift(mixed, 33) * choices) >> 31


def _shift(number: Tensor, bits: int) -> Tensor:
    # torch shifts int64 with the sign; the mixing needs zeros from the left.
    return (number >> bits) & ((1 << (64 - bits)) - 1)


@dataclass(frozen=True)
class Frame:
    """What stands around a word: ``before``, a random word or none, the word, another or none, ``after``.

    All on the model's device, so that making sequences never waits for a copy.

    :param before: *Shape:* (places,)
    :param after: *Shape:* (places,)
    :param fillers: the ids random words are drawn from; empty for the static frame. *Shape:* (choices,)
    """

    before: Tensor
    after: Tensor
    fillers: Tensor

    @classmethod
    def of(cls, model: LanguageModel, contexts: str) -> Frame:
        """The frame of ``random`` or ``static`` contexts for a model."""
        start, end = model.tokens.special_tokens
        fillers = sorted(model.whole_words.values()) if contexts == "random" else []
        if contexts == "random" and not fillers:
            raise InputError(f"{model.name} has no whole words to draw contexts from; use contexts=static")
        parts = (start, (*model.pieces("."), *end), fillers)
        return cls(*(torch.tensor(part, dtype=torch.long, device=model.device) for part in parts))

    @property
    def left(self) -> int:
        """How many places are left of the word."""
        return len(self.before) + (len(self.fillers) > 0)

    @property
    def places(self) -> int:
        """How many places there are besides the word."""
        return self.left + len(self.after) + (len(self.fillers) > 0)

    def sequences(self, pieces: Tensor, keys: Tensor, counters: Tensor) -> Tensor:
        """Token ids of each word in the contexts number ``counters``, the first context of all words first.

        :param pieces: *Shape:* (words, pieces)
        :param keys: *Shape:* (words,)
        :param counters: *Shape:* (contexts,)
        :return: *Shape:* (contexts * words, places + pieces)
        """
        words, contexts = len(pieces), len(counters)
        middle = pieces.repeat(contexts, 1)
        before, after = (part.expand(len(middle), -1) for part in (self.before, self.after))
        parts = [before, middle, after]
        if len(self.fillers):
            pairs = torch.stack([2 * counters, 2 * counters + 1], dim=1).flatten()
            drawn = self.fillers[draw(keys, pairs, len(self.fillers))].view(contexts, 2, words)
            parts.insert(1, drawn[:, 0].reshape(-1, 1))
            parts.insert(3, drawn[:, 1].reshape(-1, 1))
        return torch.cat(parts, dim=1)
