"""Rarified text: a topic classifier meets rare synonyms of the words it was trained on.

    python benchmarks/tasks/rarified.py FOLDER --corpus STORE [--model M --name NAME]

FOLDER is what rarify.py wrote. The model is fine-tuned on plain sentences; then the same test sentences are
classified plain, which is the ceiling, and with rare synonyms, in several ways: *pieces*, as the model reads
them; *AM*, the paper's attentive mimicking, a vector in place of the pieces; *vector*, ours in place of the
pieces; *pieces and vector*; and *taught*, the same without the words that `teach` would leave alone. The
vectors are made from the contexts of the rare words in the store and put into the fine-tuned model. The
figure is the accuracy; intervals are over sentences, paired, all seeds together. The rate is the best of
three on the dev part.
"""

from __future__ import annotations

import copy
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from measure import change, note, options
from transformers import AutoTokenizer
from tuning import Examples, fine_tune, load, predict

from rarewords import LanguageModel, Store, WordVectors, inject, teach
from rarewords.forget import taught_tokens
from rarewords.models import DEFAULT_MODEL, bundled_model, load_pretrained
from rarewords.teaching.learners import open_learner
from rarewords.teaching.settings import TeachSettings

RATES, EPOCHS = (5e-5, 1e-4, 2e-4), 2


def taught_vectors(
    model: str, corpus: Path, words: list[str], settings: TeachSettings
) -> tuple[WordVectors, list[str]]:
    """The vectors that `teach` makes of words, and those of the words that it would teach."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "taught"
        done = teach([], folder, words=words, model=model, corpus=corpus, settings=settings)
        lm, tokenizer = load_pretrained(folder)
        tokens = taught_tokens(lm, tokenizer)
        rows = lm.get_input_embeddings().weight.detach()[list(tokens.values())].numpy().copy()
        worse = {one.word for one in done.worse}
        return WordVectors(list(tokens), rows), [word for word in tokens if word not in worse]


def accuracy(sums: np.ndarray) -> np.ndarray:
    """*Shape:* (any, 2) -> (any,)"""
    return sums[:, 0] / sums[:, 1]


def main() -> None:
    parser = options(__doc__, "the folder that rarify.py wrote", trained=True)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--mimic", help="the folder of a mimic model; the bundled model has one")
    asked = parser.parse_args()
    parts = {
        part: [
            json.loads(line) for line in (asked.data / f"{part}.jsonl").read_text("utf-8").split("\n") if line
        ]
        for part in ("train", "dev", "test")
    }
    rates, epochs, seeds, settings = RATES, EPOCHS, asked.seeds, TeachSettings(keep_all=True)
    if asked.quick:
        parts = {part: own[:size] for (part, own), size in zip(parts.items(), (800, 100, 60), strict=True)}
        rates, epochs, seeds = RATES[-1:], 1, seeds[:1]
        settings = TeachSettings(keep_all=True, contexts=4)
    labels = 1 + max(one["label"] for one in parts["train"])

    def encoded(tokenizer: Any, part: str, form: str = "words") -> Examples:
        own = parts[part]
        return Examples.of(tokenizer, [one[form] for one in own], [[one["label"]] for one in own], whole=True)

    def right(model: Any, examples: Examples, part: str) -> np.ndarray:
        """*Shape:* (texts, 2)"""
        found = np.array([own[0] for own in predict(model, examples)])
        hits = found == np.array([one["label"] for one in parts[part]])
        return np.stack([hits, np.ones(len(hits))], axis=1)

    base = str(bundled_model()) if asked.model == DEFAULT_MODEL else asked.model
    plain = AutoTokenizer.from_pretrained(base)
    train, dev = encoded(plain, "train"), encoded(plain, "dev")

    def tuned(rate: float, seed: int) -> Any:
        model = load(base, labels, seed)
        fine_tune(model, train, rate=rate, epochs=epochs, seed=seed)
        return model

    scores = {rate: float(accuracy(right(tuned(rate, 0), dev, "dev").sum(0)[None])[0]) for rate in rates}
    rate = max(scores, key=scores.__getitem__)
    about = {"task": "rarified topics", "model": asked.name}
    note(asked.out, **about, way="plain", part="dev", rate=rate, accuracy=scores[rate])

    rare = sorted({word for one in parts["test"] for word in one["rare"]})
    vectors, judged = taught_vectors(asked.model, asked.corpus, rare, settings)
    ways: dict[str, tuple[WordVectors, bool]] = {}
    attentive = asked.mimic or ("am" if asked.model == DEFAULT_MODEL else "")
    if attentive:
        mimic, _ = open_learner(LanguageModel.from_pretrained(asked.model), attentive)
        ways["AM"] = mimic.infer_words(vectors.words, Store.open(asked.corpus)).vectors, False
    ways |= {
        "vector": (vectors, False),
        "pieces and vector": (vectors, True),
        "taught": (vectors.subset(judged), True),
    }
    tests = {"pieces": encoded(plain, "test", "rarified"), "plain": encoded(plain, "test")}
    hits: dict[str, list[np.ndarray]] = {name: [] for name in (*tests, *ways)}
    for seed in seeds:
        model = tuned(rate, seed)
        for name in hits:
            changed, tokenizer = model, plain
            if name in ways:
                changed, tokenizer = copy.deepcopy((model, plain))
                inject(changed, tokenizer, ways[name][0], slash=ways[name][1])
            if name not in tests:
                tests[name] = encoded(tokenizer, "test", "rarified")
            hits[name].append(right(changed, tests[name], "test"))
    for name, each in hits.items():
        total, before = np.sum(each, axis=0), np.sum(hits["pieces"], axis=0)
        difference, low, high = change(before, total, accuracy)
        note(
            asked.out,
            **about,
            way=name,
            part="test",
            items=len(parts["test"]),
            words=len(ways[name][0]) if name in ways else len(rare),
            accuracy=float(accuracy(total.sum(0)[None])[0]),
            seeds=[round(float(accuracy(one.sum(0)[None])[0]), 4) for one in each],
            untaught=float(accuracy(before.sum(0)[None])[0]),
            change=difference,
            low=low,
            high=high,
        )


if __name__ == "__main__":
    main()
