"""What the experiments share: the model, the corpus, the entries, and the stages that several parts need."""

import math
import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property, partial, reduce
from pathlib import Path
from typing import Any

import numpy as np
import torch

from experiments.paper.published import CORPUS_WORDS, EXAMPLES
from experiments.paper.results import of_set, relabelled, replaced
from experiments.paper.settings import CONFIGURATIONS, ReproduceSettings, sample
from experiments.paper.stages import Stages
from rarewords import __version__
from rarewords._internal.cache import Cache, key_of
from rarewords.corpus.corpus import Corpus
from rarewords.embeddings import WordEmbeddings
from rarewords.errors import InputError
from rarewords.lm import LanguageModel
from rarewords.mimic.attentive import AttentiveMimicking, check_made_for
from rarewords.mimic.batches import PreparedContexts
from rarewords.mimic.train import EpochReport
from rarewords.models import shown_name
from rarewords.ota.approximate import one_token_approximation
from rarewords.ota.settings import OtaSettings
from rarewords.wnlampro.dataset import BANDS, Dataset, band_of
from rarewords.wnlampro.probing import EvalSettings, evaluate
from rarewords.wnlampro.result import ProbeResult

HEAT_MAP_DEPTH = 512
_APPROXIMATED_AT_ONCE = 3000  # words


@dataclass(frozen=True, eq=False, repr=False)
class Experiment:
    """The shared inputs and stages of a reproduction.

    A stage is a piece of work that several parts need, such as a training; the cache keeps it.
    """

    lm: LanguageModel
    corpus: Corpus
    dataset: Dataset
    settings: ReproduceSettings
    cache: Stages
    targets: WordEmbeddings | None = None

    def __post_init__(self) -> None:
        if self.corpus.settings.lower_case != self.lm.lower_case:
            raise InputError(
                "the corpus and the model differ in lower-casing; build the corpus with --model", code="lower-case"
            )
        check_made_for(self.lm, self.targets)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled by its inputs: another process opens the experiment itself, once."""
        named = self.lm.name, str(self.lm.device), self.corpus.path.absolute(), self.cache.path
        return _open_once, (key_of(self.identity), *named, self.dataset, self.settings, self.targets)

    @cached_property
    def identity(self) -> dict[str, Any]:
        """What all results depend on."""
        return {
            **self._model,
            "dataset": self.dataset.digest,
            "corpus": self.corpus.key,
            "settings": asdict(self.settings),
            "targets": None if self.targets is None else self.targets.key,
            "version": __version__,
        }

    @property
    def _model(self) -> dict[str, Any]:
        return {"model": self.lm.fingerprint, "dtype": str(self.lm.dtype).removeprefix("torch.")}

    def keywords(self, subset: str = "all") -> list[str]:
        """The keywords of all entries or those of a set, each once."""
        return list(dict.fromkeys(entry.word.text for entry in self.dataset.select(subset=subset)))

    @cached_property
    def shown_words(self) -> list[str]:
        """All keywords and the words of the example queries."""
        return list(dict.fromkeys([*self.keywords(), *(example[0] for example in EXAMPLES)]))

    @cached_property
    def frequent(self) -> list[str]:
        """The words of the corpus that are frequent enough to learn from."""
        return list(self.corpus.counts(CONFIGURATIONS["am"].settings.min_count)[0])

    @cached_property
    def training_targets(self) -> list[str]:
        """Those of them that have several subwords and are approximated."""
        several, most = self._several_subwords(self.frequent), self.settings.targets
        return several if most is None else sample(several, most, self.settings.seed)

    def make(self, name: str) -> None:
        """Make one of the stages that are properties, for other processes."""
        getattr(self, name)

    @cached_property
    def contexts(self) -> PreparedContexts:
        """The contexts of training words and shown words, read from the corpus once."""
        words = list(dict.fromkeys([*self.frequent, *self.shown_words]))

        def make(folder: Path, _: Path) -> None:
            prepared = PreparedContexts(self.corpus, words, self.settings.contexts)
            (folder / "contexts.pickle").write_bytes(pickle.dumps(prepared, protocol=5))

        recipe = {"corpus": self.corpus.key, "words": key_of(words), "contexts": self.settings.contexts}
        folder = self.cache.folder("Reading contexts from the corpus", recipe, make)
        prepared: PreparedContexts = pickle.loads((folder / "contexts.pickle").read_bytes())
        return prepared

    @cached_property
    def approximations(self) -> WordEmbeddings:
        """One-token approximations of all shown words and training words of several subwords."""
        every = [self._approximated(number) for number in range(len(self._to_approximate))]
        if self.targets is not None:
            words = {*self._several_subwords(self.shown_words), *self.training_targets}
            every = [self.targets.subset(word for word in self.targets.words if word in words), *every]
        return reduce(WordEmbeddings.merge, every)

    def approximating(self) -> list[Callable[[], object]]:
        """The stages of the approximations, which several processes can make."""
        return [partial(self._approximated, number) for number in range(len(self._to_approximate))]

    @cached_property
    def _to_approximate(self) -> list[list[str]]:
        """The words that are not among the targets, in as many parts as one stage each can make in minutes."""
        words = dict.fromkeys([*self._several_subwords(self.shown_words), *self.training_targets])
        missing = [word for word in words if self.targets is None or word not in self.targets]
        return [
            missing[first : first + _APPROXIMATED_AT_ONCE] for first in range(0, len(missing), _APPROXIMATED_AT_ONCE)
        ]

    def _approximated(self, number: int) -> WordEmbeddings:
        """One part of the approximations."""
        words, parts = self._to_approximate[number], len(self._to_approximate)
        settings = OtaSettings.preset("fast", seed=self.settings.seed, steps=self.settings.ota_steps)
        recipe = {**self._model, "settings": asdict(settings), "words": key_of(words)}

        def make(folder: Path, work: Path) -> None:
            with tf32():
                embeddings = one_token_approximation(self.lm, words, settings, cache=Cache(work)).embeddings
            embeddings.save(folder / "embeddings.safetensors")

        title = f"One-token approximation{f', {number + 1} of {parts}' if parts > 1 else ''}"
        return WordEmbeddings.load(self.cache.folder(title, recipe, make) / "embeddings.safetensors")

    @cached_property
    def subwords(self) -> ProbeResult:
        """The model with its own subwords on all entries, with as many answers as the heat map needs."""
        return self._probe(self.dataset, EvalSettings(depth=HEAT_MAP_DEPTH), None, label="subwords")

    def probe(
        self, label: str, *, method: Any = "embeddings", embeddings: WordEmbeddings | None = None, subset: str = "all"
    ) -> ProbeResult:
        """The model with one embedding per keyword; entries whose keyword has none keep their answers."""
        base = self.subwords if subset == "all" else of_set(self.subwords, self.dataset, subset)
        shown = set(self._several_subwords(self.keywords())) if embeddings is None else embeddings
        entries = self.dataset.select(subset=subset)
        changed = tuple(entry for entry in entries if entry.word.text in shown)
        if not changed:
            return relabelled(base, label=label, method=method)
        part = Dataset(changed, self.dataset.name)
        return replaced(base, self._probe(part, EvalSettings(method=method), embeddings, label=label))

    def training(self, configuration: str, seed: int) -> dict[int, WordEmbeddings]:
        """The embeddings that a configuration of attentive mimicking makes at the measured epochs."""
        chosen, settings = CONFIGURATIONS[configuration], self.settings.mimic(configuration, seed)
        epochs = self.settings.epochs
        targets = self.approximations.subset(self.training_targets) if chosen.ota else None
        recipe = {
            **self.identity,
            "settings": asdict(settings),
            "contexts": self.settings.contexts,
            "epochs": list(epochs),
            "targets": None if targets is None else targets.key,
        }

        def make(folder: Path, _: Path) -> None:
            def after_epoch(report: EpochReport, mimic: AttentiveMimicking) -> None:
                if report.epoch in epochs:
                    # The main table and the examples need more words than the ablation.
                    every = report.epoch == epochs[-1] and configuration == "am+context"
                    words = self.shown_words if every else self.keywords("dev")
                    embeddings = mimic.learn_words(words, self.contexts).embeddings
                    embeddings.settings["context_share"] = report.context_share
                    embeddings.save(folder / f"epoch-{report.epoch}.safetensors")

            options: dict[str, Any] = {"prepared": self.contexts, "after_epoch": after_epoch}
            with tf32():
                AttentiveMimicking.fit(self.lm, self.corpus, targets, settings, **options)

        folder = self.cache.folder(f"Training {chosen.title}, seed {seed}", recipe, make)
        return {epoch: WordEmbeddings.load(folder / f"epoch-{epoch}.safetensors") for epoch in epochs}

    def facts(self) -> dict[str, Any]:
        """Sizes of the inputs, which the report names and which explain differences from the paper."""
        lm, size, keywords, words = self.lm, self.settings, self.keywords(), self.corpus.totals.words
        factor = CORPUS_WORDS / max(words, 1)
        counts = dict(zip(*self.corpus.counts(), strict=True))
        kept = size.contexts or self.corpus.settings.contexts
        contexts: dict[str, list[int]] = {band: [] for band in BANDS}
        for entry in self.dataset:
            contexts[band_of(entry.word.count)].append(min(kept, int(counts.get(entry.word.text, 0))))
        return {
            "model": shown_name(lm.name),
            "architecture": type(lm.model).__name__,
            "layers": lm.layers,
            "hidden": lm.hidden,
            "million_parameters": round(lm.model.num_parameters() / 1e6, 1),
            "vocabulary": len(lm.embeddings),
            "ota": f"preset fast, {size.ota_steps:,} steps",
            "corpus_words": words,
            "corpus_size": f"{words / 1e6:,.0f} million words" if words >= 10_000_000 else f"{words:,} words",
            "corpus_factor": factor,
            "corpus_doublings": math.log2(max(factor, 1.0)),
            "rare_in_paper": 9 * factor,
            "dataset": self.dataset.name,
            "entries": {band: len(numbers) for band, numbers in contexts.items()},
            "training_one_subword": sum(word in lm.whole_words for word in self.frequent),
            "training_several": len(self.training_targets),
            "contexts_median": {band: float(np.median(numbers or [0])) for band, numbers in contexts.items()},
            "without_contexts": sum(word not in counts for word in keywords) / len(keywords),
        }

    def _several_subwords(self, words: Sequence[str]) -> list[str]:
        """Those of several subwords, all of which the model knows."""
        tokens = self.lm.tokens
        subwords = zip(words, tokens.subwords_of(list(words)), strict=True)
        return [word for word, ids in subwords if len(ids) > 1 and not tokens.has_unknown(ids)]

    def _probe(
        self, dataset: Dataset, settings: EvalSettings, embeddings: WordEmbeddings | None, *, label: str
    ) -> ProbeResult:
        recipe = {**self._model, **asdict(settings), "dataset": dataset.digest}
        recipe["embeddings"] = None if embeddings is None else embeddings.key

        def make(folder: Path, work: Path) -> None:
            result = evaluate(self.lm, dataset, settings, embeddings=embeddings, label=label, cache=Cache(work))
            result.save(folder / "result.json.gz")

        return ProbeResult.load(self.cache.folder(f"Probing with {label}", recipe, make) / "result.json.gz")


_opened: dict[tuple[str, Path], Experiment] = {}


def _open_once(key: str, model: str, device: str, corpus: Path, cache: Path, *inputs: Any) -> Experiment:
    if (key, cache) not in _opened:
        lm = LanguageModel.from_pretrained(model, device=device)
        dataset, settings, targets = inputs
        _opened[key, cache] = Experiment(lm, Corpus.open(corpus), dataset, settings, Stages(cache), targets)
    return _opened[key, cache]


@contextmanager
def tf32() -> Iterator[None]:
    """Fast matrix products on a GPU for training; ranks are computed in full precision."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
