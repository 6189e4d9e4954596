"""The formulas of attentive mimicking, written out word by word in float64, as slowly as they read."""

import torch

from rarewords.mimic.ngrams import ngrams


def mimic(state, settings, table, word, contexts):
    """One word's vector from its n-grams and its contexts, each a list of float64 vectors of its words."""
    dim = settings["dim"]
    numbers = [
        table.known.index(g) + 1 if g in table.known else 0
        for g in ngrams(word, table.shortest, table.longest)
    ]
    form = (
        torch.stack([state["ngram_embeddings.weight"][n] for n in numbers]).mean(0)
        if settings["form"]
        else None
    )
    if not settings["context"] or not contexts:
        return form if form is not None else torch.zeros(dim, dtype=torch.float64)
    readings = [torch.stack(words).mean(0) for words in contexts]
    if settings["attention"]:
        compare = state["compare"]
        similarity = [[(compare @ a) @ (compare @ b) / dim**0.5 for b in readings] for a in readings]
        total = sum(sum(row) for row in similarity)
        weights = [sum(row) / total for row in similarity]
    else:
        weights = [1 / len(readings)] * len(readings)
    context = sum(weight * reading for weight, reading in zip(weights, readings, strict=True))
    read = state["transform"] @ context
    if form is None:
        return read
    alpha = torch.sigmoid(state["gate.weight"][0] @ torch.cat([form, context]) + state["gate.bias"][0])
    return alpha * read + (1 - alpha) * form
