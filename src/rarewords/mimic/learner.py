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
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from rarewords.corpus.store import Store
from rarewords.errors import InputError
from rarewords.files import read_json, whole_folder, write_json
from rarewords.lm import LanguageModel
from rarewords.mimic.fitting import ridge, training_words
from rarewords.mimic.learner_settings import LearnerSettings
from rarewords.mimic.masked import MaskedContexts, contexts_of_sentences, contexts_of_words
from rarewords.mimic.mimicking import Inferred, InferredWords
from rarewords.mimic.reading_cache import ReadingCache
from rarewords.mimic.readings import KnownWords, pool, read, shares
from rarewords.mimic.resembling import Resembling
from rarewords.progress import progress
from rarewords.vectors import WordVectors

if TYPE_CHECKING:
    from rarewords.corpus.engine import Engine

FORMAT = "rarewords.learner/1"
_WORDS_AT_ONCE = 1024
_LEAST_RESEMBLANCE = 0.15  # below, the most similar spelling is a coincidence


@dataclass(frozen=True)
class Sources:
    """What is known of some words, before it is weighed.

    :param reading: mean reading of each word. *Shape:* (words, dim)
    :param contexts: how many contexts were read. *Shape:* (words,)
    :param spelling: *Shape:* (words, dim)
    :param resemblance: *Shape:* (words,)
    :param pieces: one-token approximations; zeros where none was asked for. *Shape:* (words, dim)
    """

    reading: Tensor
    contexts: Tensor
    spelling: Tensor
    resemblance: Tensor
    pieces: Tensor


class WordLearner:
    """Learns words from sentences with a language model and nothing else.

    :param transform: the matrix A on readings. *Shape:* (dim, dim)
    """

    def __init__(
        self, lm: LanguageModel, settings: LearnerSettings | None = None, transform: Tensor | None = None
    ) -> None:
        self.lm = lm
        self.settings = settings or LearnerSettings()
        self.known = KnownWords.of(lm)
        self.transform = None if transform is None else transform.to(lm.device, torch.float32)
        self.fitted: dict[str, Any] = {}

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
        other.fitted = self.fitted
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
        readings = self._readings(list(own), masked)
        first = dict(zip(own, masked.word_starts.tolist(), strict=False))
        chosen = [
            readings[[first[word] + own[word][sentence] for sentence in list(sentences)[:limit]]]
            for word, sentences in tasks
        ]
        words, counts = [word for word, _ in tasks], np.array([len(rows) for rows in chosen], dtype=np.int64)
        pooled = [rows.float().mean(0) if len(rows) else self.known.mean for rows in chosen]
        vectors, share = self.combine(self._sources(words, torch.stack(pooled), counts))
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
        chunks = [words[at : at + _WORDS_AT_ONCE] for at in range(0, len(words), _WORDS_AT_ONCE)]
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

        def make() -> tuple[np.ndarray, np.ndarray]:
            masked = contexts_of_words(self.lm.tokens, store, words, limit=most, length=self._length())
            return pool(self._readings(words, masked), self.known, masked).cpu().numpy(), masked.counts

        kept = self._cache(cache, store, most, self.settings.reading)
        reading, counts = kept.get(words, make)
        read_means = torch.from_numpy(reading).to(self.lm.device)
        vectors, share = self.combine(self._sources(words, read_means, counts))
        return vectors.cpu().numpy(), share.cpu().numpy(), counts

    def sources(self, words: Sequence[str], masked: MaskedContexts, *, limit: int | None = None) -> Sources:
        """What is known of words whose contexts have been prepared."""
        readings = self._readings(words, masked)
        counts = masked.counts if limit is None else np.minimum(masked.counts, limit)
        return self._sources(words, pool(readings, self.known, masked, limit), counts)

    def combine(self, sources: Sources) -> tuple[Tensor, Tensor]:
        """Vectors, and the share of the readings in each; not a number where there is nothing to go by.

        *Shapes:* (words, dim), (words,)
        """
        settings, known = self.settings, self.known
        centred = sources.reading.to(torch.float32) - known.mean
        moved = known.directions(
            known.mean + (centred if self.transform is None else centred @ self.transform)
        )
        spelling, pieces = known.directions(sources.spelling), known.directions(sources.pieces)
        trust = torch.sigmoid((sources.resemblance - settings.resemblance) / settings.resemblance_width)
        read_any = (sources.contexts > 0).float()
        weight = torch.stack(
            [
                read_any,
                torch.where(read_any > 0, settings.spelling * trust, torch.ones_like(trust)),
                torch.where(read_any > 0, settings.pieces, settings.pieces_alone),
            ],
            dim=1,
        )
        vectors = known.at(
            weight[:, 0:1] * moved + weight[:, 1:2] * spelling + weight[:, 2:3] * pieces, settings.scale
        )
        nothing = (read_any == 0) & (sources.resemblance < _LEAST_RESEMBLANCE)
        share = weight[:, 0] / weight.sum(dim=1)
        return vectors, torch.where(nothing, torch.full_like(share, float("nan")), share)

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
        cache: str | Path | None = None,
    ) -> WordLearner:
        """Fit the matrix: mimicking, in closed form.

        For known words of the store, A minimises the squared distance between A times the reading of some
        contexts, in which the word itself may not be expected, and the model's own embedding.

        :param words: learn from at most so many words, drawn at random.
        :param contexts: read so many contexts of each.
        :param leave_out: words that must not be learned from, such as those of a test.
        :param cache: a folder for what has been read; after an interruption only the rest is read.
        """
        learner = cls(lm, settings)
        if store.settings.lower_case != lm.lower_case:
            raise InputError("the store and the model differ in lower-casing; build the store with --model")
        chosen = training_words(lm, store, words, min_count, set(leave_out), seed)
        kept = learner._cache(None if cache is None else Path(cache), store, contexts, "forbidden")
        parts = []
        with progress("Reading", total=len(chosen), unit="words") as bar:
            for at in range(0, len(chosen), _WORDS_AT_ONCE):
                some = chosen[at : at + _WORDS_AT_ONCE]
                parts.append(kept.get(some, partial(learner._read_known, some, store, contexts))[0])
                bar.advance(len(some))
        learner._solve(chosen, torch.from_numpy(np.concatenate(parts)).to(lm.device))
        learner.fitted |= {"contexts": contexts, "min_count": min_count, "seed": seed}
        return learner

    def fit_on(self, words: Sequence[str], masked: MaskedContexts, limit: int | None = None) -> None:
        """Fit the matrix on known words whose contexts have been prepared.

        The words are masked, never shown: whole as they are, they would give themselves away.
        """
        tokens = [self.lm.whole_words[word] for word in words]
        readings = read(self.lm, self.known, masked, forbidden=tokens)
        self._solve(words, pool(readings, self.known, masked, limit))

    def _read_known(self, words: Sequence[str], store: Store, contexts: int) -> tuple[np.ndarray, np.ndarray]:
        """Mean readings of known words that may not be expected in their own contexts."""
        masked = contexts_of_words(self.lm.tokens, store, words, limit=contexts, length=self._length())
        tokens = [self.lm.whole_words[word] for word in words]
        readings = read(self.lm, self.known, masked, forbidden=tokens)
        return pool(readings, self.known, masked).cpu().numpy(), masked.counts

    def _solve(self, words: Sequence[str], readings: Tensor) -> None:
        tokens = torch.tensor([self.lm.whole_words[word] for word in words], device=self.lm.device)
        targets = self.lm.embeddings[tokens].float() - self.known.mean
        self.transform, cosine, penalty = ridge(readings - self.known.mean, targets)
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
        from safetensors.torch import save_file

        with whole_folder(folder) as temporary:
            tensors = (
                {} if self.transform is None else {"transform": self.transform.cpu().half().contiguous()}
            )
            save_file(tensors, temporary / "model.safetensors", metadata={"format": "pt"})
            write_json(
                temporary / "config.json",
                {
                    "format": FORMAT,
                    "model": Path(self.lm.name).name,
                    "fingerprint": self.lm.fingerprint,
                    "dim": self.lm.dim,
                    "settings": asdict(self.settings),
                    "fitted": self.fitted,
                },
            )

    @classmethod
    def from_pretrained(cls, folder: str | Path, lm: LanguageModel) -> WordLearner:
        """Load a folder written by :meth:`save_pretrained`, for the language model it was fitted for."""
        from safetensors.torch import load_file

        folder = Path(folder)
        config = read_json(folder / "config.json") if (folder / "config.json").is_file() else {}
        if config.get("format") != FORMAT:
            raise InputError(
                f"{folder} is not a learner; make one with rarewords mimic train --preset readings"
            )
        if config["fingerprint"] != lm.fingerprint:
            raise InputError(
                f"{folder} was fitted for the model {config['model']}, not for {lm.name}; "
                "its vectors would mean nothing there"
            )
        transform = load_file(folder / "model.safetensors").get("transform")
        learner = cls(lm, LearnerSettings.from_dict(config["settings"]), transform)
        learner.fitted = config["fitted"]
        return learner

    @cached_property
    def _resembling(self) -> Resembling:
        return Resembling(self.lm, self.known, self.settings.temperature)

    def _length(self) -> int:
        # Room for the word and the slash, should it be shown.
        return min(self.settings.length, self.lm.max_length - 16)

    def _readings(self, words: Sequence[str], masked: MaskedContexts) -> Tensor:
        kinds = ("masked", "shown") if self.settings.reading == "both" else (self.settings.reading,)
        pieces = self.lm.tokens.pieces_of(list(words))
        readings = [
            read(self.lm, self.known, masked, shown=pieces if kind == "shown" else None) for kind in kinds
        ]
        return readings[0] if len(readings) == 1 else (readings[0] + readings[1]) / 2

    def _sources(self, words: Sequence[str], reading: Tensor, contexts: np.ndarray) -> Sources:
        spelling, resemblance = self._resembling.of(words)
        counts = torch.from_numpy(contexts).to(self.lm.device)
        alone = counts == 0
        wanted = torch.full_like(alone, self.settings.pieces > 0) | (alone & (self.settings.pieces_alone > 0))
        return Sources(reading, counts, spelling, resemblance, self._pieces(words, wanted.cpu().numpy()))

    def _pieces(self, words: Sequence[str], wanted: np.ndarray) -> Tensor:
        """One-token approximations of the words that are asked for; the mean where there is none."""
        from rarewords.ota import approximate

        result = self.known.mean.repeat(len(words), 1)
        asked = list(dict.fromkeys(word for word, yes in zip(words, wanted, strict=True) if yes))
        if asked:
            made = approximate(self.lm, asked, keep_single=True).vectors
            rows = [row for row, word in enumerate(words) if wanted[row] and word in made]
            chosen = np.stack([made[words[row]] for row in rows]) if rows else made.matrix[:0]
            result[rows] = torch.from_numpy(chosen).to(result)
        return result

    def _recipe(self) -> dict[str, Any]:
        return {
            "method": "learner",
            "model": Path(self.lm.name).name,
            "fingerprint": self.lm.fingerprint,
            "learner": asdict(self.settings),
            "fitted": self.fitted,
        }


_NOTHING = "no sentence and no known word that resembles it; give sentences that contain it"


def is_learner(folder: Path) -> bool:
    """Whether a folder holds a learner, and not an attentive mimicking model."""
    path = folder / "config.json"
    return path.is_file() and read_json(path).get("format") == FORMAT


def bundled_learner() -> Path | None:
    """The learner that ships for the bundled model."""
    from importlib.resources import files

    folder = Path(str(files("rarewords") / "assets" / "minilm-learner"))
    return folder if (folder / "config.json").is_file() else None
