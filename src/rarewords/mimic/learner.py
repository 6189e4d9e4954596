"""Word vectors from what the language model itself reads in a word's sentences.

Three sources, each a direction from the mean embedding:

* the **reading** of its contexts (:mod:`rarewords.mimic.readings`), moved by one matrix A that was fitted so
  that readings of known words, themselves forbidden as answers, come out at their own embeddings;
* the **spelling** (:mod:`rarewords.mimic.resembling`), the heavier the more the word resembles a known one;
* the **pieces**, by one-token approximation, where settings ask for them.

The sum of them, at a length usual for embeddings, is the vector. Without a matrix (A is the identity)
nothing is trained at all and any masked language model can be used at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from rarewords.corpus.store import Store
from rarewords.errors import InputError
from rarewords.files import read_json
from rarewords.lm import LanguageModel
from rarewords.mimic.approximated import approximations_of
from rarewords.mimic.fitting import ridge, training_words
from rarewords.mimic.learner_files import bundled_learner, read_learner, write_learner
from rarewords.mimic.learner_settings import LearnerSettings
from rarewords.mimic.masked import MaskedContexts, contexts_of_sentences, contexts_of_words
from rarewords.mimic.mimicking import Inferred, InferredWords
from rarewords.mimic.reading_cache import WORDS_PER_PART, ReadingCache
from rarewords.mimic.readings import KnownWords, pool, read, shares, weighted_mean
from rarewords.mimic.resembling import Resembling
from rarewords.mimic.sources import Sources, is_joint, joint_inputs, weigh
from rarewords.mimic.splitting import Splitter
from rarewords.ota.condense import condense
from rarewords.progress import progress
from rarewords.vectors import WordVectors

if TYPE_CHECKING:
    from rarewords.corpus.engine import Engine

# A chunk of words takes a pass over the store and batches of its own; small ones leave a GPU waiting.
_WORDS_AT_ONCE, _WORDS_AT_ONCE_ON_GPU = WORDS_PER_PART, 16 * WORDS_PER_PART
_WORDS_SEEN = 100_000  # of the text: they show nearly all pieces


class WordLearner:
    """Learns words from sentences with a language model and nothing else.

    :param transform: the matrix A on readings, *shape* (dim, dim), or on all three sources, (3 dim, dim).
    """

    def __init__(
        self, lm: LanguageModel, settings: LearnerSettings | None = None, transform: Tensor | None = None
    ) -> None:
        self.lm = lm
        self.settings = settings or LearnerSettings()
        self.known = KnownWords.of(lm)
        self.transform = None if transform is None else transform.to(lm.device, torch.float32)
        self.fitted: dict[str, Any] = {}
        self.approximations: WordVectors | None = None  # made beforehand; others are made when needed

    @classmethod
    def for_model(cls, lm: LanguageModel, folder: str | Path | None = None) -> WordLearner:
        """The best for a model: a folder's, the bundled one if it fits, or one without training."""
        if folder is not None:
            return cls.from_pretrained(folder, lm)
        bundled = bundled_learner()
        if bundled is not None and read_json(bundled / "config.json")["fingerprint"] == lm.fingerprint:
            return cls.from_pretrained(bundled, lm)
        return cls(lm)

    def with_settings(self, **changes: Any) -> WordLearner:
        """The same learner with some settings changed."""
        other = WordLearner(self.lm, replace(self.settings, **changes), self.transform)
        other.fitted, other.approximations = self.fitted, self.approximations
        return other

    def infer(self, word: str, contexts: Sequence[str] = ()) -> Inferred:
        """The vector of a word from sentences that contain it, or from its spelling when there are none."""
        return self.infer_each([(word, contexts)])[0]

    def infer_each(self, tasks: Sequence[tuple[str, Sequence[str]]]) -> list[Inferred]:
        """:meth:`infer` for many words and sentences at once, and in large batches.

        A word may be asked for several times with different sentences, to see what each tells; a sentence
        is read once for all of them.
        """
        limit = self.settings.contexts
        own: dict[str, dict[str, int]] = {}
        for word, sentences in tasks:
            known = own.setdefault(word, {})
            for sentence in list(sentences)[:limit]:
                known.setdefault(sentence, len(known))
        masked = contexts_of_sentences(
            self.lm.tokens, {word: list(known) for word, known in own.items()}, length=self._length()
        )
        readings = self._readings(self.lm.tokens.pieces_of(list(own)), masked)
        first = dict(zip(own, masked.word_starts.tolist(), strict=False))
        chosen = [
            readings[[first[word] + own[word][sentence] for sentence in list(sentences)[:limit]]]
            for word, sentences in tasks
        ]
        words, counts = [word for word, _ in tasks], np.array([len(rows) for rows in chosen], dtype=np.int64)
        judges = self._judges(words)
        pooled = [
            weighted_mean(rows, self.known, None if judges is None else judges[row], self.settings.attention)
            for row, rows in enumerate(chosen)
        ]
        vectors, share = self.combine(self._sources(words, torch.stack(pooled), counts))
        vectors = self._condensed(words, vectors)
        for word, part in zip(words, share.tolist(), strict=True):
            if part != part:  # not a number: nothing to go by
                raise InputError(f"{word!r}: {_NOTHING}")
        return [
            Inferred(word, vector.cpu().numpy(), part, tuple(shares(rows, self.known, vector).tolist()))
            for word, vector, part, rows in zip(words, vectors, share.tolist(), chosen, strict=True)
        ]

    def infer_words(
        self,
        words: Sequence[str],
        store: Store,
        *,
        limit: int | None = None,
        cache: str | Path | None = None,
        engine: Engine | None = None,
    ) -> InferredWords:
        """Vectors of many words with their contexts from a store.

        :param limit: use at most so many contexts of each word, if fewer than the settings say.
        :param cache: a folder for what has been read; a later call reads only the rest.
        :param engine: spreads the words over processes or machines; each loads the model by its name.
        """
        from rarewords.mimic.spread import inferred_parts

        words = list(dict.fromkeys(words))
        most = _WORDS_AT_ONCE if self.lm.device.type == "cpu" or engine else _WORDS_AT_ONCE_ON_GPU
        chunks = [words[at : at + most] for at in range(0, len(words), most)]
        parts = inferred_parts(self, chunks, store, limit, None if cache is None else Path(cache), engine)
        vectors = np.concatenate([np.zeros((0, self.lm.dim), np.float32), *(part[0] for part in parts)])
        share = np.concatenate([np.zeros(0, np.float32), *(part[1] for part in parts)])
        counts = np.concatenate([np.zeros(0, np.int64), *(part[2] for part in parts)])
        kept = np.isfinite(share)
        refused = {word: _NOTHING for word, good in zip(words, kept, strict=True) if not good}
        made = WordVectors(
            [word for word, good in zip(words, kept, strict=True) if good], vectors[kept], self._recipe()
        )
        return InferredWords(made, share[kept], counts[kept], refused)

    def infer_some(
        self, words: Sequence[str], store: Store, limit: int | None = None, cache: Path | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Vectors, shares of the readings and numbers of contexts of some words.

        *Shapes:* (words, dim), (words,), (words,)
        """
        most = min(self.settings.contexts, limit or self.settings.contexts)

        def make(missing: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
            masked = contexts_of_words(self.lm.tokens, store, missing, limit=most, length=self._length())
            return self._pooled(missing, masked).cpu().numpy(), masked.counts

        # What is kept are mean readings; with attention they depend on the pieces' vectors as well.
        kept = self._cache(None if self.settings.attention else cache, store, most, self.settings.reading)
        reading, counts = kept.get(words, make)
        read_means = torch.from_numpy(reading).to(self.lm.device)
        vectors, share = self.combine(self._sources(words, read_means, counts))
        return self._condensed(words, vectors).cpu().numpy(), share.cpu().numpy(), counts

    def sources(self, words: Sequence[str], masked: MaskedContexts, *, limit: int | None = None) -> Sources:
        """What is known of words whose contexts have been prepared."""
        counts = masked.counts if limit is None else np.minimum(masked.counts, limit)
        return self._sources(words, self._pooled(words, masked, limit), counts)

    def combine(self, sources: Sources) -> tuple[Tensor, Tensor]:
        """Vectors, and the share of the readings in each; not a number where there is nothing to go by.

        *Shapes:* (words, dim), (words,)
        """
        return weigh(sources, self.known, self.settings, self.transform)

    @classmethod
    def fit(
        cls,
        lm: LanguageModel,
        store: Store,
        settings: LearnerSettings | None = None,
        *,
        words: int = 15_000,
        contexts: int = 16,
        min_count: int = 50,
        leave_out: Sequence[str] = (),
        seed: int = 0,
        split: bool = False,
        cache: str | Path | None = None,
    ) -> WordLearner:
        """Fit the matrix: mimicking, in closed form.

        For known words of the store, A minimises the squared distance between A times the reading of some
        contexts, in which the word itself may not be expected, and the model's own embedding.

        :param words: learn from at most so many words, drawn at random.
        :param contexts: read so many contexts of each.
        :param leave_out: words that must not be learned from, such as those of a test.
        :param split: read as the settings say, each word split into pieces where it is shown
            (:mod:`rarewords.mimic.splitting`); otherwise it is masked, whatever the settings say.
        :param cache: a folder for what has been read; after an interruption only the rest is read.
        """
        learner = cls(lm, settings)
        if store.settings.lower_case != lm.lower_case:
            raise InputError("the store and the model differ in lower-casing; build the store with --model")
        chosen = training_words(lm, store, words, min_count, set(leave_out), seed)
        splitter, kind = None, "forbidden"
        if split:
            splitter = Splitter.of(lm, store.counts(2)[0][:_WORDS_SEEN], seed)
            chosen = [word for word in chosen if splitter.split(word)]
            if not chosen:
                raise InputError(f"none of the known words of {store.path} can be split into pieces")
            kind = f"forbidden {learner.settings.reading} split {seed}"
        kept = learner._cache(None if cache is None else Path(cache), store, contexts, kind)
        parts = []
        with progress("Reading", total=len(chosen), unit="words") as bar:
            for at in range(0, len(chosen), _WORDS_AT_ONCE):
                some = chosen[at : at + _WORDS_AT_ONCE]
                read = partial(learner._read_store, store=store, contexts=contexts, splitter=splitter)
                parts.append(kept.get(some, read)[0])
                bar.advance(len(some))
        readings = torch.from_numpy(np.concatenate(parts)).to(lm.device)
        learner._solve(chosen, readings - learner.known.mean)
        learner.fitted |= {"contexts": contexts, "min_count": min_count, "seed": seed, "split": split}
        return learner

    def fit_on(
        self,
        words: Sequence[str],
        masked: MaskedContexts,
        splitter: Splitter | None = None,
        *,
        joint: bool = False,
    ) -> None:
        """Fit the matrix on known words whose contexts have been prepared.

        Without a splitter the words are masked, never shown: whole as they are, they would give themselves
        away. With one they are read as the settings say, split into pieces wherever they are shown.

        :param joint: fit one matrix over reading, spelling and the approximation of the pieces.
        """
        pooled = pool(self._read_known(words, masked, splitter), self.known, masked)
        if not joint:
            self._solve(words, pooled - self.known.mean)
            return
        if splitter is None:
            raise InputError("a joint matrix is learned from words split into pieces; give a splitter")
        from rarewords.ota.run import approximate_pieces

        spelling, resemblance = self._resembling.of(words)
        pieces = approximate_pieces(self.lm, _split(splitter, words))
        counts = torch.from_numpy(masked.counts).to(self.lm.device)
        # One word in ten is learned without its sentences, so that words without any are placed as well.
        unread = torch.arange(len(words), device=self.lm.device) % 10 == 5
        pooled = torch.where(unread[:, None], self.known.mean, pooled)
        sources = Sources(pooled, counts, spelling, resemblance, pieces)
        self._solve(words, joint_inputs(sources, self.known, self.settings))

    def _read_store(
        self, words: Sequence[str], store: Store, contexts: int, splitter: Splitter | None
    ) -> tuple[np.ndarray, np.ndarray]:
        masked = contexts_of_words(self.lm.tokens, store, words, limit=contexts, length=self._length())
        readings = self._read_known(words, masked, splitter)
        return pool(readings, self.known, masked).cpu().numpy(), masked.counts

    def _read_known(self, words: Sequence[str], masked: MaskedContexts, splitter: Splitter | None) -> Tensor:
        """Readings of known words that may not be expected in their own contexts."""
        tokens = [self.lm.whole_words[word] for word in words]
        if splitter is None:
            return read(self.lm, self.known, masked, forbidden=tokens)
        return self._readings(_split(splitter, words), masked, forbidden=tokens)

    def _solve(self, words: Sequence[str], inputs: Tensor) -> None:
        tokens = torch.tensor([self.lm.whole_words[word] for word in words], device=self.lm.device)
        targets = self.lm.embeddings[tokens].float() - self.known.mean
        self.transform, cosine, penalty = ridge(inputs, targets)
        self.fitted = {"words": len(words), "held_out_cosine": cosine, "penalty": penalty}

    def _cache(self, folder: Path | None, store: Store, contexts: int, reading: str) -> ReadingCache:
        recipe = {
            "fingerprint": self.lm.fingerprint,
            "store": store.digest,
            "reading": reading,
            "length": self._length(),
            "contexts": contexts,
        }
        return ReadingCache(folder, recipe)

    def save_pretrained(self, folder: str | Path) -> None:
        """Write the learner as a folder."""
        config = {
            "model": Path(self.lm.name).name,
            "fingerprint": self.lm.fingerprint,
            "dim": self.lm.dim,
            "settings": asdict(self.settings),
            "fitted": self.fitted,
        }
        write_learner(Path(folder), config, self.transform)

    @classmethod
    def from_pretrained(cls, folder: str | Path, lm: LanguageModel) -> WordLearner:
        """Load a folder written by :meth:`save_pretrained`, for the language model it was fitted for."""
        config, transform = read_learner(Path(folder))
        if config["fingerprint"] != lm.fingerprint:
            raise InputError(
                f"{folder} was fitted for the model {config['model']}, not for {lm.name}; "
                "its vectors would mean nothing there"
            )
        learner = cls(lm, LearnerSettings.from_dict(config["settings"]), transform)
        learner.fitted = config["fitted"]
        return learner

    @cached_property
    def _resembling(self) -> Resembling:
        return Resembling(self.lm, self.known, self.settings.temperature)

    def _length(self) -> int:
        # Room for the word and the slash, should it be shown.
        return min(self.settings.length, self.lm.max_length - 16)

    def _readings(
        self,
        pieces: Sequence[Sequence[int]],
        masked: MaskedContexts,
        forbidden: Sequence[int] | None = None,
    ) -> Tensor:
        kinds = ("masked", "shown") if self.settings.reading == "both" else (self.settings.reading,)
        readings = [
            read(
                self.lm,
                self.known,
                masked,
                shown=pieces if kind == "shown" else None,
                forbidden=forbidden,
            )
            for kind in kinds
        ]
        return readings[0] if len(readings) == 1 else (readings[0] + readings[1]) / 2

    def _pooled(self, words: Sequence[str], masked: MaskedContexts, limit: int | None = None) -> Tensor:
        """The mean reading of each word. *Shape:* (words, dim)"""
        readings = self._readings(self.lm.tokens.pieces_of(words), masked)
        attention, judges = self.settings.attention, self._judges(words)
        return pool(readings, self.known, masked, limit, judge=judges, attention=attention)

    def _judges(self, words: Sequence[str]) -> Tensor | None:
        """What says which contexts count: the words' pieces. *Shape:* (words, dim)"""
        if not self.settings.attention:
            return None
        wanted = np.ones(len(words), dtype=bool)
        return approximations_of(self.lm, self.known, words, wanted, self.approximations)

    def _condensed(self, words: Sequence[str], vectors: Tensor) -> Tensor:
        steps = self.settings.condense
        return condense(self.lm, self.lm.tokens.pieces_of(words), vectors, steps) if steps else vectors

    def _sources(self, words: Sequence[str], reading: Tensor, contexts: np.ndarray) -> Sources:
        spelling, resemblance = self._resembling.of(words)
        counts = torch.from_numpy(contexts).to(self.lm.device)
        alone = counts == 0
        always = self.settings.pieces > 0 or is_joint(self.transform)
        wanted = torch.full_like(alone, always) | (alone & (self.settings.pieces_alone > 0))
        pieces = approximations_of(self.lm, self.known, words, wanted.cpu().numpy(), self.approximations)
        return Sources(reading, counts, spelling, resemblance, pieces)

    def _recipe(self) -> dict[str, Any]:
        return {
            "method": "learner",
            "model": Path(self.lm.name).name,
            "fingerprint": self.lm.fingerprint,
            "learner": asdict(self.settings),
            "fitted": self.fitted,
        }


def _split(splitter: Splitter, words: Sequence[str]) -> list[list[int]]:
    pieces = [splitter.split(word) for word in words]
    whole = [word for word, found in zip(words, pieces, strict=True) if found is None]
    if whole:
        raise InputError(f"{whole[0]!r} cannot be split into pieces; leave it out")
    return [found for found in pieces if found is not None]


_NOTHING = "no sentence and no known word that resembles it; give sentences that contain it"
