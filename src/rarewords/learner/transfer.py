"""Embeddings for a model that is no masked LM: a reader model learns the word, and a matrix moves it over.

Ridge regression on the words that both models have as one subword gives one matrix A that brings the embeddings of
the reader model, centred, to those of the target::

    transferred = mean of the target + spread of the target * unit((v - mean of the reader model) A)

The matrix blurs, and the target has embeddings of its own for the words of a definition. Their mean counts as much
as what is transferred from a definition alone, and what both say lies nearer to the mean embedding.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import torch
from torch import Tensor

from rarewords._internal.cache import key_of
from rarewords._internal.engine import one_thread
from rarewords.corpus.characters import fold
from rarewords.errors import InputError
from rarewords.learner.definitions import WEIGHT, mean_of_words
from rarewords.learner.evidence import Evidence, LearnedEmbedding, Learner, ridge
from rarewords.learner.known_words import KnownWords
from rarewords.learner.masked import find_word
from rarewords.lm import LanguageModel

_FEWEST_SHARED = 200
_DEFINED = 0.6  # how far from the mean a definition alone puts a word, in the distance of known words


@dataclass(frozen=True)
class TransferLearner:
    """A learner of a reader model whose embeddings are brought into the space of the model that is taught.

    :param taught: the model that is taught; ``target`` are the words that it knows.
    :param matrix: *Shape:* (reader model's dim, target's dim)
    """

    learner: Learner
    known: KnownWords
    taught: LanguageModel
    target: KnownWords
    matrix: Tensor

    @classmethod
    @one_thread()
    def fit(cls, learner: Learner, target: LanguageModel) -> Self:
        """Fit the matrix on the words that both models have as one subword; no text is needed."""
        shared = sorted(set(learner.lm.whole_words) & set(target.whole_words))
        if len(shared) < _FEWEST_SHARED:
            both = f"{learner.lm.name} and {target.name} have only {len(shared)} words in common"
            raise InputError(f"{both}; use a reader model for the same language", code="learner")

        def centred(lm: LanguageModel, known: KnownWords) -> Tensor:
            return lm.embeddings[[lm.whole_words[word] for word in shared]].float().cpu() - known.mean.cpu()

        known, targets = KnownWords.of(learner.lm), KnownWords.of(target)
        matrix, _, _ = ridge(centred(learner.lm, known), centred(target, targets))
        return cls(learner, known, target, targets, matrix)

    @property
    def lm(self) -> LanguageModel:
        """The masked LM that reads."""
        return self.learner.lm

    @property
    def key(self) -> str:
        """A digest of everything the embeddings depend on besides the target."""
        matrix = hashlib.sha256(self.matrix.numpy().tobytes()).hexdigest()
        return key_of("transfer", self.lm.fingerprint, self.learner.key, matrix)

    def learn_each(self, tasks: Sequence[Evidence]) -> list[LearnedEmbedding | None]:
        """Embeddings in the target's space from a few sentences of each word; None for a word that gets none."""
        spelled = [
            task._replace(
                sentences=[self._spelled(task.word, one) for one in task.sentences],
                readings={self._spelled(task.word, one): row for one, row in task.readings.items()},
            )
            for task in (Evidence(*task) for task in tasks)
        ]
        learned = zip(spelled, self.learner.learn_each(spelled), strict=True)
        return [one and replace(one, embedding=self._moved(task, one.embedding)) for task, one in learned]

    def _moved(self, task: Evidence, embedding: np.ndarray) -> np.ndarray:
        """An embedding in the target's space, and beside it the words of the definitions. *Shape:* (dim,)"""
        transferred: np.ndarray = self.transport(embedding[None])[0]
        said = mean_of_words(self.taught, self.target, task)
        if not said.any():
            return transferred
        weight = WEIGHT * len(task.definitions)
        share = weight / (weight + len(task.sentences))
        direction = self.target.directions(torch.from_numpy(transferred)[None])[0]
        return self.target.at((direction + share * said)[None], 1 - (1 - _DEFINED) * share)[0].cpu().numpy()

    def transport(self, embeddings: np.ndarray) -> np.ndarray:
        """Embeddings in the target's space. *Shape:* (n, reader model's dim) -> (n, target's dim)"""
        centred = torch.from_numpy(embeddings).float() - self.known.mean.cpu()
        moved = (centred @ self.matrix).to(self.target.mean)
        return self.target.at(moved).cpu().numpy()

    def _spelled(self, word: str, sentence: str) -> str:
        """The sentence, in small letters if only so a cased reader model finds the word of an uncased model."""
        found = self.lm.lower_case or find_word(word, sentence, lower_case=False) is not None
        return sentence if found else fold(sentence)
