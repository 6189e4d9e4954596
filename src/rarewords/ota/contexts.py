"""The contexts a word is shown in: frames around it, with random words.

The random words follow from the seed, the word's subwords and the number of the context, by mixing bits. They
are the same on every device, whatever batch, process or machine computes the word.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from rarewords.errors import InputError
from rarewords.lm import LanguageModel

# The constants of splitmix64, as signed numbers.
_GOLDEN = 0x9E3779B97F4A7C15 - 2**64
_MIX_1 = 0xBF58476D1CE4E5B9 - 2**64
_MIX_2 = 0x94D049BB133111EB - 2**64
_DRAWN = -1  # stands for a random word
_FREQUENT = 1000  # the masked frame draws from the first whole words of a vocabulary, its most frequent ones


def word_key(subwords: Sequence[int], seed: int) -> int:
    """A signed 64-bit number for a seed and a word's subwords."""
    text = f"{seed}:{','.join(map(str, subwords))}".encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little", signed=True)


def draw(keys: Tensor, counters: Tensor, choices: int) -> Tensor:
    """Uniform random numbers below ``choices``: for each key its ``counters``-th numbers.

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
    """The tokens around a word, on the model's device.

    :param around: token ids without the word. *Shape:* (places,)
    :param left: how many of them are left of the word.
    :param drawn: the places that hold random words. *Shape:* (drawn,)
    :param fillers: token ids of the words to draw from. *Shape:* (choices,)
    """

    around: Tensor
    left: int
    drawn: Tensor
    fillers: Tensor

    @classmethod
    def of(cls, lm: LanguageModel, kind: str, *, frequent: bool = True) -> Self:
        """The ``static``, ``random`` or ``masked`` frame for a model; a causal LM has no mask in it.

        :param frequent: draw the words of the masked frame from the frequent ones, otherwise from all.
        """
        start, end = lm.tokens.special_tokens
        mask, stop = [lm.tokens.tokenizer.mask_token_id], [*lm.subwords("."), *end]
        if lm.kind == "causal":
            mask, stop = [], lm.subwords(".")
        fillers = sorted(lm.whole_words.values())
        if kind != "static" and not fillers:
            raise InputError(f"{lm.name} has no whole words to draw; use the static frame", code="tokenizer")
        if kind == "masked":
            if None in mask:
                raise InputError(f"{lm.name} has no mask token; use the random frame", code="tokenizer")
            fillers = fillers[:_FREQUENT] if frequent else fillers
        before, after = {
            "static": (start, stop),
            "random": ((*start, _DRAWN), (_DRAWN, *stop)),
            "masked": ((*start, _DRAWN), (_DRAWN, *mask, _DRAWN, *stop)),
        }[kind]
        around = torch.tensor([*before, *after], dtype=torch.long, device=lm.device)
        drawn = (around == _DRAWN).nonzero().flatten()
        return cls(around, len(before), drawn, torch.tensor(fillers, dtype=torch.long, device=lm.device))

    def sequences(self, subwords: Tensor, keys: Tensor, context: int) -> Tensor:
        """Token ids of each word in its context number ``context``.

        :param subwords: *Shape:* (words, subwords)
        :param keys: *Shape:* (words,)
        :return: *Shape:* (words, places + subwords)
        """
        around, slots = self.around.repeat(len(subwords), 1), len(self.drawn)
        if slots:
            counters = torch.arange(context * slots, (context + 1) * slots, device=keys.device)
            around[:, self.drawn] = self.fillers[draw(keys, counters, len(self.fillers))].T
        return torch.cat([around[:, : self.left], subwords, around[:, self.left :]], dim=1)
