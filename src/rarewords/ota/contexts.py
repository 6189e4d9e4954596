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


_DRAWN = -1  # a place for a random word


@dataclass(frozen=True)
class Frame:
    """What stands around a word: token ids before and after it, -1 where a random word is drawn.

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
        """The frame of ``static``, ``random`` or ``masked`` contexts for a model."""
        start, end = model.tokens.special_tokens
        stop = (*model.pieces("."), *end)
        fillers = sorted(model.whole_words.values()) if contexts != "static" else []
        if contexts != "static" and not fillers:
            raise InputError(f"{model.name} has no whole words to draw contexts from; use contexts=static")
        before, after = {
            "static": (start, stop),
            "random": ((*start, _DRAWN), (_DRAWN, *stop)),
            "masked": ((*start, _DRAWN), (_DRAWN, model.tokens.tokenizer.mask_token_id, _DRAWN, *stop)),
        }[contexts]
        parts = (before, after, fillers)
        return cls(*(torch.tensor(part, dtype=torch.long, device=model.device) for part in parts))

    @property
    def left(self) -> int:
        """How many places are left of the word."""
        return len(self.before)

    @property
    def places(self) -> int:
        """How many places there are besides the word."""
        return len(self.before) + len(self.after)

    def sequences(self, pieces: Tensor, keys: Tensor, counters: Tensor) -> Tensor:
        """Token ids of each word in the contexts number ``counters``, the first context of all words first.

        :param pieces: *Shape:* (words, pieces)
        :param keys: *Shape:* (words,)
        :param counters: *Shape:* (contexts,)
        :return: *Shape:* (contexts * words, places + pieces)
        """
        words, contexts = len(pieces), len(counters)
        around = torch.cat([self.before, self.after]).repeat(contexts * words, 1)
        drawn = around[0] == _DRAWN if len(around) else around.new_zeros(0, dtype=torch.bool)
        if len(self.fillers) and len(around):
            slots = drawn.nonzero()[:, 0]
            numbers = (
                len(slots) * counters[:, None] + torch.arange(len(slots), device=keys.device)
            ).flatten()
            found = self.fillers[draw(keys, numbers, len(self.fillers))].view(contexts, len(slots), words)
            around[:, slots] = found.transpose(1, 2).reshape(-1, len(slots))
        return torch.cat([around[:, : self.left], pieces.repeat(contexts, 1), around[:, self.left :]], dim=1)
