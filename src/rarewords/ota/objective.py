"""The distance one-token approximation minimises.

For a word with pieces ``w`` in a context ``(l, r)`` and one vector ``v`` in its place,

    d(v) = sum over layers k and places i of l and r  || h_i^k(l; w; r) - h_i^k(l; v; r) ||^2

where a place right of the word keeps its token, not its number: the word is cut out of both sequences.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from rarewords.errors import InputError
from rarewords.lm import LanguageModel
from rarewords.ota.contexts import Frame
from rarewords.ota.settings import OtaSettings


@dataclass(frozen=True)
class Objective:
    """The distance for one model, frame, choice of layers and side."""

    model: LanguageModel
    frame: Frame
    layers: tuple[int, ...]
    side: str

    @classmethod
    def of(cls, model: LanguageModel, settings: OtaSettings, contexts: str | None = None) -> Objective:
        """The objective that settings ask for, with the model's layers checked.

        :param contexts: others than those of the settings.
        """
        layers = settings.layers or tuple(range(1, model.layers + 1))
        if max(layers) > model.layers:
            raise InputError(f"{model.name} has {model.layers} layers, so there is no layer {max(layers)}")
        return cls(model, Frame.of(model, contexts or settings.contexts), layers, settings.side)

    @torch.no_grad()
    def targets(
        self, pieces: Tensor, keys: Tensor, counters: Tensor, vectors: Tensor | None = None
    ) -> Tensor:
        """Hidden states around the word as its pieces make them.

        :param pieces: *Shape:* (words, pieces)
        :param keys: *Shape:* (words,)
        :param counters: which contexts. *Shape:* (contexts,)
        :param vectors: what stands in the place of each last piece. *Shape:* (words, dim)
        :return: *Shape:* (layers, contexts * words, places, hidden)
        """
        sequences = self.frame.sequences(pieces, keys, counters)
        width = pieces.shape[1]
        if vectors is None:
            return self._around(self.model.embed(sequences), width)
        last = torch.full((len(sequences),), self.frame.left + width - 1, device=vectors.device)
        return self._around(self.model.embed(sequences, last, vectors.repeat(len(counters), 1)), width)

    def states(self, vectors: Tensor, keys: Tensor, counters: Tensor) -> Tensor:
        """Hidden states around one vector; gradients flow to ``vectors``.

        :param vectors: *Shape:* (words, dim)
        :return: *Shape:* (layers, contexts * words, places, hidden)
        """
        holes = torch.zeros(len(vectors), 1, dtype=torch.long, device=vectors.device)
        sequences = self.frame.sequences(holes, keys, counters)
        slots = torch.full((len(sequences),), self.frame.left, device=vectors.device)
        inputs = self.model.embed(sequences, slots, vectors.repeat(len(counters), 1))
        return self._around(inputs, 1)

    def distance(self, vectors: Tensor, targets: Tensor, keys: Tensor, counters: Tensor) -> Tensor:
        """The distance of each word's vector, mean over the contexts.

        :param vectors: *Shape:* (words, dim)
        :param targets: as :meth:`targets` gives them.
        :return: *Shape:* (words,)
        """
        gap = self.states(vectors, keys, counters) - targets
        return gap.float().pow(2).sum(dim=(0, 2, 3)).view(len(counters), len(vectors)).mean(dim=0)

    def _around(self, inputs: Tensor, width: int) -> Tensor:
        hidden = self.model.hidden_states(inputs)
        left, right = self.frame.left, self.frame.left + width
        chosen = torch.stack([hidden[layer] for layer in self.layers])
        if self.side == "left":
            return chosen[:, :, :left]
        if self.side == "right":
            return chosen[:, :, right:]
        return torch.cat([chosen[:, :, :left], chosen[:, :, right:]], dim=2)
