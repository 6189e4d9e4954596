"""Named entities: WNUT-17, NCBI-disease and BC5CDR, with a tagger fine-tuned on untaught and taught models.

    python benchmarks/tasks/ner.py FOLDER --set ncbi-disease [--model M --name NAME] [--quick]

FOLDER holds wnut17, ncbi-disease and bc5cdr. The model is taught, with the defaults of `rarewords teach`, the
text of all parts without their labels; the two biomedical sets are one text. The ways: untaught; *pieces and
vector*, the default; *vector*, one token in place of the pieces (`--replace`); and, as controls, both with
vectors of the same lengths in random directions. The figure is the F1 of exact entities on the test part: of
all, of those that are not in the training part, and of those that hold a taught word, by their spelling.
The intervals are over sentences, paired, with the counts of all seeds added up. The rate is the best of three
on the dev part for the untaught model.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
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
RATES, EPOCHS = (5e-5, 1e-4, 2e-4), 4
Span = tuple[int, int, str]


@dataclass(frozen=True)
class Sentence:
    words: tuple[str, ...]
    tags: tuple[str, ...]

    @property
    def entities(self) -> list[Span]:
        return spans(self.tags)

    def surface(self, span: Span) -> str:
        return " ".join(self.words[span[0] : span[1]]).lower()


@dataclass(frozen=True)
class Way:
    """A folder, its texts by part, and the tokens whose vectors are replaced by random ones."""

    name: str
    folder: str
    examples: dict[str, Examples]
    random: tuple[int, ...] = ()


def read(path: Path) -> list[Sentence]:
    """The sentences of a file with a word and its tag per line."""
    found: list[Sentence] = []
    words: list[str] = []
    tags: list[str] = []
    for line in [*path.read_text("utf-8").split("\n"), ""]:
        if line.strip():
            word, tag = line.rstrip("\r").split("\t")[:2]
            words.append(word)
            tags.append(tag)
        elif words:
            found.append(Sentence(tuple(words), tuple(tags)))
            words, tags = [], []
    return found


def spans(tags: Sequence[str]) -> list[Span]:
    """The entities of IOB tags; an I that continues nothing begins one.

    >>> spans(["B-x", "I-x", "B-x", "O", "I-y", "I-x"])
    [(0, 2, 'x'), (2, 3, 'x'), (4, 5, 'y'), (5, 6, 'x')]
    """
    found: list[Span] = []
    start, kind = 0, ""
    for at, tag in enumerate([*tags, "O"]):
        mark, _, own = tag.partition("-")
        if kind and (mark != "I" or own != kind):
            found.append((start, at, kind))
            kind = ""
        if own and not kind:
            start, kind = at, own
    return found


def f1(sums: np.ndarray) -> np.ndarray:
    """F1 of sums of right, found and true entities. *Shape:* (any, 3) -> (any,)"""
    return 2 * sums[:, 0] / np.maximum(sums[:, 1] + sums[:, 2], 1)


def counts(
    sentences: Sequence[Sentence], tags: Sequence[Sequence[str]], wanted: Callable[[int, Span], bool]
) -> np.ndarray:
    """Right, found and true entities among the wanted ones of each sentence. *Shape:* (sentences, 3)"""
    rows = []
    for number, (one, own) in enumerate(zip(sentences, tags, strict=True)):
        true = {span for span in one.entities if wanted(number, span)}
        found = {span for span in spans(own) if wanted(number, span)}
        rows.append((len(true & found), len(found), len(true)))
    return np.array(rows)


def random_rows(model: Any, tokens: Sequence[int], seed: int) -> None:
    """Give tokens vectors in random directions, each as far from the mean embedding as its own."""
    weight = model.get_input_embeddings().weight
    with torch.no_grad():
        rows = weight[list(tokens)]
        mean = weight[: min(tokens)].mean(0)
        drawn = torch.randn(rows.shape, generator=torch.Generator().manual_seed(seed)).to(rows)
        lengths = (rows - mean).norm(dim=1, keepdim=True)
        weight[list(tokens)] = mean + drawn / drawn.norm(dim=1, keepdim=True) * lengths


def main() -> None:
    parser = options(__doc__, "the folder with the three sets", trained=True)
    parser.add_argument("--set", choices=FILES, required=True)
    asked = parser.parse_args()
    every = {
        name: {part: read(asked.data / name / file) for part, file in zip(PARTS, FILES[name], strict=True)}
        for name in TEXTS[asked.set]
    }
    parts = every[asked.set]
    rates, epochs, seeds, settings = RATES, EPOCHS, asked.seeds, {}
    if asked.quick:
        parts = {part: own[:250] for part, own in parts.items()}
        rates, epochs, seeds, settings = RATES[-1:], 2, seeds[:1], {"top": 40, "contexts": 8}
    labels = sorted(
        {tag for own in parts.values() for one in own for tag in one.tags}, key=lambda t: (t != "O", t)
    )
    number = {tag: row for row, tag in enumerate(labels)}

    def way(name: str, folder: str) -> Way:
        tokenizer = AutoTokenizer.from_pretrained(folder)
        examples = {
            part: Examples.of(
                tokenizer, [one.words for one in own], [[number[tag] for tag in one.tags] for one in own]
            )
            for part, own in parts.items()
        }
        return Way(name, folder, examples)

    def tags(chosen: Way, rate: float, seed: int, part: str) -> list[list[str]]:
        model = load(chosen.folder, len(labels), seed)
        if chosen.random:
            random_rows(model, chosen.random, seed)
        fine_tune(model, chosen.examples["train"], rate=rate, epochs=epochs, seed=seed)
        return [[labels[row] for row in own] for own in predict(model, chosen.examples[part])]

    base = str(bundled_model()) if asked.model == DEFAULT_MODEL else asked.model
    untaught = way("untaught", base)
    dev = {
        rate: float(f1(counts(parts["dev"], tags(untaught, rate, 0, "dev"), lambda *_: True).sum(0)[None])[0])
        for rate in (rates if len(rates) > 1 else ())
    }
    rate = max(dev, key=dev.__getitem__) if dev else rates[0]
    note(
        asked.out,
        task=f"entities, {asked.set}",
        model=asked.name,
        way="untaught",
        part="dev",
        rate=rate,
        f1=dev.get(rate),
    )
    with tempfile.TemporaryDirectory() as place:
        text = Path(place) / "text.txt"
        lines = [" ".join(one.words) for sets in every.values() for own in sets.values() for one in own]
        text.write_text("\n".join(lines) + "\n", "utf-8")
        ways, words = [untaught], {}
        taught_words: list[set[int]] = [set() for _ in parts["test"]]
        for name, slash in (("pieces and vector", True), ("vector", False))[: 1 if asked.quick else 2]:
            folder = Path(place) / name.replace(" ", "-")
            try:
                done = teach(
                    [text], folder, model=asked.model, settings=TeachSettings(slash=slash, **settings)
                )
            except InputError as error:  # no word is expected to help
                note(asked.out, task=f"entities, {asked.set}", model=asked.name, way=name, nothing=str(error))
                continue
            found, words = way(name, str(folder)), {**words, name: len(done.words)}
            first = AutoConfig.from_pretrained(folder).rarewords_first_token
            tokens = tuple(range(first, len(AutoTokenizer.from_pretrained(folder))))
            ways += [found, Way(f"{name}, random", found.folder, found.examples, tokens)]
            if slash:
                test = found.examples["test"]
                holding = [
                    own[ids >= first].tolist()
                    for own, ids in zip(test.words.cpu(), test.ids.cpu(), strict=True)
                ]
                taught_words = [set(own) for own in holding]
        seen = {one.surface(span) for one in parts["train"] for span in one.entities}
        test_part = parts["test"]
        groups: dict[str, Callable[[int, Span], bool]] = {
            "all": lambda *_: True,
            "not in training": lambda row, span: test_part[row].surface(span) not in seen,
            "with a taught word": lambda row, span: not taught_words[row].isdisjoint(range(*span[:2])),
        }
        before: dict[str, np.ndarray] = {}
        for chosen in ways:
            runs = [tags(chosen, rate, seed, "test") for seed in seeds]
            for group, wanted in groups.items():
                each = [counts(test_part, own, wanted) for own in runs]
                if not each[0][:, 2].any():
                    continue  # no such entity
                total = np.sum(each, axis=0)
                before.setdefault(group, total)
                difference, low, high = change(before[group], total, f1)
                note(
                    asked.out,
                    task=f"entities, {asked.set}",
                    model=asked.name,
                    way=chosen.name,
                    part="test",
                    group=group,
                    items=int(each[0][:, 2].sum()),
                    words=words.get(chosen.name.removesuffix(", random"), 0),
                    f1=float(f1(total.sum(0)[None])[0]),
                    seeds=[round(float(f1(one.sum(0)[None])[0]), 4) for one in each],
                    untaught=float(f1(before[group].sum(0)[None])[0]),
                    change=difference,
                    low=low,
                    high=high,
                )


if __name__ == "__main__":
    main()
