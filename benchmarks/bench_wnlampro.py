"""Probing a model with WNLaMPro, against the authors' way on the same entries.

    python benchmarks/bench_wnlampro.py [--entries 60] [--model default]

The authors' way asks one question at a time and computes logits at every position. Both start from a loaded
model; nothing is cached. The report says how many ranks differ.
"""

import numpy as np
import torch
from timing import in_turns, options, report

from rarewords import LanguageModel, wnlampro
from rarewords.wnlampro.dataset import Dataset, patterns_for


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--entries", type=int, default=60)
    asked = parser.parse_args()
    lm = LanguageModel.from_pretrained(asked.model)
    dataset = Dataset(wnlampro.load().select(limit=asked.entries))
    few = Dataset(dataset.entries[:5])
    ways = {"rarewords": lambda: wnlampro.evaluate(lm, few).rank, "authors": lambda: authors_way(lm, few)}
    in_turns(ways, 1)  # warm-up
    ways = {
        "rarewords": lambda: wnlampro.evaluate(lm, dataset).rank,
        "the authors' way": lambda: authors_way(lm, dataset),
    }
    ranks, runs = in_turns(ways, 1)
    ours, theirs = ranks.values()
    different = int((ours != theirs).sum())
    report(asked.out, "probing", runs, entries=len(dataset), different_ranks=different)


@torch.no_grad()
def authors_way(lm: LanguageModel, dataset: Dataset) -> np.ndarray:
    """The best rank of each entry, 0 if no target is among the first hundred answers. *Shape:* (entries,)"""
    ranks = []
    for entry in dataset:
        targets, best = {target.text for target in entry.targets}, 0
        for pattern in patterns_for(entry.relation, entry.word.text):
            text = pattern.replace("_", lm.tokenizer.mask_token).replace("<W>", entry.word.text)
            encoded = lm.tokenizer(text, return_tensors="pt").to(lm.device)
            logits = lm.model(**encoded).logits  # every position, all of the vocabulary
            place = int((encoded["input_ids"][0] == lm.tokenizer.mask_token_id).nonzero()[0, 0])
            first = torch.topk(logits[0, place], 100).indices.tolist()
            answers = lm.tokenizer.convert_ids_to_tokens(first)
            found = next((rank for rank, answer in enumerate(answers, 1) if answer in targets), 0)
            best = min(best or found, found or best)
        ranks.append(best)
    return np.array(ranks)


if __name__ == "__main__":
    main()
