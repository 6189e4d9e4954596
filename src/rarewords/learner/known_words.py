"""The words that a model has as one token: a space to place new words in."""

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor, nn

from rarewords._internal.engine import one_thread
from rarewords.errors import InputError
from rarewords.lm import LanguageModel


@dataclass(frozen=True)
class KnownWords:
    """The words a model knows, as a space to place new ones in.

    :param ids: their token ids. *Shape:* (words,)
    :param embeddings: float32. *Shape:* (words, dim)
    :param mean: their mean. *Shape:* (dim,)
    :param spread: their mean distance from it.
    """

    ids: Tensor
    embeddings: Tensor
    mean: Tensor
    spread: float

    @classmethod
    @one_thread()
    def of(cls, lm: LanguageModel) -> Self:
        """The whole words of a model's vocabulary."""
        if not lm.whole_words:
            raise InputError(f"{lm.name} has no whole words in its vocabulary to read contexts by", code="tokenizer")
        ids = torch.tensor(sorted(lm.whole_words.values()), device=lm.device)
        embeddings = lm.embeddings[ids].float()
        mean = embeddings.mean(0)
        return cls(ids, embeddings, mean, float((embeddings - mean).norm(dim=1).mean()))

    def directions(self, embeddings: Tensor) -> Tensor:
        """Unit embeddings from the mean towards each embedding; zero for the mean itself. *Shape:* (n, dim)"""
        return nn.functional.normalize(embeddings.to(self.mean.device, torch.float32) - self.mean, dim=1, eps=1e-9)

    def at(self, directions: Tensor, scale: float = 1.0) -> Tensor:
        """Embeddings in these directions, at ``scale`` times the spread from the mean. *Shape:* (n, dim)"""
        return self.mean + nn.functional.normalize(directions, dim=1, eps=1e-9) * (scale * self.spread)
