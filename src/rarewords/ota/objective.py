"""The distance that one-token approximation minimises, in contexts that are drawn at random.

For a word with subwords ``w`` in a context ``(l, r)``, and one embedding ``v`` in the place of the subwords,

    d(v | l, r) = sum over layers k and positions i of l and r  || h_i^k(l; w; r) - h_i^k(l; v; r) ||^2

The word itself is cut out of both sequences, so a token right of it is compared with itself although it has
moved. ``balanced`` divides the sum of each layer by the mean square of the numbers in h^k(l; w; r), so that
layers with large states do not decide alone; the paper does not. In a causal LM only the states behind the
word differ.

A context is a frame with random words. They follow from the seed, the word's subwords and the number of the
context, by mixing bits: they are the same on every device, whatever batch, process or machine computes the word.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from rarewords.errors import InputError
from rarewords.lm import LanguageModel
from rarewords.ota.settings import OtaSettings

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
        counters = torch.arange(context * slots, (context + 1) * slots, device=keys.device)
        around[:, self.drawn] = self.fillers[draw(keys, counters, len(self.fillers))].T
        return torch.cat([around[:, : self.left], subwords, around[:, self.left :]], dim=1)


@dataclass(frozen=True)
class Batch:
    """Words with the same number of subwords, on the model's device.

    :param subwords: token ids. *Shape:* (words, subwords)
    :param keys: the numbers that their contexts are drawn by. *Shape:* (words,)
    """

    subwords: Tensor
    keys: Tensor

    @classmethod
    def of(cls, lm: LanguageModel, subwords: Sequence[Sequence[int]], seed: int) -> Self:
        keys = torch.tensor([word_key(word, seed) for word in subwords], device=lm.device)
        return cls(torch.tensor(subwords, device=lm.device), keys)


class Objective:
    """The distance for one model, as the settings ask for; a layer that the model lacks is refused."""

    def __init__(self, lm: LanguageModel, settings: OtaSettings, *, frequent: bool = True) -> None:
        self.lm, self.balanced = lm, settings.balanced
        self.frame = Frame.of(lm, settings.frame, frequent=frequent)
        self.layers = settings.layers or tuple(range(1, lm.layers + 1))
        if max(self.layers) > lm.layers:
            raise InputError(f"{lm.name} has {lm.layers} layers, no layer {max(self.layers)}", code="ota")
        # bfloat16 is quicker on a GPU, and the average evens out rounding, as it does contexts.
        self.half = settings.newton and lm.device.type == "cuda"

    @torch.no_grad()
    def targets(self, batch: Batch, context: int) -> Tensor:
        """h(l; w; r): hidden states around the subwords, in the words' context number ``context``.

        :return: *Shape:* (layers, words, places, hidden)
        """
        sequences = self.frame.sequences(batch.subwords, batch.keys, context)
        return self._around(self.lm.embed(sequences), batch.subwords.shape[1])

    def states(self, embeddings: Tensor, keys: Tensor, context: int) -> Tensor:
        """h(l; v; r): hidden states around one embedding per word; gradients flow to ``embeddings``.

        :param embeddings: *Shape:* (words, dim)
        :return: *Shape:* (layers, words, places, hidden)
        """
        holes = torch.zeros(len(embeddings), 1, dtype=torch.long, device=embeddings.device)
        sequences = self.frame.sequences(holes, keys, context)
        slots = torch.full((len(embeddings),), self.frame.left, device=embeddings.device)
        return self._around(self.lm.embed(sequences, slots, embeddings), 1)

    def distance(self, embeddings: Tensor, targets: Tensor, keys: Tensor, context: int) -> Tensor:
        """d(v | l, r) of each word.

        :param embeddings: *Shape:* (words, dim)
        :param targets: the result of :meth:`targets` for the same context.
        :return: *Shape:* (words,)
        """
        gap = (self.states(embeddings, keys, context) - targets).float() / self.units(targets)
        return gap.pow(2).sum(dim=(0, 2, 3))

    def units(self, states: Tensor) -> Tensor:
        """What the states of each layer and word are measured in. *Shape:* (layers, words, 1, 1)"""
        squares = states.float().pow(2).mean(dim=(2, 3), keepdim=True)
        return squares.sqrt() if self.balanced else torch.ones_like(squares)

    def _around(self, inputs: Tensor, width: int) -> Tensor:
        """Hidden states without those of the ``width`` positions of the word."""
        with torch.autocast(self.lm.device.type, torch.bfloat16, enabled=self.half):
            hidden = self.lm.hidden_states(inputs)
        states = torch.stack([hidden[layer] for layer in self.layers])
        left = self.frame.left
        return torch.cat([states[:, :, :left], states[:, :, left + width :]], dim=2)


def baseline(lm: LanguageModel, subwords: Tensor, method: str) -> Tensor:
    """``first``, ``last`` or ``avg`` of the subwords' embeddings. *Shape:* (words, subwords) -> (words, dim)"""
    embedded = lm.embeddings[subwords].float()
    return {"first": embedded[:, 0], "last": embedded[:, -1], "avg": embedded.mean(dim=1)}[method]
