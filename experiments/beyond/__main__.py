"""The learner beside one-token approximation and attentive mimicking, on WNLaMPro.

    python -m experiments.beyond ways --corpus CORPUS [--model MODEL] [--subset test]
    python -m experiments.beyond contexts --corpus CORPUS [--model MODEL]
    python -m experiments.beyond settings --corpus CORPUS [--model MODEL]

All keywords get embeddings, those of one subword included, as in the paper. The learner's matrix is fitted on
words of the corpus that are not keywords.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import numpy as np
import typer

from experiments.common import Results
from experiments.paper.experiment import tf32
from rarewords import Corpus, LanguageModel, WordEmbeddings, WordLearner, one_token_approximation, wnlampro
from rarewords._internal.cache import Cache
from rarewords.learner.settings import LearnerSettings
from rarewords.models import DEFAULT_MODEL
from rarewords.teaching.learners import open_learner
from rarewords.tokens import Placement
from rarewords.wnlampro.comparison import compare_values
from rarewords.wnlampro.dataset import BANDS, RELATIONS, Dataset, Entry, band_of
from rarewords.wnlampro.probing import EvalSettings

RESULTS = Path(__file__).parent / "results"
CONTEXTS = 16  # of a word that the matrix is fitted on
_SHOWN = ("way", "relation", "frequency", "entries", "mrr", "ratio", "change", "interval", "p")

app = typer.Typer(add_completion=False, help=__doc__)
CorpusOption = Annotated[Path, typer.Option(help="A corpus made by `rarewords corpus build`.")]
ModelOption = Annotated[str, typer.Option(help="A masked LM.")]
SubsetOption = Annotated[str, typer.Option(help="dev, test or all; choose settings on dev.")]
LimitOption = Annotated[int | None, typer.Option(help="Only N entries, to try the script.")]
OutOption = Annotated[Path | None, typer.Option(help="By default results/COMMAND-MODEL.json.")]


@dataclass(frozen=True)
class Probe:
    """A model, the text that its words are learned from, and the entries that it is asked about."""

    lm: LanguageModel
    corpus: Corpus
    dataset: Dataset
    fitted_on: int = 12_000  # words, to fit the matrix

    @classmethod
    def open(cls, model: str, corpus: Path, subset: str, limit: int | None) -> "Probe":
        dataset = Dataset(wnlampro.load().select(subset=subset, limit=limit))
        lm, opened = LanguageModel.from_pretrained(model), Corpus.open(corpus)
        return cls(lm, opened, dataset, min(cls.fitted_on, 10 * len(dataset)))

    @property
    def words(self) -> list[str]:
        """The keywords."""
        return list(dict.fromkeys(entry.word.text for entry in self.dataset))

    def fit(self, seed: int) -> WordLearner:
        """A learner with a matrix that no keyword had a part in."""
        keywords = [entry.word.text for entry in wnlampro.load()]
        with tf32():  # ranks are computed in full precision
            return WordLearner.fit(
                self.lm, self.corpus, words=self.fitted_on, contexts=CONTEXTS, leave_out=keywords, seed=seed
            )

    def learn(self, learner: WordLearner, contexts: int | None = None, cache: Cache | None = None) -> WordEmbeddings:
        """The embeddings of all keywords that the learner can make one for."""
        with tf32():
            return learner.learn_words(self.words, self.corpus, contexts=contexts, cache=cache).embeddings

    def ask(self, embeddings: WordEmbeddings | None = None, placement: Placement = "replace") -> np.ndarray:
        """The reciprocal rank of every entry. *Shape:* (entries,)"""
        settings = EvalSettings()
        if embeddings is not None:
            settings = EvalSettings(method="embeddings", placement=placement)
        return wnlampro.evaluate(self.lm, self.dataset, settings, embeddings=embeddings).reciprocal

    def ask_twice(self) -> np.ndarray:
        """The control ``kumquat / kumquat``: each keyword stands where its embedding would. *Shape:* (entries,)"""
        entries = [
            replace(entry, word=replace(entry.word, text=f"{entry.word.text} / {entry.word.text}"))
            for entry in self.dataset
        ]
        return wnlampro.evaluate(self.lm, Dataset(tuple(entries))).reciprocal


@app.command()
def ways(
    corpus: CorpusOption,
    model: ModelOption = DEFAULT_MODEL,
    mimic: Annotated[str | None, typer.Option(help="A mimic model; the bundled model has one.")] = None,
    subset: SubsetOption = "test",
    limit: LimitOption = None,
    seed: Annotated[list[int] | None, typer.Option(help="Of the fit; 0 and 1 by default.")] = None,
    save: Annotated[Path | None, typer.Option(help="Keep the learner of the first seed.")] = None,
    out: OutOption = None,
) -> None:
    """Every way to make an embedding, and the two controls of `append`."""
    probe, seeds = Probe.open(model, corpus, subset, limit), seed or [0, 1]
    results = results_of("ways", probe, out, subset=subset, limit=limit, seeds=seeds)
    before = probe.ask()
    add_cells(results, probe, "subwords", before, before)
    for way, values in _asked(probe, seeds, mimic, save):
        add_cells(results, probe, way, values, before)
    results.show(*_SHOWN, where={"relation": ("all", "without misspellings")})


def _asked(probe: Probe, seeds: list[int], mimic: str | None, save: Path | None) -> Iterator[tuple[str, np.ndarray]]:
    lm, words = probe.lm, probe.words
    with tf32():
        approximated = one_token_approximation(lm, words, keep_single=True).embeddings
    yield "OTA", probe.ask(approximated)
    if mimic or lm.name == DEFAULT_MODEL:
        mimicking, _ = open_learner(lm, mimic or "am")
        yield "AM", probe.ask(mimicking.learn_words(words, probe.corpus).embeddings)  # type: ignore[attr-defined]
    learners = [probe.fit(seed).with_settings(reading="both") for seed in seeds]
    if save is not None:
        learners[0].save_pretrained(save)
    embeddings = [probe.learn(learner) for learner in learners]
    yield "learner", np.mean([probe.ask(one) for one in embeddings], axis=0)
    yield "word / learner", np.mean([probe.ask(one, "append") for one in embeddings], axis=0)
    mean = learners[0].known.mean.cpu().numpy()
    yield "word / mean embedding", probe.ask(WordEmbeddings(words, np.tile(mean, (len(words), 1))), "append")
    yield "word / word", probe.ask_twice()


@app.command()
def contexts(
    corpus: CorpusOption,
    model: ModelOption = DEFAULT_MODEL,
    number: Annotated[list[int] | None, typer.Option(help="1, 2, 4, 8, 16 and 32 by default.")] = None,
    subset: SubsetOption = "dev",
    limit: LimitOption = None,
    out: OutOption = None,
) -> None:
    """The learner by the number of contexts, for keywords that have the most."""
    probe, numbers = Probe.open(model, corpus, subset, limit), number or [1, 2, 4, 8, 16, 32]
    found, sizes = probe.corpus.find(probe.words), probe.corpus.words["contexts"].to_numpy()
    enough = {w for w, row in zip(probe.words, found, strict=True) if row >= 0 and sizes[row] >= max(numbers)}
    kept = Dataset(tuple(entry for entry in probe.dataset if entry.word.text in enough))
    probe = replace(probe, dataset=kept)
    results = results_of("contexts", probe, out, subset=subset, limit=limit, numbers=numbers)
    learner, before = WordLearner.for_model(probe.lm), probe.ask()
    for count in numbers:
        embeddings = probe.learn(learner, count)
        for placement in ("replace", "append"):
            add_cells(results, probe, f"{placement}, {count} contexts", probe.ask(embeddings, placement), before)
    results.show(*_SHOWN, where={"relation": ("all",), "frequency": ("all",)})


@app.command()
def settings(
    corpus: CorpusOption,
    model: ModelOption = DEFAULT_MODEL,
    subset: SubsetOption = "dev",
    limit: LimitOption = None,
    seed: int = 0,
    out: OutOption = None,
) -> None:
    """Every combination of reading, matrix, spelling and placement."""
    probe = Probe.open(model, corpus, subset, limit)
    results = results_of("settings", probe, out, subset=subset, limit=limit, seed=seed)
    fitted, before = probe.fit(seed), probe.ask()
    with TemporaryDirectory() as folder:
        for reading, matrix, spelling in product(("masked", "shown", "both"), (True, False), (0.0, 0.5, 1.0)):
            learner = replace(fitted, transform=fitted.transform if matrix else None)
            learner = replace(learner, settings=LearnerSettings(reading=reading, spelling=spelling))
            embeddings = probe.learn(learner, cache=Cache(Path(folder)))
            for placement in ("replace", "append"):
                way = f"{placement}, {reading}{', matrix' * matrix}, spelling {spelling:g}"
                add_cells(results, probe, way, probe.ask(embeddings, placement), before)
    results.show("way", "frequency", "mrr", "ratio", where={"relation": ("all",)})


def results_of(command: str, probe: Probe, out: Path | None, **about: object) -> Results:
    """The results of a command, by default beside this file."""
    results = Results(out, f"beyond {command}", probe.lm, corpus=probe.corpus.key, **about)
    results.out = out or RESULTS / f"{command}-{results.model}.json"
    return results


def add_cells(results: Results, probe: Probe, way: str, values: np.ndarray, before: np.ndarray) -> None:
    """A row for every relation and frequency. *Shapes:* (entries,), (entries,)"""
    for (relation, band), rows in cells(probe.dataset).items():
        found = compare_values(values[rows], before[rows])
        results.add(
            way=way,
            relation=relation,
            frequency=band,
            entries=int(rows.sum()),
            mrr=float(values[rows].mean()),
            ratio=float(values[rows].mean() / max(before[rows].mean(), 1e-9)),
            change=found.mean,
            interval=[found.low, found.high],
            better=found.wins,
            worse=found.losses,
            p=found.p_value,
        )


def cells(dataset: Dataset) -> Mapping[tuple[str, str], np.ndarray]:
    """Which entries belong to a relation and a frequency. *Shape of each:* (entries,)"""
    relation = np.array([entry.relation for entry in dataset])
    band = np.array([band_of(entry.word.count) for entry in dataset])
    groups = {"all": relation != "", **{name: relation == name for name in RELATIONS}}
    groups["without misspellings"] = relation != "corruption"
    groups["target in the keyword"] = np.array([holds_target(entry) for entry in dataset])
    found = {
        (name, one): rows & ((band == one) | (one == "all")) for name, rows in groups.items() for one in ("all", *BANDS)
    }
    return {key: rows for key, rows in found.items() if rows.any()}


def holds_target(entry: Entry) -> bool:
    """Whether a target can be read off the keyword, as *berry* can be read off *blackberry*.

    Targets of one or two letters do not count: *water* contains *a* by accident. Nor does a misspelling.
    """
    return entry.relation != "corruption" and any(
        len(target.text) > 2 and target.text in entry.word.text for target in entry.targets
    )


if __name__ == "__main__":
    app()
