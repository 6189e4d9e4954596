"""Contexts as stretches of sentences, turned into readings on the device, without padding.

The tokens of all sentences, words and punctuation marks, lie end to end in one array. A context is a stretch of it.
"""

from collections.abc import Iterator, Sequence
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from torch import Tensor, nn

from rarewords._internal.progress import progress
from rarewords.corpus import characters as ch
from rarewords.corpus.columns import offsets, ragged
from rarewords.corpus.corpus import Corpus
from rarewords.corpus.settings import CorpusSettings
from rarewords.corpus.text import Words, split, word_hashes, words_of
from rarewords.embeddings import WordEmbeddings
from rarewords.errors import InputError
from rarewords.lm import LanguageModel

WINDOW = 25  # words to each side, as in the paper
_SENTENCES_AT_ONCE = 512
_CONTEXTS_AT_ONCE = 1 << 16


class Sentences:
    """Sentences of one word, read as a corpus of these sentences would be."""

    def __init__(self, texts: Sequence[str], *, lower_case: bool) -> None:
        self._texts = [" ".join(text.splitlines()) for text in texts]
        self.settings = CorpusSettings(lower_case=lower_case)

    def references(self, words: Sequence[str], _: int | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Every occurrence of the word; a sentence without it is refused."""
        lower_case = self.settings.lower_case
        word, found = ch.fold(words[0]) if lower_case else words[0], []
        for line, text in enumerate(self._texts):
            tokens = words_of(text, lower_case=lower_case)
            if word not in tokens:
                raise InputError(f"the context {text[:60]!r} does not contain the word {word!r}", code="word-not-found")
            found += [(line, position) for position, token in enumerate(tokens) if token == word]
        sentence, position = np.array(found, dtype=np.int64).reshape(-1, 2).T
        return np.zeros_like(sentence), sentence, position

    def sentences(self, rows: np.ndarray) -> list[str]:
        """Sentences by number."""
        return [self._texts[row] for row in rows]


class PreparedContexts:
    """Contexts of many words, at most ``contexts`` of each, read from a corpus once and used often.

    :ivar words: the row of each word.
    :ivar vocabulary: the hash of each distinct token. *Shape:* (distinct tokens,)
    :ivar tokens: the tokens of all sentences, as numbers into the vocabulary. *Shape:* (tokens,)
    :ivar sentence: the sentence of each context; ``left``: its first token; ``right``: one past its last token.
        *Shape:* (contexts,)
    :ivar starts: where the contexts of each word start. *Shape:* (words + 1,)
    """

    def __init__(self, corpus: Corpus | Sentences, words: Sequence[str], contexts: int | None = None) -> None:
        self.limit, self.words = contexts, {word: row for row, word in enumerate(words)}
        self.lower_case = corpus.settings.lower_case
        owner, sentence, position = corpus.references(list(words), contexts)
        rows, line = np.unique(sentence, return_inverse=True)
        hashes, is_word, sizes = map(np.concatenate, zip(*_tokens(corpus, rows), strict=True))
        numbered = pa.array(hashes).dictionary_encode()
        self.vocabulary, self.tokens = numbered.dictionary.to_numpy(), numbered.indices.to_numpy()
        token_starts, places = offsets(sizes), np.flatnonzero(is_word)
        word_starts = offsets(is_word)[token_starts]
        first, last = word_starts[line], word_starts[line + 1] - 1
        left, right = first + position - WINDOW, first + position + WINDOW
        # From the first token of the sentence to its last, unless there are words beyond the window.
        left = np.where(left > first, places[np.maximum(left, first)], token_starts[line])
        right = np.where(right < last, places[np.minimum(right, last)] + 1, token_starts[line + 1])
        # A short sentence that contains its word twice is one context.
        kept = np.sort(np.unique(np.stack([owner, left, right]), axis=1, return_index=True)[1])
        self.sentence, self.left, self.right = sentence[kept], left[kept], right[kept]
        self.starts = offsets(np.bincount(owner[kept], minlength=len(words)))


class ContextEmbeddings:
    """The embeddings of known tokens, on the device that reads. *Shape:* (words, dim)"""

    def __init__(self, words: Sequence[str], matrix: Tensor) -> None:
        self.matrix, self._hashes = matrix, pa.array(word_hashes(list(words)))

    @classmethod
    def of(cls, lm: LanguageModel, targets: WordEmbeddings | None) -> Self:
        """Embeddings of the tokens in the model's vocabulary, and the targets' embeddings of other words."""
        known = lm.tokens.one_subword
        matrix, words = lm.embeddings[list(known.values())].float(), list(known)
        if targets is not None:
            more = [word for word in targets.words if word not in known]
            matrix = torch.cat([matrix, torch.from_numpy(targets.subset(more).matrix).to(lm.device)])
            words += more
        return cls(words, matrix)

    def rows(self, hashes: np.ndarray) -> np.ndarray:
        """The row of each token, ``len(matrix)`` for one without an embedding. *Shape:* (tokens,)"""
        rows: np.ndarray = pc.index_in(hashes, value_set=self._hashes).fill_null(len(self.matrix)).to_numpy()
        return rows


class Reader:
    """Turns a context into its reading: the mean of the known embeddings of its tokens.

    Every occurrence of the word itself is left out. Contexts without a known token are dropped; ``starts`` and
    ``sentence`` are those of :class:`PreparedContexts`, of the others.
    """

    def __init__(self, prepared: PreparedContexts, words: Sequence[str], known: ContextEmbeddings) -> None:
        self.device = known.matrix.device
        # One more row, of zeros, for tokens without an embedding and for the word itself.
        self._matrix = nn.functional.pad(known.matrix, (0, 0, 0, 1))
        self._none = len(known.matrix)
        asked = np.array([prepared.words[word] for word in words], dtype=np.int64)
        counts = np.diff(prepared.starts)[asked]
        chosen, owner = ragged(prepared.starts[asked], counts), np.repeat(np.arange(len(asked)), counts)
        spelled = [ch.fold(word) for word in words] if prepared.lower_case else list(words)  # as its tokens
        arrays = (
            known.rows(prepared.vocabulary)[prepared.tokens],
            prepared.left[chosen],
            prepared.right[chosen] - prepared.left[chosen],
            known.rows(word_hashes(spelled))[owner],
        )
        self._rows, *contexts = (torch.from_numpy(array).to(self.device) for array in arrays)
        self._left, self._lengths, self._own = contexts
        parts = torch.arange(len(owner), device=self.device).split(_CONTEXTS_AT_ONCE)
        known_tokens = torch.cat([self._count_known(part) for part in parts])
        kept = known_tokens > 0
        self._left, self._lengths, self._own, self._known = (one[kept] for one in (*contexts, known_tokens))
        rows = kept.cpu().numpy()
        self.sentence = prepared.sentence[chosen[rows]]
        self.starts = offsets(np.bincount(owner[rows], minlength=len(words)))

    def read(self, contexts: Tensor) -> Tensor:
        """The readings of contexts by number. *Shape:* (contexts, dim)"""
        if not len(contexts):
            return self._matrix.new_zeros(0, self._matrix.shape[1])
        rows, starts = self._tokens(contexts)
        summed = nn.functional.embedding_bag(rows, self._matrix, starts, mode="sum")
        return summed / self._known[contexts, None]

    def _tokens(self, contexts: Tensor) -> tuple[Tensor, Tensor]:
        """The embedding rows of the tokens of contexts, and where each context starts."""
        lengths = self._lengths[contexts]
        ends = lengths.cumsum(0)
        starts = ends - lengths
        total = int(ends[-1]) if len(ends) else 0
        per_context = torch.stack([starts - self._left[contexts], self._own[contexts]])
        shift, own = torch.repeat_interleave(per_context, lengths, dim=1, output_size=total)
        rows = self._rows[torch.arange(total, device=self.device) - shift].long()
        return torch.where(rows == own, self._none, rows), starts

    def _count_known(self, contexts: Tensor) -> Tensor:
        rows, starts = self._tokens(contexts)
        summed = nn.functional.pad((rows != self._none).cumsum(0), (1, 0))
        return summed[starts + self._lengths[contexts]] - summed[starts]


def _tokens(corpus: Corpus | Sentences, rows: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """The hashes of the words and punctuation marks of sentences, which are words, and how many a sentence has."""
    lower_case = corpus.settings.lower_case
    with progress("Reading sentences", total=len(rows), unit="sentences") as bar:
        for start in range(0, max(1, len(rows)), _SENTENCES_AT_ONCE):
            texts = corpus.sentences(rows[start : start + _SENTENCES_AT_ONCE])
            found = split("\n".join(texts), lower_case=lower_case, sentences=False)
            marks, mark_hashes = _marks(found, lower_case)
            begins = np.concatenate([found.starts, marks])
            order = np.argsort(begins)
            hashes = np.concatenate([found.hashes, mark_hashes])[order]
            yield hashes, order < len(found.starts), np.diff(np.searchsorted(begins[order], found.cuts))
            bar.advance(len(texts))


def _marks(found: Words, lower_case: bool) -> tuple[np.ndarray, np.ndarray]:
    """The punctuation marks of a text: where they are, and the hash of each. *Shape:* (marks,) each"""
    points = ch.code_points(found.text)
    inside = np.zeros(len(points) + 1, dtype=np.int64)
    inside[found.starts] += 1
    inside[found.ends] -= 1
    # As in the authors' program: a full stop ends a context, and double quotes have no embedding.
    no_mark = np.isin(ch.kinds()[points], (ch.SPACE, ch.NEWLINE, ch.PERIOD, ch.QUOTE))
    marks = np.flatnonzero((inside.cumsum()[:-1] == 0) & ~no_mark)
    return marks, ch.mix(ch.hashes(lower_case)[points[marks]])
