"""Embeddings from spelling alone, without training: a word is like the known words that it resembles.

Two spellings resemble each other by the character n-grams they share; rare n-grams count more (tf-idf,
cosine). The embedding is the mean of the embeddings of known words, weighted by a softmax over resemblance.
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
        self._number: dict[str, int] = {}
        held = [
            self._number.setdefault(gram, len(self._number)) * len(words) + place
            for place, word in enumerate(words)
            for gram in ngrams(word, _SHORTEST, _LONGEST)
        ]
        # A gram that a word has twice counts twice in its embedding, but the word counts once for its rarity.
        pairs, counts = np.unique(held, return_counts=True)
        grams, owners = np.divmod(pairs, len(words))
        occurrences = np.bincount(grams)
        self._weights, self._unseen = np.log(len(words) / occurrences), float(np.log(len(words)) ** 2)
        values = counts * self._weights[grams]
        lengths = np.sqrt(np.maximum(np.bincount(owners, values**2), 1e-12))
        # For each gram the words that have it, and their coordinates: postings[starts[g] : starts[g + 1]].
        self._starts, self._owners, self._values = offsets(occurrences), owners, values / lengths[owners]

    def of(self, words: Sequence[str]) -> tuple[Tensor, Tensor]:
        """The embedding of each word, and its resemblance to the most similar known word but itself, from 0 to 1.

        *Shapes:* (words, dim), (words,)
        """
        known = self._known.embeddings
        embeddings, best = known.new_zeros(len(words), known.shape[1]), known.new_zeros(len(words))
        for first in range(0, len(words), _WORDS_AT_ONCE):
            part = slice(first, first + _WORDS_AT_ONCE)
            resemblance = self.resemblance(words[part])
            embeddings[part] = torch.softmax(resemblance / _TEMPERATURE, dim=-1) @ known
            best[part] = resemblance.max(dim=1).values
        return embeddings, best

    def resemblance(self, words: Sequence[str]) -> Tensor:
        """Cosine of n-gram embeddings, 0 for the word itself. *Shape:* (words, known words)"""
        cosines = np.zeros((len(words), len(self._place)), np.float32)
        for row, word in enumerate(words):
            spelled = word.lower() if self._lower_case else word
            found = ngrams(spelled, _SHORTEST, _LONGEST)
            held = Counter(self._number[one] for one in found if one in self._number)
            grams, counts = np.array(sorted(held.items()), np.int64).reshape(-1, 2).T
            values = counts * self._weights[grams]
            # N-grams that no known word has make a spelling less like any known word.
            unseen = (len(found) - counts.sum()) * self._unseen
            length = np.sqrt(max(float((values**2).sum() + unseen), 1e-12))
            sizes = self._starts[grams + 1] - self._starts[grams]
            postings = ragged(self._starts[grams], sizes)
            weights = self._values[postings] * np.repeat(values / length, sizes)
            cosines[row] = np.bincount(self._owners[postings], weights, len(self._place))
            if spelled in self._place:
                cosines[row, self._place[spelled]] = 0
        return torch.from_numpy(cosines).to(self._known.mean.device)
