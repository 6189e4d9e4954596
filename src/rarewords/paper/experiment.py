"""What the experiments share: the model, the corpus, the entries, and the stages that several parts need."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
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
from rarewords.mimic.attentive import AttentiveMimicking, check_made_for
from rarewords.mimic.batches import PreparedContexts
from rarewords.mimic.train import EpochReport
from rarewords.models import shown_name
from rarewords.ota.approximate import approximate
from rarewords.paper.published import CORPUS_WORDS, EXAMPLES
from rarewords.paper.settings import CONFIGURATIONS, ReproduceSettings, order_key
from rarewords.probe.dataset import BANDS, Dataset, band_of
from rarewords.probe.evaluate import EvalSettings, evaluate
from rarewords.probe.result import ProbeResult
from rarewords.progress import message
from rarewords.stages import Stages, key_of
from rarewords.vectors import WordVectors

HEAT_MAP_DEPTH = 512


@dataclass(frozen=True)
class Training:
    """A trained configuration.

    :param vectors: by epoch; of all keywords after the last epoch of AM+context, otherwise of those of dev.
    :param context_share: how much of a vector came from contexts in the last epoch.
    """

    vectors: dict[int, WordVectors]
    context_share: float


@dataclass(frozen=True)
class Facts:
    """Sizes of the inputs, which explain differences from the paper.

    :param parameters: in millions.
    :param entries: by frequency.
    :param contexts_median: median number of contexts per keyword, by frequency.
    :param without_contexts: share of the keywords that the corpus does not contain.
    """

    model: str
    architecture: str
    layers: int
    hidden: int
    parameters: float
    vocabulary: int
    ota: str
    corpus_words: int
    entries: dict[str, int]
    training_one_piece: int
    training_several: int
    contexts_median: dict[str, float | None]
    without_contexts: float

    @property
    def corpus_size(self) -> str:
        """The size of the corpus for a reader."""
        words = self.corpus_words
        return f"{words / 1e6:,.0f} million words" if words >= 10_000_000 else f"{words:,} words"

    @property
    def corpus_factor(self) -> float:
        """How many times larger the paper's corpus is."""
        return CORPUS_WORDS / max(self.corpus_words, 1)


@dataclass(frozen=True, eq=False, repr=False)
class Experiment:
    """The shared inputs and stages of a reproduction.

    :param targets: cached one-token approximations; missing words are approximated.
    """

    lm: LanguageModel
    store: Store
    dataset: Dataset
    settings: ReproduceSettings
    stages: Stages
    targets: WordVectors | None = None

    def __post_init__(self) -> None:
        if self.store.settings.lower_case != self.lm.lower_case:
            raise InputError("the store and the model differ in lower-casing; build the store with --model")
        check_made_for(self.lm, self.targets)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled by its inputs: another process opens the experiment itself, once."""
        given = [getattr(self, field.name) for field in fields(self)]
        return _opened_once, (key_of(self.identity, str(self.stages.path)), *given)

    @cached_property
    def identity(self) -> dict[str, Any]:
        """What all results depend on."""
        return {
            **self._model,
            "dataset": self.dataset.digest,
            "store": self.store.key,
            "settings": asdict(self.settings),
            "targets": None if self.targets is None else self.targets.key,
            "version": __version__,
        }

    @property
    def _model(self) -> dict[str, Any]:
        return {"model": self.lm.fingerprint, "dtype": str(self.lm.dtype).removeprefix("torch.")}

    def keywords(self, subset: str = "all") -> list[str]:
        """The keywords of all entries or those of a set, each once."""
        entries = (entry for entry in self.dataset if subset in ("all", entry.subset))
        return list(dict.fromkeys(entry.word.text for entry in entries))

    @cached_property
    def shown_words(self) -> list[str]:
        """All keywords and the words of the example queries."""
        return list(dict.fromkeys([*self.keywords(), *(example[0] for example in EXAMPLES)]))

    @cached_property
    def frequent(self) -> list[str]:
        """The words of the store that are frequent enough to learn from."""
        return list(self.store.counts(self.settings.min_count)[0])

    @cached_property
    def training_targets(self) -> list[str]:
        """Those of them that have several pieces and are approximated."""
        several = self._several_pieces(self.frequent)
        most = self.settings.targets
        if most is None or most >= len(several):
            return several
        return sorted(several, key=lambda word: order_key(word, self.settings.seed))[:most]

    @cached_property
    def contexts(self) -> PreparedContexts:
        """The contexts of training words and shown words, read from the store once per run."""
        words = list(dict.fromkeys([*self.frequent, *self.shown_words]))
        with self.stages.timed("Reading contexts from the store"):
            return PreparedContexts(self.store, words, self.settings.contexts)

    @cached_property
    def approximations(self) -> WordVectors:
        """One-token approximations of all shown words and training words of several pieces."""
        words = list(dict.fromkeys([*self._several_pieces(self.shown_words), *self.training_targets]))
        pieces = zip(words, self.lm.tokens.pieces_of(words), strict=True)
        words = [word for word, ids in pieces if not self.lm.tokens.has_unknown(ids)]  # the others get none
        ready = self.targets
        missing = [word for word in words if ready is None or word not in ready]
        if ready is not None and not missing:
            return ready.subset(words)
        settings = self.settings.ota()
        recipe = {**self._model, "settings": settings.to_dict(), "words": key_of(missing)}

        def make(folder: Path, work: Path) -> None:
            with tf32():
                found = approximate(self.lm, missing, settings, stages=Stages(work)).vectors
            found.save(folder / "vectors.safetensors")

        folder = self.stages.folder("One-token approximation", recipe, make)
        made = WordVectors.load(folder / "vectors.safetensors")
        return made if ready is None else ready.subset(word for word in words if word in ready).merge(made)

    @cached_property
    def pieces(self) -> ProbeResult:
        """The model with its own pieces on all entries, with as many answers as the heat map needs."""
        return self._probe(self.dataset, EvalSettings(depth=HEAT_MAP_DEPTH), None, label="pieces")

    def probe(
        self, label: str, *, method: str = "vectors", vectors: WordVectors | None = None, subset: str = "all"
    ) -> ProbeResult:
        """The model with one vector per keyword; entries whose keyword has none keep their answers."""
        base = self.pieces if subset == "all" else self.pieces.of_set(self.dataset, subset)
        shown = set(self._several_pieces(self.keywords())) if vectors is None else vectors
        entries = self.dataset.select(subset=subset)
        changed = tuple(entry for entry in entries if entry.word.text in shown)
        if not changed:
            return base.restrict(base.count >= 0, label=label, method=method)
        part = Dataset(changed, self.dataset.name)
        return base.replaced(self._probe(part, EvalSettings(method=method), vectors, label=label))

    def training(self, configuration: str, seed: int) -> Training:
        """A configuration of attentive mimicking, trained, and its vectors at the measured epochs."""
        chosen, settings = CONFIGURATIONS[configuration], self.settings.mimic(configuration, seed)
        epochs, targets = self.settings.epochs, None
        if chosen.ota:
            known = [word for word in self.training_targets if word in self.approximations]
            targets = self.approximations.subset(known)
        recipe = {
            **self.identity,
            "settings": asdict(settings),
            "contexts": self.settings.contexts,
            "epochs": list(epochs),
            "targets": None if targets is None else targets.key,
        }

        def make(folder: Path, _: Path) -> None:
            def after_epoch(report: EpochReport, mimic: AttentiveMimicking) -> None:
                message(
                    f"{chosen.title}, seed {seed}: epoch {report.epoch} of {settings.epochs}, "
                    f"loss {report.loss:.5f}, {report.context_share:.0%} from contexts"
                )
                if report.epoch in epochs:
                    every = report.epoch == epochs[-1] and configuration == "am+context"
                    words = self.shown_words if every else self.keywords("dev")
                    made = mimic.infer_words(words, self.store, prepared=self.contexts)
                    made.vectors.save(folder / f"epoch-{report.epoch}.safetensors")

            options: dict[str, Any] = {"prepared": self.contexts, "after_epoch": after_epoch}
            with tf32():
                mimic = AttentiveMimicking.fit(self.lm, self.store, targets, settings, **options)
            write_json(folder / "context_share.json", mimic.history[-1].context_share)

        folder = self.stages.folder(f"Training {chosen.title}, seed {seed}", recipe, make)
        vectors = {epoch: WordVectors.load(folder / f"epoch-{epoch}.safetensors") for epoch in epochs}
        return Training(vectors, read_json(folder / "context_share.json"))

    def facts(self) -> Facts:
        """The sizes of model, corpus, data set and training set."""
        lm, size, keywords = self.lm, self.settings, self.keywords()
        counts = dict(zip(*self.store.counts(), strict=True))
        kept = size.contexts or self.store.settings.contexts
        contexts: dict[str, list[int]] = {band: [] for band in BANDS}
        for entry in self.dataset:
            contexts[band_of(entry.count)].append(min(kept, int(counts.get(entry.word.text, 0))))
        return Facts(
            model=shown_name(lm.name),
            architecture=type(lm.model).__name__,
            layers=lm.layers,
            hidden=lm.hidden,
            parameters=round(lm.model.num_parameters() / 1e6, 1),
            vocabulary=len(lm.embeddings),
            ota=f"preset fast, {size.ota_steps:,} steps",
            corpus_words=self.store.totals.words,
            entries={band: len(found) for band, found in contexts.items()},
            training_one_piece=sum(word in lm.whole_words for word in self.frequent),
            training_several=len(self.training_targets),
            contexts_median={b: float(np.median(found)) if found else None for b, found in contexts.items()},
            without_contexts=sum(word not in counts for word in keywords) / len(keywords),
        )

    def _several_pieces(self, words: Sequence[str]) -> list[str]:
        pieces = self.lm.tokens.pieces_of(list(words))
        return [word for word, ids in zip(words, pieces, strict=True) if len(ids) > 1]

    def _probe(
        self, dataset: Dataset, settings: EvalSettings, vectors: WordVectors | None, *, label: str
    ) -> ProbeResult:
        recipe = {
            **self._model,
            "dataset": dataset.digest,
            "method": settings.method,
            "depth": settings.depth,
            "vectors": None if vectors is None else vectors.key,
        }

        def make(folder: Path, work: Path) -> None:
            stages = Stages(work)
            result = evaluate(self.lm, dataset, settings, vectors=vectors, label=label, stages=stages)
            result.save(folder / "result.json.gz")

        return ProbeResult.load(self.stages.folder(f"Probing with {label}", recipe, make) / "result.json.gz")


_opened: dict[str, Experiment] = {}


def _opened_once(key: str, *given: Any) -> Experiment:
    if key not in _opened:
        _opened[key] = Experiment(*given)
    return _opened[key]


@contextmanager
def tf32() -> Iterator[None]:
    """Fast matrix products on a GPU for training; ranks are computed in full precision."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
