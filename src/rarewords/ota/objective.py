"""The distance that one-token approximation minimises.

For a word with pieces ``w`` in a context ``(l, r)``, and one vector ``v`` in the place of the pieces,

    d(v | l, r) = sum over layers k and positions i of l and r  || h_i^k(l; w; r) - h_i^k(l; v; r) ||^2

The word itself is cut out of both sequences, so a token right of it is compared with itself although it has
moved. In the place of w there may be the pieces, *or* and a vector; then v *condenses* them, and does alone
what ``word or <vector>`` does in the model. ``balanced`` divides the sum of each layer by the mean
square of the numbers in h^k(l; w; r), so that layers with large states do not decide alone; the paper does
not. In a causal LM the states of l are the same with v, so only those behind the word count, which is what
token distillation compares.

The baselines need no search: the embedding of the first piece, of the last, or their mean.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from torch import Tensor

from rarewords.errors import InputError
from rarewords.lm import LanguageModel
from rarewords.ota.contexts import Frame, word_key
from rarewords.ota.settings import OtaSettings

JOIN = "or"  # between the pieces of a word and the vector to be condensed with them


@dataclass(frozen=True)
class Batch:
    """Words with the same number of pieces, on the model's device.

    :param pieces: token ids. *Shape:* (words, pieces)
    :param keys: the numbers that their contexts are drawn by. *Shape:* (words,)
    :param behind: vectors that stand behind the pieces and ``JOIN``. *Shape:* (words, dim)
    """

    pieces: Tensor
    keys: Tensor
    behind: Tensor | None = None

    @classmethod
    def of(
        cls, lm: LanguageModel, pieces: Sequence[Sequence[int]], seed: int, behind: np.ndarray | None = None
    ) -> Self:
        """Words whose contexts are drawn by a seed."""
        keys = torch.tensor([word_key(word, seed) for word in pieces], device=lm.device)
        vectors = None if behind is None else torch.from_numpy(behind).to(lm.device)
        return cls(torch.tensor(pieces, device=lm.device), keys, vectors)

    def __len__(self) -> int:
        return len(self.pieces)

    def part(self, rows: slice) -> "Batch":
        """Some of the words."""
        return Batch(self.pieces[rows], self.keys[rows], None if self.behind is None else self.behind[rows])


class Objective:
    """The distance for one model, as the settings ask for; a layer that the model lacks is refused."""

    def __init__(self, lm: LanguageModel, settings: OtaSettings, *, frequent: bool = True) -> None:
        self.lm, self.balanced = lm, settings.balanced
        self.frame = Frame.of(lm, settings.frame, frequent=frequent)
        self.layers = settings.layers or tuple(range(1, lm.layers + 1))
        if max(self.layers) > lm.layers:
            raise InputError(f"{lm.name} has {lm.layers} layers, so there is no layer {max(self.layers)}")
        # bfloat16 is quicker on a GPU, and the average evens out rounding, as it does contexts.
        self.half = settings.newton and lm.device.type == "cuda"

    @torch.no_grad()
    def targets(self, batch: Batch, context: int) -> Tensor:
        """h(l; w; r): hidden states around the pieces, in the words' context number ``context``.

        :return: *Shape:* (layers, words, places, hidden)
        """
        pieces, slots = batch.pieces, None
        if batch.behind is not None:
            more = torch.tensor([*self.lm.tokens.behind_a_word(JOIN), 0], device=pieces.device)
            pieces = torch.cat([pieces, more.repeat(len(batch), 1)], dim=1)
            slots = torch.full((len(batch),), self.frame.left + pieces.shape[1] - 1, device=pieces.device)
        sequences = self.frame.sequences(pieces, batch.keys, context)
        return self._around(self.lm.embed(sequences, slots, batch.behind), pieces.shape[1])

    def states(self, vectors: Tensor, keys: Tensor, context: int) -> Tensor:
        """h(l; v; r): hidden states around one vector per word; gradients flow to ``vectors``.

        :param vectors: *Shape:* (words, dim)
        :return: *Shape:* (layers, words, places, hidden)
        """
        holes = torch.zeros(len(vectors), 1, dtype=torch.long, device=vectors.device)
        sequences = self.frame.sequences(holes, keys, context)
        slots = torch.full((len(vectors),), self.frame.left, device=vectors.device)
        return self._around(self.lm.embed(sequences, slots, vectors), 1)

    def distance(self, vectors: Tensor, targets: Tensor, keys: Tensor, context: int) -> Tensor:
        """d(v | l, r) of each word.

        :param vectors: *Shape:* (words, dim)
        :param targets: the result of :meth:`targets` for the same context.
        :return: *Shape:* (words,)
        """
        gap = (self.states(vectors, keys, context) - targets).float() / self.units(targets)
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


def baseline(lm: LanguageModel, pieces: Tensor, method: str) -> Tensor:
    """``first``, ``last`` or ``avg`` of the pieces' embeddings. *Shape:* (words, pieces) -> (words, dim)"""
    embedded = lm.embeddings[pieces].float()
    return {"first": embedded[:, 0], "last": embedded[:, -1], "avg": embedded.mean(dim=1)}[method]
