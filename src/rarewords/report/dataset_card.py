"""The card of a built WNLaMPro: how it was made, how large it is beside the paper's, what it contains."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean

from rarewords.probe.build import SHORTEST_CORRUPTED, BuildSettings
from rarewords.probe.dataset import BANDS, RELATIONS, Dataset, FrequencyBounds
from rarewords.report.tables import markdown_table, relation_title

# The paper's table of sizes and mean targets; corruptions are rare only.
_PAPER = {
    "antonym": ((41, 1.0), (59, 1.0), (266, 1.0)),
    "hypernym": ((1191, 4.0), (1785, 3.9), (4750, 4.2)),
    "cohyponym": ((1960, 26.0), (2740, 26.0), (6126, 25.0)),
    "corruption": ((2880, 1.0), None, None),
}

# The paper's table of examples, with the targets it names.
_EXAMPLES = {
    "antonym": {"new": "old", "general": "specific", "local": "global"},
    "hypernym": {
        "book": "product publication",
        "basketball": "game ball sport",
        "lingonberry": "fruit bush berry",
    },
    "cohyponym": {
        "samosa": "pizza sandwich salad",
        "harmonium": "brass flute sax",
        "immorality": "crime evil sin fraud",
    },
}


def sizes_table(dataset: Dataset, bounds: FrequencyBounds | None = None) -> str:
    """Entries and mean targets by relation and frequency, beside the paper's."""
    limits = bounds or FrequencyBounds()
    targets: dict[tuple[str, str], list[int]] = {}
    for entry in dataset:
        targets.setdefault((entry.relation, limits.band(entry.count)), []).append(len(entry.targets))
    rows = []
    for relation in RELATIONS:
        for number, band in enumerate(BANDS):
            here, paper = targets.get((relation, band), []), _PAPER[relation][number]
            if here or paper:
                rows.append(
                    [
                        relation_title(relation),
                        band,
                        f"{len(here):,}",
                        f"{paper[0]:,}" if paper else "–",
                        f"{fmean(here):.1f}" if here else "–",
                        f"{paper[1]:.1f}" if paper else "–",
                    ]
                )
    header = ["relation", "frequency", "entries", "paper", "mean targets", "paper's"]
    return markdown_table(header, rows, left=2)


def examples_table(dataset: Dataset) -> str:
    """Whether the entries of the paper's table of examples are there, with the targets it names."""
    found = {(entry.relation, entry.word.text): entry for entry in dataset}
    rows = []
    for relation, examples in _EXAMPLES.items():
        for word, named in examples.items():
            entry = found.get((relation, word))
            texts = [target.text for target in entry.targets] if entry else []
            present = [target for target in named.split() if target in texts]
            missing = [target for target in named.split() if target not in texts]
            rows.append(
                [
                    word,
                    relation_title(relation),
                    f"{entry.count:,}" if entry else "no entry",
                    ", ".join(present) or "–",
                    ", ".join(missing) + (f" (has: {', '.join(texts[:3])})" if texts else "")
                    if missing
                    else "–",
                ]
            )
    header = ["word", "relation", "count", "targets the paper names", "not among them here"]
    return markdown_table(header, rows, left=5)


def dataset_card(
    dataset: Dataset,
    settings: BuildSettings,
    counts: Mapping[str, int],
    vocabulary: int,
    source: str = "a corpus",
) -> str:
    """The card as Markdown.

    :param vocabulary: how many whole words the model has.
    :param source: the text that was counted, in words.
    """
    kept = sum(entry.relation == "corruption" for entry in dataset)
    dev = sum(entry.subset == "dev" for entry in dataset)
    bounds, total = settings.bounds, sum(counts.values())
    return f"""# WNLaMPro, built with rarewords

{len(dataset):,} entries ({dev:,} dev, {len(dataset) - dev:,} test) that ask what a language model
understands of a word: its antonym, its hypernyms, its cohyponyms, or the word it is a misspelling of. The
data set and its rules are those of Schick & Schütze, *Rare Words: A Major Problem for Contextualized
Embeddings and How to Fix it by Attentive Mimicking* (AAAI 2020); the entries are built anew, from other
counts.

## How it was built
`rarewords wnlampro build --counts STORE --model MODEL --out FILE`, from

- WordNet 3.0,
- the counts of {len(counts):,} words ({total:,} occurrences) in {source},
- the {vocabulary:,} whole words of the model's vocabulary.

Seed {settings.seed}; {settings.dev_share:.0%} of each relation is dev. Rare: below {bounds.medium}
occurrences; medium: below {bounds.frequent}; frequent: from {bounds.frequent} on. The Zipf value of a
word is log10 of its occurrences in a thousand million words of the corpus. The {kept:,} corruptions
are of words of at least {SHORTEST_CORRUPTED} letters; none of them is a word of WordNet or of
the vocabulary, and none is more than rare in the corpus.

SHA-256 of the entries: `{dataset.digest}`. A rebuild from the same counts gives the same bytes.

## Sizes beside the paper's
{sizes_table(dataset, bounds)}
The paper counted in nearly a thousand million words, {1e9 / total:.0f} times as many as here, so more of
its words are frequent. Its antonyms and cohyponyms are fewer than WordNet 3.0 gives by the rules as printed.

## The paper's examples
{examples_table(dataset)}
In WordNet 3.0 *local* has the antonyms *national* (first sense) and *general* (third), and *global* has none.

## Terms
Derived from WordNet 3.0, © 2006 Princeton University; its licence is in `LICENSE-WordNet.txt`.
"""
