"""Named entities: WNUT-17, NCBI-disease and BC5CDR, with a tagger fine-tuned on untaught and taught models.

    python benchmarks/tasks/ner.py FOLDER --set ncbi-disease [--model M --name NAME] [--quick]

FOLDER holds wnut17, ncbi-disease and bc5cdr. The model is taught, with the defaults of `rarewords teach`, the
text of all parts without their labels; the two biomedical sets are one text. The ways: untaught; *pieces and
vector*, the default; the same with vectors of the same lengths in random directions, as a control; and
*vector*, one token in place of the pieces (`--replace`). The figure is the F1 of exact entities on the test
part: of all, of those not in the training part, and of those that hold a taught word, by their spelling.
The intervals are over sentences, paired, with the counts of all seeds added up. The rate is the best of four
on the dev part for the untaught model.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
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
RATES, EPOCHS = (2e-5, 5e-5, 1e-4, 2e-4), 4


@dataclass(frozen=True)
class Way:
    """A folder, its texts by part, and the tokens whose vectors are replaced by random ones."""

    name: str
    folder: str
    examples: dict[str, Examples]
    random: tuple[int, ...] = ()


def random_rows(model: Any, tokens: Sequence[int], seed: int) -> None:
    """Give tokens vectors in random directions, each as far from the mean embedding as its own."""
    weight = model.get_input_embeddings().weight
    with torch.no_grad():
        rows = weight[list(tokens)]
        mean = weight[: min(tokens)].mean(0)
        drawn = torch.randn(rows.shape, generator=torch.Generator().manual_seed(seed)).to(rows)
        lengths = (rows - mean).norm(dim=1, keepdim=True)
        weight[list(tokens)] = mean + drawn / drawn.norm(dim=1, keepdim=True) * lengths


@dataclass(frozen=True)
class Tagging:
    """A set of sentences to tag: by part, with the labels of its words."""

    parts: dict[str, list[Sentence]]
    labels: list[str]
    epochs: int
    batch_size: int

    def way(self, name: str, folder: str) -> Way:
        """The sentences as the tokenizer of a folder reads them."""
        tokenizer = AutoTokenizer.from_pretrained(folder)
        number = {tag: row for row, tag in enumerate(self.labels)}
        examples = {
            part: Examples.of(
                tokenizer, [one.words for one in own], [[number[tag] for tag in one.tags] for one in own]
            )
            for part, own in self.parts.items()
        }
        return Way(name, folder, examples)

    def tags(self, way: Way, rate: float, seed: int, part: str) -> list[list[str]]:
        """The tags of a part's words, by a model that is fine-tuned on the training part."""
        model = load(way.folder, len(self.labels), seed)
        if way.random:
            random_rows(model, way.random, seed)
        fine_tune(
            model,
            way.examples["train"],
            rate=rate,
            epochs=self.epochs,
            seed=seed,
            batch_size=self.batch_size,
        )
        return [[self.labels[row] for row in own] for own in predict(model, way.examples[part])]

    def score(self, rows: Sequence[Sequence[str]], part: str) -> float:
        """F1 of all entities of a part."""
        return total_f1(counts(self.parts[part], rows, lambda *_: True))


def main() -> None:
    parser = options(__doc__, "the folder with the three sets", trained=True)
    parser.add_argument("--set", choices=FILES, required=True)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--rates", type=float, nargs="+", default=RATES, help="the best on dev is taken")
    asked = parser.parse_args()
    every = {
        name: {part: read(asked.data / name / file) for part, file in zip(PARTS, FILES[name], strict=True)}
        for name in TEXTS[asked.set]
    }
    lines = [" ".join(one.words) for sets in every.values() for own in sets.values() for one in own]
    parts, rates, epochs, seeds, settings = every[asked.set], asked.rates, EPOCHS, asked.seeds, {}
    batch_size = asked.batch_size
    if asked.quick:
        parts, lines = {part: own[:80] for part, own in parts.items()}, lines[:2000]
        rates, epochs, seeds, batch_size = RATES[-1:], 1, seeds[:1], 8
        settings = {"top": 8, "contexts": 4, "held_out": 2}
    found = {tag for own in parts.values() for one in own for tag in one.tags}
    tagging = Tagging(parts, sorted(found, key=lambda tag: (tag != "O", tag)), epochs, batch_size)
    about = {"task": f"entities, {asked.set}", "model": asked.name}

    base = str(bundled_model()) if asked.model == DEFAULT_MODEL else asked.model
    ways = [tagging.way("untaught", base)]
    dev = [tagging.score(tagging.tags(ways[0], rate, 0, "dev"), "dev") for rate in rates[1:] and rates]
    rate = rates[int(np.argmax(dev))] if dev else rates[0]
    note(
        asked.out,
        **about,
        way="untaught",
        part="dev",
        rates=rates,
        f1=[round(one, 4) for one in dev],
        rate=rate,
    )

    words: dict[str, int] = {}
    holding: list[set[int]] = [set() for _ in parts["test"]]  # which words of a sentence hold a taught one
    with tempfile.TemporaryDirectory() as place:
        text = Path(place) / "text.txt"
        text.write_text("\n".join(lines) + "\n", "utf-8")
        for name, slash in (("pieces and vector", True), ("vector", False))[: 1 if asked.quick else 2]:
            folder = Path(place) / name.replace(" ", "-")
            wanted = TeachSettings(slash=slash, **settings)
            try:
                words[name] = len(teach([text], folder, model=asked.model, settings=wanted).words)
            except InputError as error:  # no word is expected to help
                note(asked.out, **about, way=name, part="test", nothing=str(error))
                continue
            first = AutoConfig.from_pretrained(folder).rarewords_first_token
            tokens = tuple(range(first, len(AutoTokenizer.from_pretrained(folder))))
            way = tagging.way(name, str(folder))
            ways.append(way)
            if slash:
                ways.append(replace(way, name=f"{name}, random", random=tokens))
                test = way.examples["test"]
                pairs = zip(test.words.cpu(), test.ids.cpu(), strict=True)
                holding = [set(own[ids >= first].tolist()) for own, ids in pairs]
        seen = {one.surface(span) for one in parts["train"] for span in one.entities}
        groups: dict[str, Callable[[int, Span], bool]] = {
            "all": lambda *_: True,
            "not in training": lambda row, span: parts["test"][row].surface(span) not in seen,
            "with a taught word": lambda row, span: not holding[row].isdisjoint(range(*span[:2])),
        }
        before: dict[str, np.ndarray] = {}
        for way in ways:
            runs = [tagging.tags(way, rate, seed, "test") for seed in seeds]
            for group, chosen in groups.items():
                each = [counts(parts["test"], own, chosen) for own in runs]
                total = np.sum(each, axis=0)
                untaught = before.setdefault(group, total)
                if not total[:, 2].any():
                    continue  # there is no such entity
                difference, low, high = change(untaught, total, f1)
                note(
                    asked.out,
                    **about,
                    way=way.name,
                    part="test",
                    group=group,
                    items=int(each[0][:, 2].sum()),
                    words=words.get(way.name.removesuffix(", random"), 0),
                    f1=total_f1(total),
                    seeds=[round(total_f1(one), 4) for one in each],
                    untaught=total_f1(untaught),
                    change=difference,
                    low=low,
                    high=high,
                )


if __name__ == "__main__":
    main()
