"""Embeddings from spelling alone, without training: a word is like the known words that it resembles.

Two spellings resemble each other by the character n-grams they share; rare n-grams count more (tf-idf,
cosine). The embedding is the mean of the embeddings of known words, weighted by a softmax over resemblance.
``aple`` gets nearly the embedding of ``apple``, ``zorblax`` that of nothing in particular, and the
resemblance tells the two cases apart.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from rarewords.corpus.columns import offsets, ragged
from rarewords.learner.known_words import KnownWords
from rarewords.lm import LanguageModel

_SHORTEST, _LONGEST = 2, 5
_TEMPERATURE = 0.03  # the lower it is, the more the most similar words stand out
_WORDS_AT_ONCE = 512


def ngrams(word: str, shortest: int = 3, longest: int = 5) -> list[str]:
    """All n-grams of a word with one mark at each end.

    >>> ngrams("cat", 3, 4)
    ['^ca', 'cat', 'at$', '^cat', 'cat$']
    """
    marked = f"^{word}$"
    return [marked[i : i + n] for n in range(shortest, longest + 1) for i in range(len(marked) - n + 1)]


class Spelling:
    """The spellings of the words a model knows."""

    def __init__(self, lm: LanguageModel) -> None:
        self._known, self._lower_case = KnownWords.of(lm), lm.lower_case
        words = sorted(lm.whole_words, key=lm.whole_words.__getitem__)
        self._place = {word: place for place, word in enumerate(words)}
        number: dict[str, int] = {}
        rows = [[number.setdefault(gram, len(number)) for gram in ngrams(word, _SHORTEST, _LONGEST)] for word in words]
        grams = np.array([gram for row in rows for gram in row], dtype=np.int64)
        owner = np.repeat(np.arange(len(words)), [len(row) for row in rows])
        # A gram that a word has twice counts twice in its embedding, but the word counts once for its rarity.
        held, counts = np.unique(np.stack([grams, owner]), axis=1, return_counts=True)
        occurrences = np.bincount(held[0], minlength=len(number))
        self._number, self._weights = number, np.log(len(words) / np.maximum(occurrences, 1))
        self._unseen = float(np.log(len(words)) ** 2)
        values = counts * self._weights[held[0]]
        lengths = np.sqrt(np.maximum(np.bincount(held[1], values**2, len(words)), 1e-12))
        # For each gram the words that have it, and their coordinates: postings[starts[g] : starts[g + 1]].
        self._starts = offsets(occurrences)
        self._owners, self._values = held[1], values / lengths[held[1]]

    def of(self, words: Sequence[str]) -> tuple[Tensor, Tensor]:
        """The embedding of each word, and its resemblance to the most similar known word but itself, from 0 to 1.

        *Shapes:* (words, dim), (words,)
        """
        embeddings, best = [self._known.embeddings[:0]], [self._known.embeddings.new_zeros(0)]
        for first in range(0, len(words), _WORDS_AT_ONCE):
            resemblance = self.resemblance(words[first : first + _WORDS_AT_ONCE])
            weights = torch.softmax(resemblance / _TEMPERATURE, dim=-1)
            embeddings.append(weights @ self._known.embeddings)
            best.append(resemblance.max(dim=1).values)
        return torch.cat(embeddings), torch.cat(best)

    def resemblance(self, words: Sequence[str]) -> Tensor:
        """Cosine of n-gram embeddings. *Shape:* (words, known words)"""
        spelled = [word.lower() if self._lower_case else word for word in words]
        rows = [self._cosines(word) for word in spelled]
        resemblance = torch.from_numpy(np.array(rows, np.float32).reshape(len(rows), len(self._place)))
        for row, word in enumerate(spelled):
            if word in self._place:
                resemblance[row, self._place[word]] = 0.0
        return resemblance.to(self._known.mean.device)

    def _cosines(self, word: str) -> np.ndarray:
        """The cosine of a word with every known word. *Shape:* (known words,)"""
        found = ngrams(word, _SHORTEST, _LONGEST)
        held = Counter(self._number[one] for one in found if one in self._number)
        grams, counts = np.array(sorted(held.items()), np.int64).reshape(-1, 2).T
        values = counts * self._weights[grams]
        # N-grams that no known word has make a spelling less like any known word.
        unseen = (len(found) - counts.sum()) * self._unseen
        length = np.sqrt(max(float((values**2).sum() + unseen), 1e-12))
        sizes = self._starts[grams + 1] - self._starts[grams]
        postings = ragged(self._starts[grams], sizes)
        weights = self._values[postings] * np.repeat(values / length, sizes)
        cosines: np.ndarray = np.bincount(self._owners[postings], weights, len(self._place))
        return cosines
