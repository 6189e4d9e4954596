"""Vectors that need no optimisation, to compare with: a word's first piece, its last, their mean."""

from __future__ import annotations

import torch
from torch import Tensor

from rarewords.lm import LanguageModel


def baseline(model: LanguageModel, pieces: Tensor, method: str) -> Tensor:
    """``first``, ``last`` or ``avg`` of the pieces' embeddings. *Shape:* (words, pieces) -> (words, dim)"""
    embedded = model.embeddings[pieces].float()
    if method == "first":
        return embedded[:, 0]
    if method == "last":
        return embedded[:, -1]
    return embedded.mean(dim=1)


def weighted_mean(model: LanguageModel, pieces: Tensor) -> Tensor:
    """The pieces' mean weighted by their letters. *Shape:* (words, pieces) -> (words, dim)"""
    names = model.tokens.text_of(pieces.flatten().tolist())
    letters = [max(1, len(name.removeprefix("##"))) for name in names]
    weights = torch.tensor(letters, dtype=torch.float32, device=pieces.device).view(pieces.shape)
    weights = weights / weights.sum(dim=1, keepdim=True)
    return torch.einsum("wp,wpd->wd", weights, model.embeddings[pieces].float())
