"""How long it takes to learn one word, and many.

    PYTHONPATH=src python benchmarks/bench_learner.py [--model M] [--learner L] [--words 30] [--corpus STORE]

First one word with ten sentences, without the time to load the model. Then the invented words of tests/data
with ten sentences each, together, against a plain implementation that runs the model once per sentence and
computes the logits of every token. With a store, also how many of its words are learned per second.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path

import numpy as np
import torch

from rarewords import LanguageModel, Store, WordLearner
from rarewords.mimic.masked import find_word
from rarewords.teaching.learners import open_learner

INVENTED = Path(__file__).parent.parent / "tests" / "data" / "invented"
SENTENCES = 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="default")
    parser.add_argument("--words", type=int, default=30)
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--learner", type=Path, help="a folder made by `rarewords mimic fit`")
    asked = parser.parse_args()
    lm = LanguageModel.from_pretrained(asked.model)
    learner, _ = open_learner(lm, asked.learner)
    reading_only = learner.with_settings(spelling=0.0)  # as the plain one does
    tasks = invented()[: asked.words]
    learner.infer(*tasks[0])  # the first call prepares what later ones use
    alone = [timed(lambda task=task: learner.infer(*task))[0] for task in tasks[:8]]
    median = statistics.median(alone)
    print(f"one word, {SENTENCES} sentences: {median:.2f} s (median of {len(alone)})", flush=True)
    together, learned = timed(lambda: reading_only.infer_each(tasks))
    plainly, vectors = timed(lambda: [plain(lm, learner, word, own) for word, own in tasks])
    mean = learner.known.mean.cpu().numpy()
    pairs = zip(learned, vectors, strict=True)
    same = [np.corrcoef(one.vector - mean, other - mean)[0, 1] for one, other in pairs]
    ratio = plainly / together
    print(f"{len(tasks)} words together: {together:.2f} s, plainly {plainly:.2f} s, {ratio:.1f} times")
    print(f"correlation with the plain readings' vectors: at least {min(same):.3f}")
    if asked.corpus:
        store = Store.open(asked.corpus)
        words = [word for word in store.counts(5)[0][-20000:] if word not in lm.whole_words][: asked.words]
        seconds, made = timed(lambda: learner.infer_words(words, store))
        print(f"{len(made.vectors)} words of the store: {len(made.vectors) / seconds:.1f} words/s")


def invented() -> list[tuple[str, list[str]]]:
    """Invented words with ten sentences each."""
    table = (INVENTED / "words.tsv").read_text("utf-8").splitlines()
    words = [line.split("\t")[0] for line in table if not line.startswith("#")]
    lines = (INVENTED / "text.txt").read_text("utf-8").splitlines()
    tasks = []
    for word in words:
        own = [line for line in lines if find_word(word, line, lower_case=True)][:SENTENCES]
        tasks.append((word, own))
    return tasks


@torch.no_grad()
def plain(lm: LanguageModel, learner: WordLearner, word: str, sentences: list[str]) -> np.ndarray:
    """The mean expected embedding, moved by A: one run per sentence and all logits."""
    found = []
    for sentence in sentences:
        start, end = find_word(word, sentence, lower_case=lm.lower_case)
        kinds = {"masked": [""], "shown": [f"{word} / "], "both": ["", f"{word} / "]}
        for shown in kinds[learner.settings.reading]:
            text = sentence[:start] + shown + lm.tokens.mask_token + sentence[end:]
            encoded = lm.tokenizer(text, return_tensors="pt", truncation=True, max_length=lm.max_length)
            encoded = encoded.to(lm.device)
            logits = lm.model(**encoded).logits[0]
            blank = int((encoded["input_ids"][0] == lm.tokenizer.mask_token_id).nonzero()[0])
            found.append(torch.softmax(logits[blank][learner.known.ids], -1) @ learner.known.embeddings)
    centred = torch.stack(found).mean(0) - learner.known.mean
    moved = centred if learner.transform is None else centred @ learner.transform.to(centred)
    return (learner.known.mean + moved).cpu().numpy()


def timed(work):  # type: ignore[no-untyped-def]
    started = time.perf_counter()
    result = work()
    return time.perf_counter() - started, result


if __name__ == "__main__":
    main()
