"""Attentive mimicking from end to end: fit, infer, save, load."""

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Self

import numpy as np
import torch
from safetensors.torch import save, save_file

from rarewords.corpus.characters import fold
from rarewords.corpus.columns import ragged
from rarewords.corpus.store import Store
from rarewords.corpus.text import word_hashes
from rarewords.engine import one_thread
from rarewords.errors import InputError
from rarewords.files import read_text, understood, whole_folder, write_json
from rarewords.lm import LanguageModel
from rarewords.mimic.batches import ContextEmbeddings, PreparedContexts, Reader, Sentences
from rarewords.mimic.definitions import sentences_of
from rarewords.mimic.evidence import Evidence, Inferred, InferredWords
from rarewords.mimic.model import FormContextModel, Mimicked, WordBatch
from rarewords.mimic.ngrams import UNKNOWN, NgramTable
from rarewords.mimic.readings import KnownWords
from rarewords.mimic.settings import MIMIC_FORMAT, MimicSettings, preset, read_config
from rarewords.mimic.train import EpochReport, TrainingWords, train
from rarewords.models import load_packed
from rarewords.progress import progress
from rarewords.settings import checked_settings
from rarewords.stages import key_of
from rarewords.vectors import WordVectors

_WORDS_PER_BATCH = 256
_NOTHING = "no context with a known word and no known n-gram; give sentences that contain it"


@dataclass(frozen=True, eq=False)
class AttentiveMimicking:
    """A trained mimic model for one language model.

    :param targets: vectors of words of several pieces, which also serve as embeddings of context words.
    """

    lm: LanguageModel
    model: FormContextModel
    table: NgramTable
    targets: WordVectors | None
    settings: MimicSettings
    history: tuple[EpochReport, ...] = ()

    @classmethod
    @one_thread()
    def fit(
        cls,
        lm: LanguageModel,
        store: Store,
        targets: WordVectors | None = None,
        settings: MimicSettings | None = None,
        *,
        work: Path | None = None,
        prepared: PreparedContexts | None = None,
        after_epoch: Callable[[EpochReport, "AttentiveMimicking"], None] | None = None,
    ) -> Self:
        """Train on the frequent words of a store that have a vector to mimic.

        :param targets: vectors of words of several pieces, from one-token approximation; without them only
            words of one piece are learned.
        :param work: a folder for checkpoints; an interrupted training with the same inputs resumes from it.
        :param prepared: contexts already read from the store, for several trainings on the same text.
        """
        settings = settings or preset("am+context")
        check_made_for(lm, targets)
        if store.settings.lower_case != lm.lower_case:
            raise InputError("the store and the model differ in lower-casing; build the store with --model")
        known = ContextEmbeddings.of(lm, targets, punctuation=settings.punctuation)
        frequent, counts = store.counts(settings.min_count)
        rows = known.rows(word_hashes(frequent))
        chosen = np.flatnonzero(rows < len(known.matrix))
        if len(chosen) < 2:
            few = f"only {len(chosen)} of {len(frequent)} words that occur {settings.min_count} times"
            raise InputError(f"{few} have a vector to mimic; use a larger corpus or a lower min_count")
        table = NgramTable.from_words(frequent, settings)
        words = [frequent[place] for place in chosen]
        prepared = prepared or PreparedContexts(store, words)
        vectors = known.matrix[torch.from_numpy(rows[chosen]).to(lm.device)]
        data = TrainingWords(counts[chosen], vectors, table.bags(words), Reader(prepared, words, known))
        made_from = [lm.fingerprint, store.key, prepared.limit, None if targets is None else targets.key]
        name = f"training-{key_of(asdict(settings), made_from)}.pt"

        def report(epoch: EpochReport, model: FormContextModel) -> None:
            if after_epoch is not None:
                after_epoch(epoch, cls(lm, model, table, targets, settings))

        checkpoint = None if work is None else work / name
        model, history = train(data, settings, ngrams=len(table), checkpoint=checkpoint, after_epoch=report)
        return cls(lm, model, table, targets, settings, tuple(history))

    @one_thread()
    def infer(self, word: str, contexts: Sequence[str] = ()) -> Inferred:
        """The vector of a word from its spelling and sentences that contain it.

        The sentences are read as :meth:`infer_words` reads them from a store: a sentence given twice counts
        once, and its weight is divided.
        """
        given = Counter(contexts)
        source = Sentences(list(given), lower_case=self.lm.lower_case)
        reader = Reader(PreparedContexts(source, [word]), [word], self._known)
        made, weights = self._infer([word], reader)
        if made.refused:
            raise InputError(f"{word!r}: {made.refused[word]}")
        summed = np.bincount(reader.sentence, weights, minlength=len(given)).tolist()
        weight_of = {text: weight / given[text] for text, weight in zip(given, summed, strict=True)}
        share, weights_given = float(made.context_share[0]), tuple(weight_of[text] for text in contexts)
        return Inferred(word, made.vectors.matrix[0], share, weights_given)

    def infer_each(self, tasks: Sequence[Evidence]) -> list[Inferred | None]:
        """:meth:`infer` for many words, definitions as sentences; None for a word that gets no vector."""
        made: list[Inferred | None] = [None] * len(tasks)
        for row, (word, sentences, definitions) in enumerate(Evidence(*task) for task in tasks):
            defining = [text for one in definitions for text in sentences_of(word, one)]
            with suppress(InputError):
                made[row] = self.infer(word, [*sentences, *defining])
        return made

    @one_thread()
    def infer_words(
        self,
        words: Sequence[str],
        store: Store,
        *,
        contexts: int | None = None,
        prepared: PreparedContexts | None = None,
    ) -> InferredWords:
        """The vectors of many words from their spelling and at most ``contexts`` contexts per word."""
        words = list(dict.fromkeys(words))
        prepared = prepared or PreparedContexts(store, words, contexts)
        return self._infer(words, Reader(prepared, words, self._known))[0]

    @cached_property
    def key(self) -> str:
        """What its vectors depend on besides the language model, as sixteen hexadecimal digits."""
        weights = hashlib.sha256(save(self.model.state_dict())).hexdigest()
        targets = None if self.targets is None else self.targets.key
        return key_of(asdict(self.settings), self.table.known, weights, targets)

    def save_pretrained(self, folder: str | Path) -> None:
        """Write the model as a folder."""
        config = {
            "format": MIMIC_FORMAT,
            "model": self.lm.name,
            "fingerprint": self.lm.fingerprint,
            "settings": asdict(self.settings),
            "history": [asdict(report) for report in self.history],
        }
        tensors = {name: tensor.cpu().contiguous() for name, tensor in self.model.state_dict().items()}
        with whole_folder(folder) as temporary:
            if self.targets is not None:
                tensors["targets"] = torch.from_numpy(np.array(self.targets.matrix))
                (temporary / "targets.txt").write_text("\n".join(self.targets.words), "utf-8")
            save_file(tensors, temporary / "model.safetensors", metadata={"format": "pt"})
            (temporary / "ngrams.txt").write_text("\n".join(self.table.known), "utf-8")
            write_json(temporary / "config.json", config)

    @classmethod
    def from_pretrained(cls, folder: str | Path, lm: LanguageModel) -> Self:
        """Load a folder that :meth:`save_pretrained` wrote, for the language model it was trained for."""
        folder = Path(folder)
        with understood(folder, "train it again with rarewords mimic train"):
            config = read_config(folder, MIMIC_FORMAT, lm.fingerprint)
            values = checked_settings(MimicSettings, config["settings"], folder / "config.json")
            settings = MimicSettings(**values)
            tensors, targets = load_packed(folder / "model.safetensors"), None
            if "targets" in tensors:
                made_for = {"fingerprint": lm.fingerprint}
                words = _lines(folder / "targets.txt")
                targets = WordVectors(words, tensors.pop("targets").numpy(), made_for)
            table = NgramTable(_lines(folder / "ngrams.txt"), settings.ngram_min, settings.ngram_max)
            model = FormContextModel(settings, dim=lm.dim, ngrams=len(table))
            model.load_state_dict(tensors)
            history = tuple(EpochReport(**report) for report in config["history"])
            return cls(lm, model.to(lm.device), table, targets, settings, history)

    @cached_property
    def _known(self) -> ContextEmbeddings:
        return ContextEmbeddings.of(self.lm, self.targets, punctuation=self.settings.punctuation)

    @torch.no_grad()
    def _infer(self, words: Sequence[str], reader: Reader) -> tuple[InferredWords, np.ndarray]:
        """The vectors of words with the contexts of a reader, and the weight of each context."""
        folded = [fold(word) if self.lm.lower_case else word for word in words]
        counts, made = np.diff(reader.starts), list[Mimicked]()
        good = np.array([*map(self._can_infer, folded, counts)], dtype=np.bool_)
        kept = np.flatnonzero(good)
        with progress("Inferring", total=len(kept), unit="words") as bar:
            for first in range(0, len(kept), _WORDS_PER_BATCH):
                rows = kept[first : first + _WORDS_PER_BATCH]
                contexts = torch.from_numpy(ragged(reader.starts[rows], counts[rows])).to(reader.device)
                grams, has_form = self.table.bags([folded[row] for row in rows]), np.ones(len(rows), np.bool_)
                made.append(self.model(WordBatch.of(grams, has_form, reader, contexts, counts[rows])))
                bar.advance(len(rows))
        vectors = torch.cat([torch.zeros(0, self.lm.dim), *(one.vectors.cpu() for one in made)])
        shares = torch.cat([torch.zeros(0), *(one.context_share.cpu() for one in made)])
        weights = torch.cat([torch.zeros(0), *(one.weights.cpu() for one in made)])
        if self.settings.scale:
            known = KnownWords.of(self.lm)
            vectors = known.at(known.directions(vectors), self.settings.scale).cpu()
        about = {"method": "mimic", "model": self.lm.name, "fingerprint": self.lm.fingerprint}
        settings = {**about, "mimic": asdict(self.settings)}
        refused = {word: _NOTHING for word, yes in zip(words, good, strict=True) if not yes}
        found = WordVectors([word for word in words if word not in refused], vectors.numpy(), settings)
        return InferredWords(found, shares.numpy(), counts[kept], refused), weights.numpy()

    def _can_infer(self, word: str, contexts: int) -> bool:
        """Whether a word has anything to make a vector from."""
        # A model without form gives zero for a word without contexts, as the authors' program does.
        if not self.settings.form or (contexts and self.settings.context):
            return True
        return bool((self.table.bags([word]).numbers != UNKNOWN).any())


def _lines(path: Path) -> list[str]:
    return [line for line in read_text(path).split("\n") if line]


def check_made_for(lm: LanguageModel, vectors: WordVectors | None) -> None:
    """Refuse vectors that were made for another language model."""
    if vectors is None:
        return
    vectors.require_dim(lm.dim)
    if vectors.settings.get("fingerprint", lm.fingerprint) != lm.fingerprint:
        raise InputError(f"the targets were made for another model, not {lm.name}; use rarewords ota")
