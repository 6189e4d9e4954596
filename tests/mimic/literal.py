"""Attentive mimicking as the paper writes it, from sentences to the loss, in float64 and slow.

Nothing here uses the package, so a mistake in tokens, windows, n-grams or formulas shows as a difference.
"""

from collections import Counter

import torch

WINDOW = 25


def ngrams(word):
    """All n-grams of 3 to 5 characters of a word with one mark at each end."""
    marked = ["^", *word, "$"]
    return ["".join(marked[i : i + n]) for n in (3, 4, 5) for i in range(len(marked) - n + 1)]


def ngram_numbers(vocabulary, threshold=4):
    """The n-grams that enough words contain, the most common first; 0 is left for the others."""
    counts = Counter(gram for word in vocabulary for gram in set(ngrams(word)))
    kept = [gram for gram, count in counts.items() if count >= threshold]
    return {gram: number for number, gram in enumerate(sorted(kept, key=lambda g: (-counts[g], g)), 1)}


def form_of(word, numbers, embeddings):
    """The mean of the embeddings of a word's n-grams."""
    return torch.stack([embeddings[numbers.get(gram, 0)] for gram in ngrams(word)]).mean(0)


def contexts_of(word, sentences):
    """The contexts of a word: around each of its occurrences, each stretch of a sentence once.

    A sentence is a list of words and marks; only words count for the window.
    """
    found = []
    for number, sentence in enumerate(sentences):
        places = [place for place, token in enumerate(sentence) if token[0].isalnum()]
        for at, place in enumerate(places):
            if sentence[place] == word:
                first = 0 if at <= WINDOW else places[at - WINDOW]
                end = len(sentence) if at + WINDOW >= len(places) - 1 else places[at + WINDOW] + 1
                if (number, first, end) not in found:
                    found.append((number, first, end))
    return [sentences[number][first:end] for number, first, end in found]


def reading_of(word, context, known):
    """The mean of the known embeddings of a context, without the word itself; None if there are none.

    The authors' program has no full stops and no double quotes in contexts.
    """
    left_out = (word, ".", '"')
    embeddings = [known[token] for token in context if token not in left_out and token in known]
    return torch.stack(embeddings).mean(0) if embeddings else None


def context_of(readings, compare):
    """The readings weighted by their similarity to all readings."""
    dim = len(readings[0])
    similarity = [[(compare @ a) @ (compare @ b) / dim**0.5 for b in readings] for a in readings]
    total = sum(sum(row) for row in similarity)
    return sum(sum(row) / total * reading for row, reading in zip(similarity, readings, strict=True))


def mimic(word, sentences, known, numbers, state):
    """A word's embedding; a part that ``state`` has no parameters for is not used."""
    grams = state.get("ngram_embeddings.weight")
    form = None if grams is None else form_of(word, numbers, grams)
    readings = [reading_of(word, context, known) for context in contexts_of(word, sentences)]
    readings = [reading for reading in readings if reading is not None]
    if "transform" not in state:
        return form
    if not readings:
        return form if form is not None else torch.zeros(state["transform"].shape[0], dtype=torch.float64)
    context = context_of(readings, state["compare"])
    if form is None:
        return state["transform"] @ context
    alpha = torch.sigmoid(state["gate.weight"][0] @ torch.cat([form, context]) + state["gate.bias"][0])
    return alpha * (state["transform"] @ context) + (1 - alpha) * form


def loss_of(examples, known, numbers, state):
    """The mean squared error over words, each with its sentences and the embedding to mimic."""
    made = [mimic(word, sentences, known, numbers, state) for word, sentences, _ in examples]
    errors = [(embedding - target) ** 2 for embedding, (_, _, target) in zip(made, examples, strict=True)]
    return torch.stack(errors).mean()
