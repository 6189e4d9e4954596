"""Vectors from one model's embedding space to another's.

A masked LM, the reader, makes a vector in its own space. The words that both models have as one piece give
pairs of embeddings; one matrix, by ridge regression, brings the reader's embeddings, centred, to the
target's::

    transported = mean of the target + spread of the target * unit((v - mean of the reader) A)
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from rarewords.engine import one_thread
from rarewords.errors import InputError
from rarewords.lm import LanguageModel
from rarewords.mimic.evidence import ridge
from rarewords.mimic.readings import KnownWords

_FEWEST_WORDS = 200


@dataclass(frozen=True)
class Transport:
    """The way from the reader's space to the target's.

    :param matrix: *Shape:* (reader's dim, target's dim)
    :param words: the number of words that both models have as one piece.
    :param held_out_cosine: of transported and true embeddings, centred, for one such word in ten.
    """

    reader: KnownWords
    target: KnownWords
    matrix: Tensor
    words: int
    held_out_cosine: float

    @property
    def key(self) -> str:
        """A digest of the matrix."""
        return hashlib.sha256(self.matrix.numpy().tobytes()).hexdigest()

    @classmethod
    @one_thread()
    def fit(cls, reader: LanguageModel, target: LanguageModel) -> Transport:
        """Fit the matrix; no text is needed."""
        shared = sorted(set(reader.whole_words) & set(target.whole_words))
        if len(shared) < _FEWEST_WORDS:
            raise InputError(
                f"{reader.name} and {target.name} have only {len(shared)} words in common, too few to bring "
                "vectors from one to the other; use a --reader for the same language"
            )
        spaces = []
        for lm in (reader, target):
            rows = lm.embeddings[[lm.whole_words[word] for word in shared]].float().cpu()
            spaces.append((KnownWords.of(lm), rows))
        (old, inputs), (new, outputs) = spaces
        matrix, cosine, _ = ridge(inputs - old.mean.cpu(), outputs - new.mean.cpu())
        return cls(old, new, matrix, len(shared), cosine)

    def __call__(self, vectors: np.ndarray) -> np.ndarray:
        """Vectors in the target's space. *Shape:* (n, reader's dim) -> (n, target's dim)"""
        centred = torch.from_numpy(vectors).float() - self.reader.mean.cpu()
        moved = (centred @ self.matrix).to(self.target.mean)
        return self.target.at(moved, 1.0).cpu().numpy()
