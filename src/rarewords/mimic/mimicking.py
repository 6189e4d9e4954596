"""Attentive mimicking from end to end: fit, infer, save, load."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rarewords.corpus.store import Store
from rarewords.corpus.text import words_of
from rarewords.errors import InputError
from rarewords.lm import LanguageModel
from rarewords.mimic.batches import (
    ContextReader,
    ContextTable,
    KeptReadings,
    Reader,
    context_table,
    table_of_sentences,
)
from rarewords.mimic.files import read_mimic, write_mimic
from rarewords.mimic.masked import MaskedContexts, contexts_of_sentences, contexts_of_words
from rarewords.mimic.model import FormContextModel, Mimicked, WordBatch
from rarewords.mimic.ngrams import UNKNOWN, NgramTable
from rarewords.mimic.placing import Placing
from rarewords.mimic.readings import KnownWords, read
from rarewords.mimic.settings import MimicSettings, preset
from rarewords.mimic.train import EpochReport, TrainingWords, train
from rarewords.progress import progress
from rarewords.vectors import WordVectors


@dataclass(frozen=True)
class Inferred:
    """The vector of one word and what it was made from.

    :param vector: *Shape:* (dim,)
    :param context_share: how much came from the contexts; the rest came from the spelling.
    :param weights: how much each context counted; they add up to one.
    """

    word: str
    vector: np.ndarray
    context_share: float
    weights: tuple[float, ...]


@dataclass(frozen=True)
class InferredWords:
    """The vectors of many words.

    :param context_share: one number a word. *Shape:* (words,)
    :param contexts: the number of contexts used for each. *Shape:* (words,)
    :param refused: words that got no vector, and why.
    """

    vectors: WordVectors
    context_share: np.ndarray
    contexts: np.ndarray
    refused: dict[str, str]


class PreparedContexts:
    """Contexts of many words, read from a store once and used often."""

    def __init__(self, store: Store, words: Sequence[str], limit: int | None = None) -> None:
        self._row_of = {word: row for row, word in enumerate(words)}
        self._table = context_table(store, list(words), limit)

    def of(self, words: Sequence[str]) -> ContextTable:
        """The contexts of some of the words."""
        return self._table.of_words(np.array([self._row_of[word] for word in words], dtype=np.int64))


class AttentiveMimicking:
    """A trained mimic model for one language model."""

    def __init__(
        self,
        lm: LanguageModel,
        model: FormContextModel,
        table: NgramTable,
        targets: WordVectors | None,
        approximations: WordVectors | None = None,
    ) -> None:
        self.lm, self.model, self.table, self.targets = lm, model.eval(), table, targets
        self.settings = model.settings
        self.history: list[EpochReport] = []
        self.placing = Placing(lm, self.settings, approximations)
        self._words, self._embeddings = _context_embeddings(lm, targets)
        self._row_of: dict[str, int] | None = None

    @classmethod
    def fit(
        cls,
        lm: LanguageModel,
        store: Store,
        targets: WordVectors | None = None,
        settings: MimicSettings | None = None,
        *,
        checkpoint: Path | None = None,
        contexts_kept: int | None = None,
        prepared: PreparedContexts | None = None,
        approximations: WordVectors | None = None,
        after_epoch: Callable[[EpochReport, AttentiveMimicking], None] | None = None,
    ) -> AttentiveMimicking:
        """Train on all words of the store that occur often enough and have a vector to mimic.

        :param targets: vectors of words of several pieces, from one-token approximation; without them only
            words of one piece are learned from.
        :param contexts_kept: read at most so many contexts of each word from the store.
        :param prepared: contexts already read from the store, for several trainings on the same text.
        :param approximations: of words inferred later, made beforehand, for settings with ``pieces``.
        """
        settings = settings or preset("am+context")
        check_made_for(lm, targets)
        if store.settings.lower_case != lm.lower_case:
            raise InputError("the store and the model differ in lower-casing; build the store with --model")
        if settings.reading and targets is not None:
            raise InputError("readings are learned from words of one piece alone; leave the targets out")
        embeddings_of, embeddings = _context_embeddings(lm, targets)
        words, counts = store.counts(settings.min_count)
        rows = {word: row for row, word in enumerate(embeddings_of)}
        chosen = [place for place, word in enumerate(words) if word in rows]
        if len(chosen) < 2:
            raise InputError(
                f"only {len(chosen)} of the {len(words)} words of {store.path} with a count of at least "
                f"{settings.min_count} have a vector to mimic; use a larger corpus or a lower min_count"
            )
        words, counts = [words[place] for place in chosen], counts[chosen]
        table = NgramTable.from_words(
            words,
            shortest=settings.ngram_min,
            longest=settings.ngram_max,
            threshold=settings.ngram_threshold,
            limit=settings.ngram_limit,
        )
        placing = Placing(lm, settings)
        centred = embeddings.to(lm.device) - placing.origin.to(lm.device)
        reader: ContextReader
        if settings.reading:
            reader = _read_contexts(lm, store, words, contexts_kept or settings.contexts_max, own=True)
        else:
            read = prepared.of(words) if prepared else context_table(store, words, contexts_kept)
            reader = Reader(read.with_rows(_known(store, embeddings_of, settings)), centred)
        data = TrainingWords(
            words,
            counts,
            centred[[rows[word] for word in words]],
            table.bags(words),
            reader,
            origin=(placing.mean - placing.origin).to(lm.device),
        )

        def report(epoch: EpochReport, model: FormContextModel) -> None:
            if after_epoch is not None:
                after_epoch(epoch, cls(lm, model, table, targets, approximations))

        model, history = train(data, settings, ngrams=len(table), checkpoint=checkpoint, after_epoch=report)
        fitted = cls(lm, model, table, targets, approximations)
        fitted.history = history
        return fitted

    def infer(self, word: str, contexts: Sequence[str] = ()) -> Inferred:
        """The vector of a word from its spelling and some sentences that contain it."""
        folded = word.lower() if self.lm.lower_case else word
        reader: ContextReader
        if self.settings.reading:
            masked = contexts_of_sentences(self.lm.tokens, {word: list(contexts)})
            reader = _kept(self.lm, masked)
        else:
            table = table_of_sentences([self._sentence_rows(folded, sentence) for sentence in contexts])
            reader = Reader(table, self._centred())
        refused = self._refusal(folded, int(reader.starts[-1]))
        if refused:
            raise InputError(f"{word!r}: {refused}")
        mimicked = self._mimic([folded], reader, np.array([0]))
        weights = mimicked.weights.cpu().tolist()
        vector = self.placing([folded], mimicked.vectors, np.diff(reader.starts))[0]
        return Inferred(word, vector, float(mimicked.context_share[0]), tuple(weights))

    def infer_words(
        self,
        words: Sequence[str],
        store: Store,
        *,
        limit: int | None = None,
        words_per_batch: int = 256,
        prepared: PreparedContexts | None = None,
    ) -> InferredWords:
        """Vectors of many words with their contexts from a store.

        :param limit: use at most so many contexts of each word.
        """
        words = list(dict.fromkeys(words))
        reader = self._reader(words, store, limit, prepared)
        counts = np.diff(reader.starts)
        refused = {word: self._refusal(word, int(count)) for word, count in zip(words, counts, strict=True)}
        kept = np.array([row for row, word in enumerate(words) if not refused[word]], dtype=np.int64)
        vectors, shares = [], []
        with progress("Inferring", total=len(kept), unit="words") as bar:
            for first in range(0, len(kept), words_per_batch):
                rows = kept[first : first + words_per_batch]
                some = [words[row] for row in rows]
                mimicked = self._mimic(some, reader, rows)
                vectors.append(self.placing(some, mimicked.vectors, counts[rows]))
                shares.append(mimicked.context_share.cpu().numpy())
                bar.advance(len(rows))
        settings = {"method": "mimic", "model": self.lm.name, "fingerprint": self.lm.fingerprint}
        matrix = np.concatenate(vectors) if vectors else np.zeros((0, self.lm.dim), np.float32)
        return InferredWords(
            WordVectors([words[row] for row in kept], matrix, {**settings, "mimic": self.settings.to_dict()}),
            np.concatenate(shares) if shares else np.zeros(0, np.float32),
            counts[kept],
            {word: reason for word, reason in refused.items() if reason},
        )

    def placed(self, **changes: Any) -> AttentiveMimicking:
        """The same model with other settings of ``scale``, ``pieces`` and ``pieces_alone``."""
        other = AttentiveMimicking(self.lm, self.model, self.table, self.targets)
        other.settings = replace(self.settings, **changes)
        other.history = self.history
        other.placing = Placing(self.lm, other.settings, self.placing.approximations)
        return other

    def _centred(self) -> Tensor:
        """The embeddings of context words as the model takes them. *Shape:* (known words, dim)"""
        return self._embeddings.to(self.lm.device) - self.placing.origin.to(self.lm.device)

    def _reader(
        self, words: Sequence[str], store: Store, limit: int | None, prepared: PreparedContexts | None
    ) -> ContextReader:
        if self.settings.reading:
            return _read_contexts(self.lm, store, words, limit or self.settings.contexts_max)
        read = prepared.of(words) if prepared else context_table(store, words, limit)
        contexts = read.with_rows(_known(store, self._words, self.settings))
        return Reader(contexts, self._centred())

    def save_pretrained(self, folder: str | Path, *, packed: bool = False) -> None:
        """Write the model as a folder; ``packed`` stores large matrices as int8, a quarter of the size."""
        config = {
            "settings": self.settings.to_dict(),
            "model": self.lm.name,
            "fingerprint": self.lm.fingerprint,
            "dim": self.lm.dim,
            "history": [asdict(report) for report in self.history],
        }
        write_mimic(Path(folder), config, self.model.state_dict(), self.table, self.targets, packed=packed)

    @classmethod
    def from_pretrained(cls, folder: str | Path, lm: LanguageModel) -> AttentiveMimicking:
        """Load a folder written by :meth:`save_pretrained`, for the language model it was trained for."""
        config, tensors, table, targets = read_mimic(Path(folder))
        if config["dim"] != lm.dim or config["fingerprint"] != lm.fingerprint:
            raise InputError(
                f"{folder} was trained for the model {config['model']}, not for {lm.name}; "
                "its vectors would mean nothing there"
            )
        settings = MimicSettings.from_dict(config["settings"])
        model = FormContextModel(settings, dim=lm.dim, ngrams=len(table))
        model.load_state_dict(tensors)
        loaded = cls(lm, model.to(lm.device), table, targets)
        loaded.history = [EpochReport(**report) for report in config["history"]]
        return loaded

    @torch.no_grad()
    def _mimic(self, words: Sequence[str], reader: ContextReader, rows: np.ndarray) -> Mimicked:
        """Mimic words; ``rows`` says which words of the reader they are."""
        device = self.lm.device
        bags = self.table.bags(words)
        # A word none of whose n-grams is known is left to its contexts.
        known = np.add.reduceat(bags.numbers != UNKNOWN, bags.starts[:-1]) > 0
        counts = np.diff(reader.starts)[rows]
        places = np.concatenate([np.arange(reader.starts[row], reader.starts[row + 1]) for row in rows])
        contexts = torch.from_numpy(places.astype(np.int64)).to(device)
        owner = torch.from_numpy(np.repeat(np.arange(len(rows)), counts)).to(device)
        readings = (
            reader.read(contexts) if len(contexts) else self._embeddings.new_zeros(0, self.lm.dim).to(device)
        )
        batch = WordBatch(
            torch.from_numpy(bags.numbers).to(device),
            torch.from_numpy(bags.starts[:-1]).to(device),
            torch.from_numpy(known | (counts == 0)).to(device),
            readings,
            owner,
        )
        mimicked: Mimicked = self.model(batch)
        return mimicked

    def _refusal(self, word: str, contexts: int) -> str:
        """Why a word can get no vector; nothing when it can."""
        has_form = self.settings.form and bool((self.table.bags([word]).numbers != UNKNOWN).any())
        if has_form or (contexts and self.settings.context):
            return ""
        return "no context that says anything and no known n-gram; give sentences that contain it"

    def _sentence_rows(self, word: str, sentence: str) -> tuple[list[int], int]:
        found = words_of(sentence, lower_case=self.lm.lower_case)
        if word not in found:
            raise InputError(f"the context {sentence[:60]!r} does not contain the word {word!r}")
        if self._row_of is None:
            self._row_of = {known: row for row, known in enumerate(self._words)}
        return [self._row_of.get(one, -1) if one != word else -1 for one in found], found.index(word)


def _context_embeddings(lm: LanguageModel, targets: WordVectors | None) -> tuple[list[str], Tensor]:
    """The words whose embedding is known, and their embeddings in float32 on the CPU."""
    whole = lm.whole_words
    words = list(whole)
    matrix = lm.embeddings[list(whole.values())].float().cpu()
    if targets is not None:
        more = [word for word in targets.words if word not in whole]
        matrix = torch.cat([matrix, torch.from_numpy(targets.subset(more).matrix)])
        words += more
    return words, matrix


def _read_contexts(
    lm: LanguageModel, store: Store, words: Sequence[str], limit: int, *, own: bool = False
) -> KeptReadings:
    """Contexts of words as the language model reads them, as differences from the mean embedding.

    :param own: the words are known to the model; it must not expect them in their own contexts.
    """
    masked = contexts_of_words(lm.tokens, store, words, limit=limit)
    return _kept(lm, masked, [lm.whole_words[word] for word in words] if own else None)


def _kept(lm: LanguageModel, masked: MaskedContexts, forbidden: Sequence[int] | None = None) -> KeptReadings:
    known = KnownWords.of(lm)
    readings = read(lm, known, masked, forbidden=forbidden)
    return KeptReadings(readings - known.mean.to(readings.dtype), masked.word_starts)


def _known(store: Store, words: Sequence[str], settings: MimicSettings) -> np.ndarray:
    """For each word of the store's vocabulary its row among the known words, or -1."""
    known = np.full(max(len(store), 1), -1, dtype=np.int64)
    numbers = store.find(words)
    known[numbers[numbers >= 0]] = np.flatnonzero(numbers >= 0)
    if settings.skip_frequent:
        frequent, _ = store.counts()
        known[store.find(frequent[: settings.skip_frequent])] = -1
    return known


def check_made_for(lm: LanguageModel, vectors: WordVectors | None, what: str = "targets") -> None:
    """Refuse vectors that were made for another language model."""
    if vectors is None:
        return
    if vectors.dim != lm.dim:
        raise InputError(f"the {what} have size {vectors.dim}, but {lm.name} has embeddings of size {lm.dim}")
    made_for: Any = vectors.settings.get("fingerprint")
    if made_for is not None and made_for != lm.fingerprint:
        raise InputError(
            f"the {what} were made for another model than {lm.name}; make them with rarewords ota"
        )
