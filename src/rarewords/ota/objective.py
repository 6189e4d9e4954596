"""The distance that one-token approximation minimises, and the baselines, which need no search.

For a word with subwords ``w`` in a context ``(l, r)``, and one embedding ``v`` in the place of the subwords,

    d(v | l, r) = sum over layers k and positions i of l and r  || h_i^k(l; w; r) - h_i^k(l; v; r) ||^2

The word itself is cut out of both sequences, so a token right of it is compared with itself although it has
moved. ``balanced`` divides the sum of each layer by the mean square of the numbers in h^k(l; w; r), so that
layers with large states do not decide alone; the paper does not. In a causal LM only the states behind the
word differ.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from rarewords.errors import InputError
from rarewords.lm import LanguageModel
from rarewords.ota.contexts import Frame, word_key
from rarewords.ota.settings import OtaSettings


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

    def __len__(self) -> int:
        return len(self.subwords)


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
