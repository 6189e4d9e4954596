"""From what a mimic model gives to vectors that are used: around the mean, with pieces, at a length."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from rarewords.lm import LanguageModel
from rarewords.mimic.approximated import approximations_of
from rarewords.mimic.readings import KnownWords
from rarewords.mimic.settings import MimicSettings
from rarewords.vectors import WordVectors


class Placing:
    """How a mimic model's vectors are placed among the embeddings of its language model.

    :param approximations: of words of several pieces, made beforehand; others are made when needed.
    """

    def __init__(
        self, lm: LanguageModel, settings: MimicSettings, approximations: WordVectors | None = None
    ) -> None:
        self._lm, self._settings, self.approximations = lm, settings, approximations
        whole = list(lm.whole_words.values())
        # What the model learns differences from; also where lengths are measured from.
        self.mean = lm.embeddings[whole].float().cpu().mean(0)
        self.origin = self.mean if settings.centre else torch.zeros(lm.dim)
        self._known = KnownWords.of(lm) if settings.scale else None

    def __call__(self, words: Sequence[str], mimicked: Tensor, contexts: np.ndarray) -> np.ndarray:
        """Vectors as they are used.

        :param mimicked: *Shape:* (words, dim)
        :param contexts: how many contexts each word had. *Shape:* (words,)
        :return: *Shape:* (words, dim)
        """
        vectors = mimicked + self.origin.to(mimicked.device)
        known, settings = self._known, self._settings
        if known is None:
            return vectors.cpu().numpy()
        directions = known.directions(vectors)
        weight = np.where(contexts > 0, settings.pieces, settings.pieces_alone).astype(np.float32)
        if weight.any():
            pieces = approximations_of(self._lm, known, words, weight > 0, self.approximations)
            shares = torch.from_numpy(weight).to(directions.device)
            directions = directions + shares[:, None] * known.directions(pieces)
        return known.at(directions, settings.scale).cpu().numpy()
