"""Named entities: WNUT-17, NCBI-disease and BC5CDR, with a tagger fine-tuned on untaught and taught models.

    python benchmarks/tasks/ner.py FOLDER --set ncbi-disease [--model M --name NAME] [--jobs 3] [--quick]

FOLDER holds wnut17, ncbi-disease and bc5cdr. The model is taught, with the defaults of `rarewords teach`, the
text of all parts without their labels; the two biomedical sets are one text. The ways: untaught; *pieces and
vector*, the default; the same with vectors of the same lengths in random directions, as a control; and
*vector*, one token in place of the pieces (`--replace`). The figure is the F1 of exact entities on the test
part: of all, of those not in the training part, and of those that hold a taught word, by their spelling.
The intervals are over sentences, paired, with the counts of all seeds added up. The rate is that at which the
worst seed of the untaught model does best on the dev part: at a higher one a tagger may find nothing at all.
WNUT-17 has few sentences with entities, so its taggers take more and smaller steps.
"""

from __future__ import annotations

import functools
import multiprocessing
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from filelock import FileLock
from iob import Sentence, Span, counts, f1, read, total_f1
from measure import change, note, options
from transformers import AutoConfig, AutoTokenizer
from tuning import Examples, fine_tune, load, predict

from rarewords import InputError, teach
from rarewords.models import DEFAULT_MODEL, bundled_model
from rarewords.teaching.settings import TeachSettings

PARTS = ("train", "dev", "test")
FILES = {
    "wnut17": ("wnut17train.conll", "emerging.dev.conll", "emerging.test.annotated"),
    "ncbi-disease": ("train.tsv", "devel.tsv", "test.tsv"),
    "bc5cdr": ("train.tsv", "devel.tsv", "test.tsv"),
}
TEXTS = {
    "wnut17": ("wnut17",),
    "ncbi-disease": ("ncbi-disease", "bc5cdr"),
    "bc5cdr": ("ncbi-disease", "bc5cdr"),
}
BATCH_SIZE, EPOCHS = {"wnut17": 16}, {"wnut17": 8}
RATES = (5e-5, 1e-4)


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
        return {part: own[:80] for part, own in found.items()} if self.quick else found

    @functools.cached_property
    def labels(self) -> list[str]:
        """All tags, with *outside* first."""
        found = {tag for own in self.parts.values() for one in own for tag in one.tags}
        return sorted(found, key=lambda tag: (tag != "O", tag))

    @functools.cached_property
    def text(self) -> list[str]:
        """What the model is taught from."""
        sets = [sentences(self.folder, name) for name in TEXTS[self.name]]
        lines = [" ".join(one.words) for own in sets for part in own.values() for one in part]
        return lines[:2000] if self.quick else lines

    def examples(self, model: str, part: str) -> Examples:
        """A part as the tokenizer of a model reads it."""
        number = {tag: row for row, tag in enumerate(self.labels)}
        own = self.parts[part]
        rows = [[number[tag] for tag in one.tags] for one in own]
        return Examples.of(AutoTokenizer.from_pretrained(model), [one.words for one in own], rows)


@dataclass(frozen=True)
class Way:
    """A model's folder, and the tokens whose vectors are replaced by random ones."""

    name: str
    folder: str
    random: tuple[int, ...] = ()


Tags = dict[str, list[list[str]]]  # of the words of each sentence, by part


def sentences(folder: Path, name: str) -> dict[str, list[Sentence]]:
    """A set by part."""
    return {part: read(folder / name / file) for part, file in zip(PARTS, FILES[name], strict=True)}


def random_rows(model: Any, tokens: Sequence[int], seed: int) -> None:
    """Give tokens vectors in random directions, each as far from the mean embedding as its own."""
    weight = model.get_input_embeddings().weight
    with torch.no_grad():
        rows = weight[list(tokens)]
        mean = weight[: min(tokens)].mean(0)
        drawn = torch.randn(rows.shape, generator=torch.Generator().manual_seed(seed)).to(rows)
        lengths = (rows - mean).norm(dim=1, keepdim=True)
        weight[list(tokens)] = mean + drawn / drawn.norm(dim=1, keepdim=True) * lengths


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
        part: [
            [tagging.labels[row] for row in own] for own in predict(model, tagging.examples(way.folder, part))
        ]
        for part in ("dev", "test")
    }


def taught(tagging: Tagging, model: str, slash: bool, folder: Path) -> int:
    """Teach the text into a folder, unless a set with the same text has done it; how many words there are."""
    few: dict[str, Any] = {"top": 8, "contexts": 4} if tagging.quick else {}
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{folder}.lock"):
        if not folder.exists():
            text = folder.with_suffix(".txt")
            text.write_text("\n".join(tagging.text) + "\n", "utf-8")
            teach([text], folder, model=model, settings=TeachSettings(slash=slash, **few))
    return (
        len(AutoTokenizer.from_pretrained(folder)) - AutoConfig.from_pretrained(folder).rarewords_first_token
    )


def main() -> None:
    parser = options(__doc__, "the folder with the three sets", trained=True)
    parser.add_argument("--set", choices=FILES, required=True)
    parser.add_argument("--rates", type=float, nargs="+", default=RATES, help="the best on dev is taken")
    parser.add_argument("--jobs", type=int, default=1, help="how many models to fine-tune side by side")
    parser.add_argument("--taught", type=Path, help="keep taught models here: sets with one text share them")
    asked = parser.parse_args()
    tagging = Tagging(asked.data, asked.set, asked.quick)
    rates, seeds = ([2e-4], asked.seeds[:1]) if asked.quick else (asked.rates, asked.seeds)
    about = {"task": f"entities, {asked.set}", "model": asked.name}
    base = str(bundled_model()) if asked.model == DEFAULT_MODEL else asked.model
    with (
        tempfile.TemporaryDirectory() as place,
        ProcessPoolExecutor(asked.jobs, multiprocessing.get_context("spawn")) as pool,
    ):

        def runs(way: Way, rate: float) -> list[Future[Tags]]:
            return [pool.submit(tag, tagging, way, rate, seed) for seed in seeds]

        untaught = Way("untaught", base)
        tried = {rate: runs(untaught, rate) for rate in rates}
        ways, words = [untaught], {"untaught": 0}
        holding: list[set[int]] = [
            set() for _ in tagging.parts["test"]
        ]  # words of a sentence that are taught
        taught_ways = [("pieces and vector", True), ("vector", False)][: 1 if asked.quick else 2]
        if asked.set == "bc5cdr":
            taught_ways.reverse()  # while the other set with the same text teaches the first
        for name, slash in taught_ways:
            kept = "-".join([*TEXTS[asked.set], asked.name, *name.split()])
            folder = (asked.taught or Path(place)) / kept
            try:
                words[name] = taught(tagging, asked.model, slash, folder)
            except InputError as error:  # no word is expected to help
                note(asked.out, **about, way=name, part="test", nothing=str(error))
                continue
            ways.append(Way(name, str(folder)))
            if slash:
                first = AutoConfig.from_pretrained(folder).rarewords_first_token
                tokens = tuple(range(first, first + words[name]))
                words[f"{name}, random"] = words[name]
                ways.append(replace(ways[-1], name=f"{name}, random", random=tokens))
                test = tagging.examples(str(folder), "test")
                pairs = zip(test.words.cpu(), test.ids.cpu(), strict=True)
                holding = [set(own[ids >= first].tolist()) for own, ids in pairs]

        def dev_score(tags: Tags) -> float:
            return total_f1(counts(tagging.parts["dev"], tags["dev"], lambda *_: True))

        dev = {rate: [dev_score(one.result()) for one in own] for rate, own in tried.items()}
        rate = max(rates, key=lambda one: (min(dev[one]), sum(dev[one])))
        rounded = [[round(one, 4) for one in own] for own in dev.values()]
        note(asked.out, **about, way="untaught", part="dev", rates=list(rates), f1=rounded, rate=rate)
        found = {way.name: tried[rate] if way is untaught else runs(way, rate) for way in ways}

        parts = tagging.parts
        seen = {one.surface(span) for one in parts["train"] for span in one.entities}
        groups: dict[str, Callable[[int, Span], bool]] = {
            "all": lambda *_: True,
            "not in training": lambda row, span: parts["test"][row].surface(span) not in seen,
            "with a taught word": lambda row, span: not holding[row].isdisjoint(range(*span[:2])),
        }
        before: dict[str, np.ndarray] = {}
        for name, own in found.items():
            for group, chosen in groups.items():
                each = [counts(parts["test"], one.result()["test"], chosen) for one in own]
                total = np.sum(each, axis=0)
                first_total = before.setdefault(group, total)
                if not total[:, 2].any():
                    continue  # there is no such entity
                difference, low, high = change(first_total, total, f1)
                note(
                    asked.out,
                    **about,
                    way=name,
                    part="test",
                    group=group,
                    items=int(each[0][:, 2].sum()),
                    words=words[name],
                    f1=total_f1(total),
                    seeds=[round(total_f1(one), 4) for one in each],
                    untaught=total_f1(first_total),
                    change=difference,
                    low=low,
                    high=high,
                )


if __name__ == "__main__":
    main()
