"""Named entities: WNUT-17, NCBI-disease and BC5CDR, with a tagger fine-tuned on untaught and taught models.

The model is taught the text of all parts without their labels; the two biomedical sets are one text. The ways:
untaught; the default of ``teach``; the same with embeddings of the same lengths in random directions, as a
control; and one token in place of the subwords. The figure is the F1 of exact entities on the test part: of all,
of those not in the training part, and of those with a taught word. The rate is that at which the worst seed of
the untaught model does best on the dev part: at a higher one a tagger may find nothing at all. WNUT-17 has few
sentences with entities, so its taggers take more and smaller steps.
"""

import functools
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoConfig, AutoTokenizer

from experiments.common import Results, change_of
from experiments.tasks.iob import Sentence, Span, counts, f1, read, total_f1
from experiments.tasks.tuning import Examples, fine_tune, load, predict
from rarewords import LanguageModel, TeachSettings, teach
from rarewords.errors import InputError
from rarewords.models import model_folder
from rarewords.tokens import Placement

PARTS = ("train", "dev", "test")
FILES = {
    "wnut17": ("wnut17train.conll", "emerging.dev.conll", "emerging.test.annotated"),
    "ncbi-disease": ("train.tsv", "devel.tsv", "test.tsv"),
    "bc5cdr": ("train.tsv", "devel.tsv", "test.tsv"),
}
_BIOMEDICAL = ("ncbi-disease", "bc5cdr")
BATCH_SIZE, EPOCHS = {"wnut17": 16}, {"wnut17": 8}
RATES = (5e-5, 1e-4)
_QUICK = 80  # sentences of each part
Tags = dict[str, list[list[str]]]  # of the words of each sentence, by part


@dataclass(frozen=True)
class Tagging:
    """A set of sentences to tag; ``quick``: a few of them, for one epoch."""

    folder: Path
    name: str
    quick: bool

    @functools.cached_property
    def parts(self) -> dict[str, list[Sentence]]:
        """The sentences of each part."""
        found = sentences(self.folder, self.name)
        return {part: own[:_QUICK] for part, own in found.items()} if self.quick else found

    @functools.cached_property
    def labels(self) -> list[str]:
        """All tags, with *outside* first."""
        found = {tag for own in self.parts.values() for one in own for tag in one.tags}
        return sorted(found, key=lambda tag: (tag != "O", tag))

    @functools.cached_property
    def text(self) -> list[str]:
        """What the model is taught from."""
        names = _BIOMEDICAL if self.name in _BIOMEDICAL else (self.name,)
        sets = [sentences(self.folder, name) for name in names]
        lines = [" ".join(one.words) for own in sets for part in own.values() for one in part]
        return lines[: 10 * _QUICK] if self.quick else lines

    def examples(self, model: str, part: str) -> Examples:
        """A part as the tokenizer of a model reads it."""
        number, own = {tag: row for row, tag in enumerate(self.labels)}, self.parts[part]
        rows = [[number[tag] for tag in one.tags] for one in own]
        return Examples.of(AutoTokenizer.from_pretrained(model), [one.words for one in own], rows)


@dataclass(frozen=True)
class Way:
    """A model's folder, the number of its taught words, and the tokens that get random embeddings."""

    name: str
    folder: str
    words: int = 0
    random: tuple[int, ...] = ()


def sentences(folder: Path, name: str) -> dict[str, list[Sentence]]:
    """A set by part."""
    return {part: read(folder / name / file) for part, file in zip(PARTS, FILES[name], strict=True)}


def measure(results: Results, tagging: Tagging, lm: LanguageModel, seeds: Sequence[int]) -> None:
    """Add a row for each way and group of entities."""
    rates = (2e-4,) if tagging.quick else RATES
    untaught = Way("untaught", str(model_folder(lm.name)))
    with tempfile.TemporaryDirectory() as place:
        tried = {rate: [tag(tagging, untaught, rate, seed) for seed in seeds] for rate in rates}
        dev = {rate: [_dev_score(tagging, tags) for tags in own] for rate, own in tried.items()}
        rate = max(rates, key=lambda one: (min(dev[one]), sum(dev[one])))
        results.add(way="untaught", group="dev", rate=rate, f1=float(np.mean(dev[rate])), seeds=dev[rate])
        found = {untaught: tried[rate]}
        for way in taught_ways(tagging, lm, Path(place)):
            found[way] = [tag(tagging, way, rate, seed) for seed in seeds]
        holding = words_with_tokens(tagging, list(found))
        for group, chosen in groups(tagging, holding).items():
            before: np.ndarray | None = None
            for way, runs in found.items():
                each = [counts(tagging.parts["test"], tags["test"], chosen) for tags in runs]
                total = np.sum(each, axis=0)
                before = total if before is None else before
                if total[:, 2].any():
                    about = {"way": way.name, "group": group, "entities": int(each[0][:, 2].sum())}
                    scores = {"f1": total_f1(total), "seeds": [total_f1(one) for one in each]}
                    results.add(**about, words=way.words, **scores, **change_of(before, total, f1))


def taught_ways(tagging: Tagging, lm: LanguageModel, place: Path) -> list[Way]:
    """The model taught in both placements, and the control."""
    ways = []
    few: dict[str, Any] = {"top": 8, "contexts": 4} if tagging.quick else {}
    placements: tuple[Placement, ...] = ("append", "replace")
    for placement in placements:
        try:
            done = teach(lm, texts=tagging.text, settings=TeachSettings(placement=placement, **few))
        except InputError as error:
            if error.code != "nothing-to-teach":  # no word is expected to help
                raise
            continue
        folder = place / placement
        done.save_pretrained(folder)
        ways.append(Way(placement, str(folder), len(done.taught)))
        if placement == "append":
            tokens = tuple(_taught_tokens(str(folder)))
            ways.append(Way("append, random", str(folder), len(done.taught), tokens))
    return ways


def tag(tagging: Tagging, way: Way, rate: float, seed: int) -> Tags:
    """Fine-tune a model on the training part and tag the others."""
    model = load(way.folder, len(tagging.labels), seed)
    if way.random:
        random_rows(model, way.random, seed)
    epochs, batch_size = EPOCHS.get(tagging.name, 4), BATCH_SIZE.get(tagging.name, 32)
    if tagging.quick:
        epochs, batch_size = 1, 8
    train = tagging.examples(way.folder, "train")
    fine_tune(model, train, rate=rate, epochs=epochs, seed=seed, batch_size=batch_size)
    return {
        part: [[tagging.labels[row] for row in own] for own in predict(model, tagging.examples(way.folder, part))]
        for part in ("dev", "test")
    }


def random_rows(model: Any, tokens: Sequence[int], seed: int) -> None:
    """Give tokens embeddings in random directions, each as far from the mean embedding as its own."""
    weight = model.get_input_embeddings().weight
    with torch.no_grad():
        rows = weight[list(tokens)]
        mean = weight[: min(tokens)].mean(0)
        drawn = torch.randn(rows.shape, generator=torch.Generator().manual_seed(seed)).to(rows)
        lengths = (rows - mean).norm(dim=1, keepdim=True)
        weight[list(tokens)] = mean + drawn / drawn.norm(dim=1, keepdim=True) * lengths


def groups(tagging: Tagging, holding: Sequence[set[int]]) -> dict[str, Callable[[int, Span], bool]]:
    """Entities of the test part: all, new ones, and those with a taught word, by their spelling."""
    parts = tagging.parts
    seen = {one.surface(span) for one in parts["train"] for span in one.entities}
    return {
        "all": lambda *_: True,
        "not in training": lambda row, span: parts["test"][row].surface(span) not in seen,
        "with a taught word": lambda row, span: not holding[row].isdisjoint(range(*span[:2])),
    }


def words_with_tokens(tagging: Tagging, ways: Sequence[Way]) -> list[set[int]]:
    """The words of each test sentence that have a token of their own in the first taught model."""
    folder = next((way.folder for way in ways if way.words), None)
    if folder is None:
        return [set() for _ in tagging.parts["test"]]
    first, test = min(_taught_tokens(folder)), tagging.examples(folder, "test")
    return [set(own[ids >= first].tolist()) for own, ids in zip(test.words.cpu(), test.ids.cpu(), strict=True)]


def _taught_tokens(folder: str) -> range:
    return range(AutoConfig.from_pretrained(folder).rarewords_first_token, len(AutoTokenizer.from_pretrained(folder)))


def _dev_score(tagging: Tagging, tags: Tags) -> float:
    return total_f1(counts(tagging.parts["dev"], tags["dev"], lambda *_: True))
