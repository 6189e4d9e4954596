"""Which learner makes the vectors: one that ships, one that the user made, or one fitted on the text at hand.

A matrix that brings readings to embeddings (:mod:`rarewords.mimic.learner`) ships for the bundled model only.
For any other masked LM it is fitted on the text itself, on the words in it that the model knows, and kept in
the cache under the model's fingerprint and the key of the text.

A model that is no masked LM, the target, has a masked LM read for it, the reader. The words that both models
have as one piece give pairs of embeddings; one matrix, by ridge regression, brings the reader's embeddings,
centred, to the target's::

    transported = mean of the target + spread of the target * unit((v - mean of the reader) A)
"""

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from rarewords.corpus.characters import fold
from rarewords.corpus.store import Store
from rarewords.engine import one_thread
from rarewords.errors import InputError
from rarewords.lm import LanguageModel
from rarewords.mimic.attentive import AttentiveMimicking
from rarewords.mimic.evidence import Evidence, Inferred, ridge
from rarewords.mimic.learner import WordLearner, usable_words
from rarewords.mimic.masked import find_word
from rarewords.mimic.readings import KnownWords
from rarewords.mimic.settings import LearnerSettings, bundled_learner, bundled_mimic, is_learner
from rarewords.models import cache_folder
from rarewords.probe.dataset import Dataset
from rarewords.progress import message
from rarewords.stages import Stages, key_of

# Two minutes for a model of 12 layers of 768 on two cores.
FITTED_WORDS, FITTED_CONTEXTS = 1000, 3
_FEWEST_WORDS, _FEWEST_SHARED = 300, 200
# What a reader reads for another model: contexts of a word, and tokens of each. The matrix between the models
# blurs more than further contexts, longer ones or a second reading would add (docs/results/everywhere.md).
CONTEXTS_FOR_ANOTHER, _LENGTH = 16, 32
_TITLE = "Learner"

Learner = WordLearner | AttentiveMimicking


@dataclass(frozen=True)
class TransportedLearner:
    """A learner of a reader whose vectors are brought into the space of the model that is taught.

    :param matrix: *Shape:* (reader's dim, target's dim)
    """

    learner: Learner
    known: KnownWords
    target: KnownWords
    matrix: Tensor

    @classmethod
    @one_thread()
    def fit(cls, learner: Learner, target: LanguageModel) -> Self:
        """Fit the matrix on the words that both models have as one piece; no text is needed."""
        reader = learner.lm
        shared = sorted(set(reader.whole_words) & set(target.whole_words))
        if len(shared) < _FEWEST_SHARED:
            both = f"{reader.name} and {target.name} have only {len(shared)} words in common"
            raise InputError(f"{both}; use a --reader for the same language")
        old, new = KnownWords.of(reader), KnownWords.of(target)
        inputs, outputs = (
            lm.embeddings[[lm.whole_words[word] for word in shared]].float().cpu() - known.mean.cpu()
            for lm, known in ((reader, old), (target, new))
        )
        matrix, _, _ = ridge(inputs, outputs)
        return cls(learner, old, new, matrix)

    @property
    def lm(self) -> LanguageModel:
        """The masked LM that reads."""
        return self.learner.lm

    @property
    def key(self) -> str:
        """A digest of everything the vectors depend on besides the target."""
        read = self.lm.fingerprint, self.learner.key, CONTEXTS_FOR_ANOTHER
        matrix = hashlib.sha256(self.matrix.numpy().tobytes()).hexdigest()
        return key_of("transported", read, matrix)

    def infer_each(self, tasks: Sequence[Evidence]) -> list[Inferred | None]:
        """Vectors in the target's space from a few sentences of each word; None for a word that gets none."""
        few = [
            Evidence(
                word, [self._spelled(word, one) for one in sentences[:CONTEXTS_FOR_ANOTHER]], definitions
            )
            for word, sentences, definitions in (Evidence(*task) for task in tasks)
        ]
        read = self.learner.infer_each(few)
        return [one and replace(one, vector=self.transport(one.vector[None])[0]) for one in read]

    def transport(self, vectors: np.ndarray) -> np.ndarray:
        """Vectors in the target's space. *Shape:* (n, reader's dim) -> (n, target's dim)"""
        centred = torch.from_numpy(vectors).float() - self.known.mean.cpu()
        moved = (centred @ self.matrix).to(self.target.mean)
        return self.target.at(moved).cpu().numpy()

    def _spelled(self, word: str, sentence: str) -> str:
        """The sentence, in small letters if only so a cased reader finds the word of an uncased model."""
        found = self.lm.lower_case or find_word(word, sentence, lower_case=False) is not None
        return sentence if found else fold(sentence)


AnyLearner = Learner | TransportedLearner


def open_learner(
    lm: LanguageModel, learner: str | Path | None = None, store: Store | None = None
) -> tuple[Learner, str]:
    """A learner for a model, and what it is, for the report.

    :param learner: a folder of either kind, ``am`` for the attentive mimicking model that ships, or None for
        the best learner there is: the one that ships for the bundled model; for any other model one that is
        fitted on the text, if there is enough of it.
    """
    if learner is None:
        if store is None or bundled_learner(lm.fingerprint) is not None:
            return WordLearner.for_model(lm), "default"
        return _fitted_on(store, lm)
    name = Path(learner).name
    if is_learner(Path(learner)):
        return WordLearner.from_pretrained(learner, lm), name
    folder = bundled_mimic(lm.fingerprint) if str(learner) == "am" else Path(learner)
    return AttentiveMimicking.from_pretrained(folder, lm), name


def learner_for(
    lm: LanguageModel, learner: str | Path | None, reader: str | Path, store: Store | None = None
) -> tuple[AnyLearner, str]:
    """A learner for a model of any kind; unless it is a masked LM, the reader makes its vectors."""
    if lm.kind == "masked":
        return open_learner(lm, learner, store)
    reads = LanguageModel.from_pretrained(reader, device=str(lm.device))
    opened, name = open_learner(reads, learner, store)
    if learner is None and isinstance(opened, WordLearner):
        opened = opened.with_settings(reading="masked", length=_LENGTH)
    return TransportedLearner.fit(opened, lm), name


def fitting_passes(lm: LanguageModel, store: Store) -> int:
    """How many contexts would be read to fit a learner; 0 if there is one, or the text is too small."""
    if bundled_learner(lm.fingerprint) is not None:
        return 0
    usable = _usable(lm, store)
    done = (cache_folder() / "learners" / f"{_TITLE.lower()}-{key_of(_recipe(lm, store))}").is_dir()
    return 0 if done or usable < _FEWEST_WORDS else min(usable, FITTED_WORDS) * FITTED_CONTEXTS


def _fitted_on(store: Store, lm: LanguageModel) -> tuple[Learner, str]:
    usable = _usable(lm, store)
    if usable < _FEWEST_WORDS:
        name = f"no fitted matrix: the text has {usable:,} words to fit one on, {_FEWEST_WORDS} are needed"
        message(f"{_TITLE}: {name}")
        return WordLearner(lm), name

    def make(folder: Path, work: Path) -> None:
        fitted = WordLearner.fit(
            lm,
            store,
            words=FITTED_WORDS,
            contexts=FITTED_CONTEXTS,
            min_count=FITTED_CONTEXTS,
            leave_out=_keywords(),
            stages=Stages(work),
        )
        fitted.save_pretrained(folder / "learner")

    folder = Stages(cache_folder() / "learners").folder(_TITLE, _recipe(lm, store), make)
    learner = WordLearner.from_pretrained(folder / "learner", lm)
    name = f"fitted on the text: {learner.fitted['words']:,} known words, "
    name += f"held-out cosine {learner.fitted['held_out_cosine']:.2f}"
    message(f"{_TITLE}: {name}")
    return learner, name


def _usable(lm: LanguageModel, store: Store) -> int:
    """The number of words to fit on; none if text and model differ in lower-casing, as a reader's may."""
    fits = store.settings.lower_case == lm.lower_case
    return len(usable_words(lm, store, FITTED_CONTEXTS, _keywords())) if fits else 0


def _keywords() -> list[str]:
    """The words of the test. Those to be taught need not be left out: they are no words the model knows."""
    return [entry.word.text for entry in Dataset.load()]


def _recipe(lm: LanguageModel, store: Store) -> dict[str, Any]:
    bounds, settings = [FITTED_WORDS, FITTED_CONTEXTS], asdict(LearnerSettings())
    return {"model": lm.fingerprint, "text": store.key, "bounds": bounds, "settings": settings}
