"""Filling blanks in batches with logits at the blank only, against one pattern at a time with full logits.

Run: python benchmarks/bench_fill.py [--patterns 2000] [--model default]
Prints both times, their ratio, and how many first answers agree. The claim it backs: at least 4 times faster.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import torch

from rarewords import LanguageModel, Query

PATTERNS = ("a <W> is a kind of _ .", "<W> and _ .", '"<W>" refers to a _ .', "<W> is the opposite of _ .")


def one_at_a_time(lm: LanguageModel, queries: list[Query], top_k: int) -> np.ndarray:
    """The plain way: each pattern alone through the whole model. *Returns* ids. *Shape:* (queries, k)"""
    mask, mask_id = lm.tokenizer.mask_token, lm.tokenizer.mask_token_id
    answers = []
    with torch.no_grad():
        for query in queries:
            text = query.pattern.replace("<W>", query.word).replace("_", mask)
            batch = lm.tokenizer(text, return_tensors="pt").to(lm.device)
            logits = lm.model(**batch).logits[0]
            place = batch["input_ids"][0].tolist().index(mask_id)
            answers.append(torch.softmax(logits[place], -1).topk(top_k).indices.cpu().numpy())
    return np.stack(answers)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--patterns", type=int, default=2000)
    parser.add_argument("--model", default="default")
    parser.add_argument("--top-k", type=int, default=100)
    arguments = parser.parse_args()

    lm = LanguageModel.from_pretrained(arguments.model)
    words = list(lm.whole_words)[2000:]
    rng = np.random.default_rng(0)
    # Half of the keywords are whole words, half are glued from two, so that lengths differ as in probing.
    drawn = rng.choice(words, (arguments.patterns, 2))
    queries = [
        Query(PATTERNS[i % len(PATTERNS)], first if i % 2 else first + second)
        for i, (first, second) in enumerate(drawn)
    ]
    lm.fill(queries[:200])
    one_at_a_time(lm, queries[:20], arguments.top_k)

    started = time.perf_counter()
    ours = lm.fill(queries, top_k=arguments.top_k)
    batched = time.perf_counter() - started
    started = time.perf_counter()
    theirs = one_at_a_time(lm, queries, arguments.top_k)
    single = time.perf_counter() - started

    same = float((ours.ids[:, 0] == theirs[:, 0]).mean())
    sets = float(np.mean([len(set(a) & set(b)) / len(a) for a, b in zip(ours.ids, theirs, strict=True)]))
    where = f"{lm.device}, {torch.get_num_threads()} threads"
    print(f"patterns {len(queries)}, model {arguments.model}, {where}")
    print(f"one at a time, full logits: {single:.1f} s ({len(queries) / single:.0f}/s)")
    print(f"batched, logits at the blank: {batched:.1f} s ({len(queries) / batched:.0f}/s)")
    print(
        f"ratio {single / batched:.1f}; same first answer {same:.4f}; same top {arguments.top_k} {sets:.5f}"
    )


if __name__ == "__main__":
    main()
