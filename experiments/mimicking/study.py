"""What the trainings share: model, text, targets, the words kept apart, and what is measured of an embedding."""

import pickle
import time
from collections.abc import Container, Iterable
from copy import copy
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from experiments.code import code_of, used_modules
from experiments.mimicking.sample import SampledCorpus
from experiments.paper.experiment import tf32
from rarewords import AttentiveMimicking, LanguageModel, WordEmbeddings, one_token_approximation, wnlampro
from rarewords._internal.cache import Cache
from rarewords._internal.files import whole_file, write_json
from rarewords.corpus.columns import offsets, ragged
from rarewords.mimic.batches import PreparedContexts
from rarewords.mimic.settings import MimicSettings, preset
from rarewords.mimic.train import EpochReport
from rarewords.ota.settings import OtaSettings
from rarewords.wnlampro.dataset import Dataset
from rarewords.wnlampro.probing import EvalSettings

FREQUENT = 100
KINDS = ("one subword", "OTA, frequent", "OTA, rarer")


@dataclass(frozen=True)
class Setting:
    """How a training differs from the paper's AM+context in a text of this size.

    :param contexts: contexts kept per word.
    :param ota: learn from words of several subwords, too.
    :param changes: of the preset.
    """

    name: str
    preset: str = "am+context"
    contexts: int = 1000
    ota: bool = True
    changes: dict[str, Any] = field(default_factory=dict)

    def settings(self, epochs: int, seed: int) -> MimicSettings:
        """The settings of a training; the least count is that of the paper, for the size of our text."""
        return preset(self.preset, **{"min_count": 7, "epochs": epochs, "seed": seed, **self.changes})


@dataclass(frozen=True)
class Size:
    """How much of the study is run.

    :param words: at most so many words to learn from, of each kind.
    :param kept_apart: words of each kind that no training sees, and as many that it sees, to compare.
    :param entries: at most so many entries of each set of WNLaMPro.
    :param steps: of preset ``fast``, and of preset ``paper``.
    :param sample: words approximated with both presets.
    """

    epochs: tuple[int, int] = (5, 10)
    seeds: tuple[int, ...] = (0, 1, 2)
    words: int | None = None
    kept_apart: int = 500
    entries: int | None = None
    steps: tuple[int, int] = (100, 4000)
    sample: int = 1500
    contexts: tuple[int, int] = (16, 32)  # that BERTRAM reads, of a word to learn from and of a keyword
    keywords: tuple[int, int] = (200, 800)  # of dev and of test, for what takes long


QUICK = Size((1, 2), (0, 1), 60, 10, 12, (4, 4), 10, (2, 3), (2, 3))


@dataclass(frozen=True, eq=False)
class Study:
    """A sample of text, a model, and a folder for what is made of them."""

    lm: LanguageModel
    sample: Path
    out: Path
    size: Size

    @property
    def work(self) -> Path:
        """What need not be kept."""
        return self.out / "work"

    @cached_property
    def corpus(self) -> SampledCorpus:
        """The text."""
        return SampledCorpus.make(self.sample, self.work / "corpus")

    @cached_property
    def training_corpus(self) -> SampledCorpus:
        """The text without the words that no training sees."""
        learned = {word for own in self.words.values() for word in own[self.size.kept_apart :]}
        return self.corpus.without(word for word, _ in self._listed if word not in learned)

    @cached_property
    def _listed(self) -> list[tuple[str, int]]:
        """The words whose contexts are in the text, and their counts."""
        lines = [line.split("\t") for line in (self.sample / "counts.tsv").read_text("utf-8").splitlines()]
        return [(word, int(count)) for word, count, in_text in lines if in_text == "1"]

    @cached_property
    def words(self) -> dict[str, list[str]]:
        """The words to learn from, by kind; the first of each are kept apart."""
        kinds: dict[str, list[str]] = {kind: [] for kind in KINDS}
        subwords = self.lm.tokens.subwords_of([word for word, _ in self._listed])
        for (word, count), ids in zip(self._listed, subwords, strict=True):
            if not self.lm.tokens.has_unknown(ids):
                kinds[KINDS[0 if len(ids) == 1 else 1 if count >= FREQUENT else 2]].append(word)
        for kind, every in kinds.items():
            order = np.random.default_rng(0).permutation(len(every))[: self.size.words]
            kinds[kind] = [every[place] for place in order]
        return kinds

    @cached_property
    def kept_apart(self) -> dict[str, list[str]]:
        """Words that no training sees, by kind."""
        return {kind: words[: self.size.kept_apart] for kind, words in self.words.items()}

    @cached_property
    def shown(self) -> dict[str, list[str]]:
        """As many words that a training sees, by kind."""
        many = self.size.kept_apart
        return {kind: words[many : 2 * many] for kind, words in self.words.items()}

    def dataset(self, subset: str) -> Dataset:
        """The entries of ``dev`` or ``test``."""
        return Dataset(wnlampro.load().select(subset=subset, limit=self.size.entries))

    @cached_property
    def keywords(self) -> list[str]:
        """All keywords of the entries."""
        return _distinct(entry.word.text for name in ("dev", "test") for entry in self.dataset(name))

    @cached_property
    def sampled(self) -> dict[str, list[str]]:
        """Some keywords of several subwords with contexts, of dev and of test."""
        found: dict[str, list[str]] = {"dev": [], "test": []}
        for (subset, chosen), limit in zip(found.items(), self.size.keywords, strict=True):
            words = _distinct(entry.word.text for entry in self.dataset(subset))
            usable = [
                word
                for word, ids in zip(words, self.lm.tokens.subwords_of(words), strict=True)
                if len(ids) > 1 and word.isalpha() and self.corpus.count(word) and word not in found["dev"]
            ]
            chosen += [usable[place] for place in np.random.default_rng(0).permutation(len(usable))[:limit].tolist()]
        return found

    @cached_property
    def compared(self) -> list[str]:
        """The words whose embeddings are compared with their targets."""
        return _distinct(word for group in (self.kept_apart, self.shown) for own in group.values() for word in own)

    def make_targets(self) -> None:
        """One-token approximations of the words of several subwords."""
        words = [word for kind in KINDS[1:] for word in self.words[kind]]
        self._approximate(words, "fast", self.size.steps[0], "targets")

    def make_sample(self, name: str) -> None:
        """Approximations of a sample of frequent words of two subwords, with a preset."""
        chosen = [word for word in self.words[KINDS[1]] if len(self.lm.subwords(word)) == 2]
        steps = self.size.steps[name == "paper"]
        self._approximate(chosen[: self.size.sample], name, steps, f"sample-{name}")

    def _approximate(self, words: list[str], name: str, steps: int, out: str) -> None:
        settings = OtaSettings.preset(name, steps=steps)
        with tf32():
            made = one_token_approximation(self.lm, words, settings, cache=Cache(self.work / "ota"))
        made.embeddings.save(self.work / f"{out}.safetensors")

    def targets(self, name: str = "targets") -> WordEmbeddings:
        """What :meth:`make_targets` or :meth:`make_sample` made."""
        return WordEmbeddings.load(self.work / f"{name}.safetensors")

    def make_contexts(self) -> None:
        """Read the contexts of all words once, for all trainings."""
        words = _distinct([*(word for own in self.words.values() for word in own), *self.keywords])
        self.keep("contexts", PreparedContexts(self.corpus, words, self.corpus.settings.contexts))

    @cached_property
    def contexts(self) -> PreparedContexts:
        """What :meth:`make_contexts` read."""
        found: PreparedContexts = self.kept("contexts")
        return found

    def keep(self, name: str, value: Any) -> None:
        """Keep a value for other processes of this study."""
        with whole_file(self.work / name) as temporary, temporary.open("wb") as stream:
            pickle.dump(value, stream, protocol=5)

    def kept(self, name: str) -> Any:
        """A value that a process of this study has kept."""
        with (self.work / name).open("rb") as stream:
            return pickle.load(stream)

    def train(self, setting: Setting, seed: int, *, targets: WordEmbeddings | None = None) -> None:
        """Train, and write what each measured epoch makes of the words kept apart and of WNLaMPro's dev set."""
        rows, last = list[dict[str, Any]](), self.size.epochs[-1]
        settings = setting.settings(last, seed)
        prepared = first_contexts(self.contexts, setting.contexts)
        if targets is None and setting.ota:
            kinds = KINDS[1:] if settings.min_count < FREQUENT else KINDS[1:2]
            every = self.targets()
            targets = every.subset(word for kind in kinds for word in self.words[kind] if word in every)
        corpus = self.training_corpus
        made: list[WordEmbeddings] = []

        def after_epoch(report: EpochReport, mimic: AttentiveMimicking) -> None:
            if report.epoch not in self.size.epochs:
                return
            words, clock = [*self.keywords, *self.compared], time.perf_counter()
            learned = mimic.learn_words(words, prepared)
            seconds = (time.perf_counter() - clock) / len(words)
            made.append(learned.embeddings)
            about = {"epochs": report.epoch, "length": None, "seconds": seconds, **asdict(report)}
            rows.append({**about, **self.cosines(learned.embeddings)})
            if report.epoch == last:
                learned.embeddings.subset(word for word in self.keywords if word in learned.embeddings).save(
                    self.work / f"{setting.name}-{seed}.safetensors"
                )
                fixed = replace(mimic, settings=replace(mimic.settings, scale=1.0))
                learned = fixed.learn_words(self.keywords, prepared)
                made.append(learned.embeddings)
                rows.append({"epochs": report.epoch, "length": 1.0})

        with tf32():
            mimic = AttentiveMimicking.fit(
                self.lm, corpus, targets, settings, prepared=prepared, after_epoch=after_epoch
            )
        for row, embeddings in zip(rows, made, strict=True):
            row["dev"] = self.ranks("dev", embeddings)
        about = {**asdict(setting), "seed": seed, "ngrams": len(mimic.table)}
        self.write(f"{setting.name}-{seed}", {**about, "settings": asdict(settings), "rows": rows})

    def target(self, word: str, approximated: WordEmbeddings) -> np.ndarray:
        """The embedding that a word has, or its approximation. *Shape:* (dim,)"""
        several = approximated.get(word)
        own = self.lm.embeddings[self.lm.subwords(word)[0]].float().cpu().numpy()
        return own if several is None else several

    def cosines(self, embeddings: WordEmbeddings) -> dict[str, float]:
        """The mean cosine of embeddings and targets, of words that the training saw and of others, by kind."""
        several, found = self.targets(), dict[str, float]()
        for name, group in (("seen", self.shown), ("kept apart", self.kept_apart)):
            for kind, words in group.items():
                words = [word for word in words if word in embeddings]
                if not words:
                    continue
                a, b = (embeddings.subset(words).matrix, np.array([self.target(word, several) for word in words]))
                norms = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
                found[f"{name}, {kind}"] = float(((a * b).sum(1) / np.maximum(norms, 1e-12)).mean())
        return found

    def ranks(
        self,
        subset: str,
        embeddings: WordEmbeddings | None,
        placement: str = "replace",
        words: Container[str] | None = None,
    ) -> list[int]:
        """The rank of the best target of each entry, 0 for none within 100.

        :param words: ask the entries of these keywords only.
        """
        method = "subwords" if embeddings is None else "embeddings"
        settings = EvalSettings(method=method, placement=placement)  # type: ignore[arg-type]
        dataset = self.dataset(subset)
        if words is not None:
            dataset = Dataset(tuple(entry for entry in dataset if entry.word.text in words))
        ranks: list[int] = wnlampro.evaluate(self.lm, dataset, settings, embeddings=embeddings).rank.tolist()
        return ranks

    def write(self, name: str, value: dict[str, Any]) -> None:
        """A result of the study."""
        write_json(self.out / f"{name}.json", {**value, **code_of(used_modules())})


def first_contexts(prepared: PreparedContexts, limit: int) -> PreparedContexts:
    """The first contexts of each word, which are a sample of all."""
    counts = np.minimum(np.diff(prepared.starts), limit)
    chosen = ragged(prepared.starts[:-1], counts)
    result = copy(prepared)
    for name in ("sentence", "left", "right"):
        setattr(result, name, getattr(prepared, name)[chosen])
    result.limit, result.starts = limit, offsets(counts)
    return result


def _distinct(words: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(words))
