"""Attentive mimicking from end to end: fit, learn, save, load."""

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

from rarewords._internal.cache import key_of
from rarewords._internal.engine import one_thread
from rarewords._internal.files import read_text, reading, whole_folder, write_json
from rarewords._internal.progress import progress
from rarewords._internal.schema import checked_settings, parse
from rarewords.corpus.characters import fold
from rarewords.corpus.columns import ragged
from rarewords.corpus.corpus import Corpus
from rarewords.corpus.text import word_hashes
from rarewords.embeddings import WordEmbeddings
from rarewords.errors import InputError
from rarewords.learner.definitions import sentences_of
from rarewords.learner.evidence import Evidence, LearnedEmbedding, LearnedEmbeddings, require_same_case
from rarewords.learner.known_words import KnownWords
from rarewords.learner.settings import MIMIC_FORMAT, read_config
from rarewords.lm import LanguageModel
from rarewords.mimic.batches import ContextEmbeddings, PreparedContexts, Reader, Sentences
from rarewords.mimic.model import UNKNOWN, FormContextModel, MimicOutput, NgramTable, WordBatch
from rarewords.mimic.settings import MimicSettings, preset
from rarewords.mimic.train import EpochReport, TrainingWords, train
from rarewords.models import load_packed

_WORDS_PER_BATCH = 256
_NOTHING = "no context with a known word and no known n-gram; give sentences that contain it"


@dataclass(frozen=True, eq=False)
class AttentiveMimicking:
    """A trained mimic model for one language model.

    :param targets: embeddings of words of several subwords, which also serve as embeddings of context words.
    """

    lm: LanguageModel
    model: FormContextModel
    table: NgramTable
    targets: WordEmbeddings | None
    settings: MimicSettings
    history: tuple[EpochReport, ...] = ()

    @classmethod
    @one_thread()
    def fit(
        cls,
        lm: LanguageModel,
        corpus: Corpus,
        targets: WordEmbeddings | None = None,
        settings: MimicSettings | None = None,
        *,
        work: Path | None = None,
        prepared: PreparedContexts | None = None,
        after_epoch: Callable[[EpochReport, "AttentiveMimicking"], None] | None = None,
    ) -> Self:
        """Train on the frequent words of a corpus that have an embedding to mimic.

        :param targets: embeddings of words of several subwords, from one-token approximation; without them
            only words of one subword are learned.
        :param work: a folder for checkpoints; an interrupted training with the same inputs resumes from it.
        :param prepared: contexts already read from the corpus, for several trainings on the same text.
        """
        settings = settings or preset("am+context")
        check_made_for(lm, targets)
        require_same_case(lm, corpus)
        known = ContextEmbeddings.of(lm, targets)
        frequent, counts = corpus.counts(settings.min_count)
        rows = known.rows(word_hashes(frequent))
        chosen = np.flatnonzero(rows < len(known.matrix))
        if len(chosen) < 2:
            few = f"only {len(chosen)} of {len(frequent)} words that occur {settings.min_count} times have an embedding"
            raise InputError(f"{few} to mimic; use a larger corpus or a lower min_count", code="mimic")
        table = NgramTable.from_words(frequent, settings)
        words = [frequent[place] for place in chosen]
        prepared = prepared or PreparedContexts(corpus, words)
        embeddings = known.matrix[torch.from_numpy(rows[chosen]).to(lm.device)]
        data = TrainingWords(counts[chosen], embeddings, [*map(table.numbers, words)], Reader(prepared, words, known))
        made_from = [lm.fingerprint, corpus.key, prepared.limit, None if targets is None else targets.key]
        checkpoint = None if work is None else work / f"training-{key_of(asdict(settings), made_from)}.pt"

        def report(epoch: EpochReport, model: FormContextModel) -> None:
            if after_epoch is not None:
                after_epoch(epoch, cls(lm, model, table, targets, settings))

        model, history = train(data, settings, ngrams=len(table), checkpoint=checkpoint, after_epoch=report)
        return cls(lm, model, table, targets, settings, tuple(history))

    @one_thread()
    def learn(self, word: str, sentences: Sequence[str] = ()) -> LearnedEmbedding:
        """The embedding of a word from its spelling and sentences that contain it.

        The sentences are read as :meth:`learn_words` reads them from a corpus: a sentence given twice counts
        once, and its weight is divided.
        """
        given = Counter(sentences)
        source = Sentences(list(given), lower_case=self.lm.lower_case)
        reader = Reader(PreparedContexts(source, [word]), [word], self._known)
        made, weights = self._learn([word], reader)
        if made.skipped:
            raise InputError(f"{word!r}: {made.skipped[word]}", code="mimic")
        summed = np.bincount(reader.sentence, weights, minlength=len(given)).tolist()
        weight_of = {text: weight / given[text] for text, weight in zip(given, summed, strict=True)}
        each = tuple(weight_of[text] for text in sentences)
        return LearnedEmbedding(word, made.embeddings.matrix[0], float(made.context_share[0]), each)

    def learn_each(self, tasks: Sequence[Evidence]) -> list[LearnedEmbedding | None]:
        """:meth:`learn` for many words, definitions as sentences; None for a word that gets no embedding."""
        made: list[LearnedEmbedding | None] = [None] * len(tasks)
        for row, (word, sentences, definitions, _) in enumerate(Evidence(*task) for task in tasks):
            defining = [text for one in definitions for text in sentences_of(word, one)]
            with suppress(InputError):
                made[row] = self.learn(word, [*sentences, *defining])
        return made

    @one_thread()
    def learn_words(
        self, words: Sequence[str], corpus: Corpus | PreparedContexts, *, contexts: int | None = None
    ) -> LearnedEmbeddings:
        """The embeddings of many words from their spelling and at most ``contexts`` contexts per word.

        :param corpus: a corpus, or contexts already read from one.
        """
        words = list(dict.fromkeys(words))
        prepared = corpus if isinstance(corpus, PreparedContexts) else PreparedContexts(corpus, words, contexts)
        return self._learn(words, Reader(prepared, words, self._known))[0]

    @cached_property
    def key(self) -> str:
        """A digest of everything the embeddings depend on besides the language model."""
        weights = hashlib.sha256(save(self.model.state_dict())).hexdigest()
        targets = None if self.targets is None else self.targets.key
        return key_of("mimic", asdict(self.settings), self.table.known, weights, targets)

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
        folder, remedy = Path(folder), "make one with rarewords mimic train"
        config = read_config(folder, MIMIC_FORMAT, lm.fingerprint, remedy)
        settings = MimicSettings(**checked_settings(MimicSettings, config.settings, folder / "config.json"))
        with reading(folder / "model.safetensors", remedy):
            tensors, targets = load_packed(folder / "model.safetensors"), None
        if "targets" in tensors:
            matrix = tensors.pop("targets").numpy()
            targets = WordEmbeddings(_lines(folder / "targets.txt"), matrix, {"fingerprint": lm.fingerprint})
        table = NgramTable(_lines(folder / "ngrams.txt"))
        model = FormContextModel(settings, dim=lm.dim, ngrams=len(table))
        shapes = {name: tensor.shape for name, tensor in model.state_dict().items()}
        if shapes != {name: tensor.shape for name, tensor in tensors.items()}:
            raise InputError(f"{folder / 'model.safetensors'} is damaged; {remedy}", code="damaged")
        model.load_state_dict(tensors)
        history = parse(tuple[EpochReport, ...], config.history, folder / "config.json", remedy)
        return cls(lm, model.to(lm.device), table, targets, settings, history)

    @cached_property
    def _known(self) -> ContextEmbeddings:
        return ContextEmbeddings.of(self.lm, self.targets)

    @torch.no_grad()
    def _learn(self, words: Sequence[str], reader: Reader) -> tuple[LearnedEmbeddings, np.ndarray]:
        """The embeddings of words with the contexts of a reader, and the weight of each context."""
        grams = [self.table.numbers(fold(word) if self.lm.lower_case else word) for word in words]
        counts = np.diff(reader.starts)
        made = [MimicOutput(torch.zeros(0, self.lm.dim), torch.zeros(0), torch.zeros(0))]
        known = np.array([bool((numbers != UNKNOWN).any()) for numbers in grams], dtype=np.bool_)
        # A model without form gives zero for a word without contexts, as the authors' program does.
        good = known | (counts > 0) & self.settings.context | (not self.settings.form)
        kept = np.flatnonzero(good)
        with progress("Inferring", total=len(kept), unit="words") as bar:
            for first in range(0, len(kept), _WORDS_PER_BATCH):
                rows = kept[first : first + _WORDS_PER_BATCH]
                contexts = torch.from_numpy(ragged(reader.starts[rows], counts[rows])).to(reader.device)
                has_form = np.ones(len(rows), np.bool_)
                batch = WordBatch.of([grams[row] for row in rows], has_form, reader, contexts, counts[rows])
                made.append(self.model(batch))
                bar.advance(len(rows))
        embeddings, shares, weights = (torch.cat([part.cpu() for part in parts]) for parts in zip(*made, strict=True))
        if self.settings.scale:
            space = KnownWords.of(self.lm)
            embeddings = space.at(space.directions(embeddings), self.settings.scale).cpu()
        about = {"method": "mimic", "model": self.lm.name, "fingerprint": self.lm.fingerprint}
        skipped = {word: _NOTHING for word, yes in zip(words, good, strict=True) if not yes}
        named = [word for word in words if word not in skipped]
        found = WordEmbeddings(named, embeddings.numpy(), {**about, "mimic": asdict(self.settings)})
        return LearnedEmbeddings(found, shares.numpy(), counts[kept], skipped), weights.numpy()


def _lines(path: Path) -> list[str]:
    return [line for line in read_text(path).split("\n") if line]


def check_made_for(lm: LanguageModel, embeddings: WordEmbeddings | None) -> None:
    """Refuse embeddings that were made for another language model."""
    if embeddings is None:
        return
    embeddings.require_dim(lm.dim)
    if embeddings.settings.get("fingerprint", lm.fingerprint) != lm.fingerprint:
        raise InputError(f"the targets are of another model, not of {lm.name}; make them again", code="model-mismatch")
