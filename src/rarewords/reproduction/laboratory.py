"""What the experiments share: the model, the text, the entries, and the stages that several parts need."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch

from rarewords import __version__
from rarewords.corpus.store import Store
from rarewords.errors import InputError
from rarewords.files import read_json, write_json
from rarewords.lm import LanguageModel
from rarewords.mimic.learner import WordLearner
from rarewords.mimic.mimicking import InferredWords, PreparedContexts, check_made_for
from rarewords.mimic.train import EpochReport
from rarewords.ota.run import approximate
from rarewords.probe.cache import PredictionCache
from rarewords.probe.dataset import Dataset
from rarewords.probe.evaluate import EvalSettings, evaluate
from rarewords.probe.result import ProbeResult
from rarewords.reproduction.configurations import title_of, train_configuration
from rarewords.reproduction.results import of_set, replaced, restrict
from rarewords.reproduction.sampling import order_key, sample_dataset
from rarewords.reproduction.settings import ReproduceSettings
from rarewords.reproduction.workshop import Workshop, digest
from rarewords.vectors import WordVectors

HEAT_MAP_DEPTH = 512
# The keywords of the paper's tables of example queries, and others its text names.
EXAMPLE_WORDS = (
    *("lime", "bicycle", "kumquat", "unicycle", "unaccessible", "salsify", "resigntaion"),
    *("bulghur", "kidnaper", "lingonberry", "samosa", "harmonium"),
)


@dataclass(frozen=True)
class Training:
    """A trained configuration.

    :param history: what each epoch reported.
    :param vectors: by epoch; all keywords after the last epoch of AM+context, those of dev otherwise.
    :param refused: words no vector could be made of, at the last epoch.
    """

    history: list[dict[str, Any]]
    vectors: dict[int, WordVectors]
    refused: list[str]


class Laboratory:
    """The shared inputs and stages of a reproduction.

    :param targets: one-token approximations made beforehand; words they lack are approximated here.
    :param learner: our own method; the one for this model when none is given.
    """

    def __init__(
        self,
        lm: LanguageModel,
        store: Store,
        dataset: Dataset,
        settings: ReproduceSettings,
        workshop: Workshop,
        targets: WordVectors | None = None,
        learner: WordLearner | None = None,
    ) -> None:
        if store.settings.lower_case != lm.lower_case:
            raise InputError("the store and the model differ in lower-casing; build the store with --model")
        self.lm, self.store, self.settings, self.workshop = lm, store, settings, workshop
        size = settings.sample
        self.whole_dataset = dataset
        self.dataset = sample_dataset(
            dataset, size.dev_entries, size.test_entries, settings.seed, smallest_cell=size.smallest_cell
        )
        check_made_for(lm, targets)
        self._targets = targets
        self._learner = learner

    @cached_property
    def identity(self) -> dict[str, Any]:
        """What all results depend on."""
        store = read_json(self.store.path / "store.json")
        given = None if self._targets is None else content(self._targets)
        return {
            **self._model,
            "dataset": self.dataset.digest,
            "store": digest({"files": store["files"]}),
            "settings": self.settings.to_dict(),
            "targets": given,
            "version": __version__,
        }

    @property
    def _model(self) -> dict[str, Any]:
        return {"model": self.lm.fingerprint, "dtype": str(self.lm.dtype).removeprefix("torch.")}

    @cached_property
    def learner(self) -> WordLearner:
        """Our own method for this model."""
        return self._learner or WordLearner.for_model(self.lm)

    @cached_property
    def learner_identity(self) -> dict[str, Any]:
        """What its vectors depend on, besides the model and the contexts."""
        matrix = self.learner.transform
        summed = None if matrix is None else hashlib.sha256(matrix.cpu().numpy().tobytes()).hexdigest()
        return {
            "settings": asdict(self.learner.settings),
            "fitted": dict(self.learner.fitted),
            "matrix": summed,
        }

    @cached_property
    def keywords(self) -> list[str]:
        """The keywords of all entries, each once."""
        return list(dict.fromkeys(entry.word.text for entry in self.dataset))

    @cached_property
    def dev_keywords(self) -> list[str]:
        """The keywords of dev."""
        return list(dict.fromkeys(entry.word.text for entry in self.dataset if entry.subset == "dev"))

    @cached_property
    def frequent(self) -> list[str]:
        """The words of the store that are frequent enough to learn from."""
        return list(self.store.counts(self.settings.sample.min_count)[0])

    @cached_property
    def training_targets(self) -> list[str]:
        """Those of them that have several pieces and are to be approximated."""
        several = [
            word
            for word, pieces in zip(self.frequent, self.lm.tokens.pieces_of(self.frequent), strict=True)
            if len(pieces) > 1
        ]
        most = self.settings.sample.targets
        if most is None or most >= len(several):
            return several
        return sorted(several, key=lambda word: order_key(word, self.settings.seed))[:most]

    @cached_property
    def contexts(self) -> PreparedContexts:
        """The contexts of training words, keywords and example words, read from the store once a run."""
        words = list(dict.fromkeys([*self.frequent, *self.keywords, *EXAMPLE_WORDS]))
        with self.workshop.timed("Reading contexts from the store"):
            return PreparedContexts(self.store, words, self.settings.sample.contexts)

    @cached_property
    def approximations(self) -> WordVectors:
        """One-token approximations of all keywords and training words of several pieces."""
        pieces = zip(self.keywords, self.lm.tokens.pieces_of(self.keywords), strict=True)
        words = list(dict.fromkeys([*(word for word, ids in pieces if len(ids) > 1), *self.training_targets]))
        ready = self._targets
        missing = [word for word in words if ready is None or word not in ready]
        if ready is not None and not missing:
            return ready.subset(words)
        settings = self.settings.ota()
        recipe = {**self._model, "settings": settings.to_dict(), "words": _listed(missing)}

        def make(folder: Path, work: Path) -> None:
            with tf32():
                made = approximate(self.lm, missing, settings, work=work)
            made.vectors.save(folder / "vectors.safetensors")
            write_json(folder / "left_out.json", [str(note) for note in made.left_out])

        folder = self.workshop.stage("One-token approximation", recipe, make)
        made = load_vectors(folder / "vectors.safetensors")
        if ready is None:
            return made
        return ready.subset(word for word in words if word in ready).merge(made)

    @cached_property
    def pieces(self) -> ProbeResult:
        """The model with its own pieces on all entries, looked at as deep as the heat map needs."""
        return self._probe(self.dataset, EvalSettings(depth=HEAT_MAP_DEPTH), None, label="pieces")

    def probe(
        self, label: str, *, method: str = "vectors", vectors: WordVectors | None = None, subset: str = "all"
    ) -> ProbeResult:
        """The model with one vector for each keyword; entries whose keyword has none are not asked anew."""
        entries = [entry for entry in self.dataset if subset in ("all", entry.subset)]
        if vectors is not None:
            changed = [entry for entry in entries if entry.word.text in vectors]
        else:
            words = [entry.word.text for entry in entries]
            lengths = [len(ids) for ids in self.lm.tokens.pieces_of(words)]
            changed = [entry for entry, length in zip(entries, lengths, strict=True) if length > 1]
        base = self.pieces
        base = base if subset == "all" else of_set(base, self.dataset, subset)
        if not changed:
            return restrict(base, base.count >= 0, label=label, method=method)
        part = Dataset(tuple(changed), self.dataset.name)
        return replaced(base, self._probe(part, EvalSettings(method=method), vectors, label=label))

    def training(self, configuration: str, seed: int) -> Training:
        """A configuration of attentive mimicking, trained, and its vectors at the epochs measured."""
        settings = self.settings.mimic(configuration, seed)
        epochs = self.settings.sample.epochs
        approximated = None if configuration == "no-ota" else self.approximations
        targets = approximated and approximated.subset(
            word for word in self.training_targets if word in approximated
        )
        recipe = {
            **self.identity,
            "settings": settings.to_dict(),
            "contexts": self.settings.sample.contexts,
            "epochs": list(epochs),
            "targets": None if targets is None else content(targets),
            **({"approximations": content(self.approximations)} if settings.pieces else {}),
        }
        everything = list(dict.fromkeys([*self.keywords, *EXAMPLE_WORDS]))

        def words_after(epoch: int) -> list[str]:
            if epoch == epochs[-1] and configuration == "am+context":
                return everything
            return self.dev_keywords if epoch in epochs else []

        def make(folder: Path, work: Path) -> None:
            work.mkdir(parents=True, exist_ok=True)

            def keep(report: EpochReport, made: InferredWords) -> None:
                made.vectors.save(work / f"epoch-{report.epoch}.safetensors")
                write_json(work / "refused.json", sorted(made.refused))

            # Where an epoch takes seconds, writing the state after each would take longer.
            checkpoint = work / "checkpoint" if self.lm.device.type == "cpu" else None
            reached = _reached(work / "checkpoint")
            passed = [epoch for epoch in epochs[:-1] if epoch <= reached]
            if any(not (work / f"epoch-{epoch}.safetensors").is_file() for epoch in passed):
                # Cut off between an epoch and its vectors: the state is beyond what was to be measured.
                shutil.rmtree(work / "checkpoint")
            with tf32():
                mimic = train_configuration(
                    self.lm,
                    self.store,
                    targets,
                    configuration,
                    settings,
                    prepared=self.contexts,
                    words_after=words_after,
                    keep=keep,
                    approximations=self.approximations if settings.pieces else None,
                    checkpoint=checkpoint,
                )
            for name in ("refused.json", *(f"epoch-{epoch}.safetensors" for epoch in epochs)):
                shutil.copyfile(work / name, folder / name)
            write_json(folder / "history.json", [vars(report) for report in mimic.history])

        folder = self.workshop.stage(f"Training {title_of(configuration)}, seed {seed}", recipe, make)
        vectors = {epoch: load_vectors(folder / f"epoch-{epoch}.safetensors") for epoch in epochs}
        return Training(read_json(folder / "history.json"), vectors, read_json(folder / "refused.json"))

    def _probe(
        self, dataset: Dataset, settings: EvalSettings, vectors: WordVectors | None, *, label: str
    ) -> ProbeResult:
        recipe = {
            **self._model,
            "dataset": dataset.digest,
            "method": settings.method,
            "depth": settings.depth,
            "vectors": None if vectors is None else content(vectors),
        }

        def make(folder: Path, work: Path) -> None:
            cache = PredictionCache(work / "predictions.sqlite")
            result = evaluate(self.lm, dataset, settings, vectors=vectors, label=label, cache=cache)
            result.save(folder / "result.json.gz")

        folder = self.workshop.stage(f"Probing with {label}", recipe, make)
        result = ProbeResult.load(folder / "result.json.gz")
        # Two configurations may share a stage; each keeps its name.
        return restrict(result, result.count >= 0, label=label)


@contextmanager
def tf32() -> Iterator[None]:
    """Fast matrix products on a GPU, for what is learned; ranks are computed in full precision."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def _reached(checkpoint: Path) -> int:
    """The epochs a training that was cut off has behind it."""
    note = checkpoint / "checkpoint.json"
    return int(read_json(note)["epoch"]) if note.is_file() else 0


def load_vectors(path: Path) -> WordVectors:
    """Vectors in memory: a mapped file cannot be written to, which torch warns of."""
    mapped = WordVectors.load(path)
    return WordVectors(mapped.words, np.array(mapped.matrix), mapped.settings)


def content(vectors: WordVectors) -> str:
    """A digest of vectors and their words."""
    summed = hashlib.sha256(_listed(list(vectors.words)).encode())
    summed.update(np.ascontiguousarray(vectors.matrix).view(np.uint8).data if len(vectors) else b"")
    return summed.hexdigest()


def _listed(words: list[str]) -> str:
    return hashlib.sha256("\n".join(words).encode()).hexdigest()
