"""Write the card of a WNLaMPro data set: how it was made, its sizes compared with the paper's, the paper's examples.

PYTHONPATH=src python training/dataset_card.py DATASET --counts CORPUS [--model default]
    [--source "English Wikipedia"] [--seed 0] --out README.md
"""

from __future__ import annotations

import argparse
from pathlib import Path
from statistics import fmean

from rarewords._internal.files import whole_file
from rarewords.corpus.corpus import Corpus
from rarewords.models import load_tokens
from rarewords.wnlampro.builder import DEV_SHARE, SHORTEST_CORRUPTED
from rarewords.wnlampro.dataset import BANDS, FREQUENT, MEDIUM, RELATIONS, Dataset, band_of
from rarewords.wnlampro.tables import markdown_table, relation_title

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
    "hypernym": {"book": "product publication", "basketball": "game ball sport", "lingonberry": "fruit bush berry"},
    "cohyponym": {
        "samosa": "pizza sandwich salad",
        "harmonium": "brass flute sax",
        "immorality": "crime evil sin fraud",
    },
}


def sizes_beside_the_papers(dataset: Dataset) -> str:
    """Entries and mean targets by relation and frequency, beside the paper's."""
    targets: dict[tuple[str, str], list[int]] = {}
    for entry in dataset:
        targets.setdefault((entry.relation, band_of(entry.word.count)), []).append(len(entry.targets))
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
                    f"{entry.word.count:,}" if entry else "no entry",
                    ", ".join(present) or "–",
                    ", ".join(missing) + (f" (has: {', '.join(texts[:3])})" if texts else "") if missing else "–",
                ]
            )
    header = ["word", "relation", "count", "targets the paper names", "not among them here"]
    return markdown_table(header, rows, left=5)


def dataset_card(dataset: Dataset, seed: int, words: int, total: int, vocabulary: int, source: str) -> str:
    """The card as Markdown.

    :param words: the number of distinct words in the corpus.
    :param total: the number of their occurrences.
    :param vocabulary: the number of whole words in the model's vocabulary.
    :param source: the text that was counted.
    """
    kept = sum(entry.relation == "corruption" for entry in dataset)
    dev = sum(entry.subset == "dev" for entry in dataset)
    return f"""# WNLaMPro, built with rarewords

{len(dataset):,} entries ({dev:,} dev, {len(dataset) - dev:,} test) that ask what a language model
understands of a word: its antonym, its hypernyms, its cohyponyms, or the word it is a misspelling of. The
rules are those of Schick & Schütze, *Rare Words: A Major Problem for Contextualized Embeddings and How to
Fix it by Attentive Mimicking* (AAAI 2020). The entries are new, built from the counts of a smaller corpus.

## How it was built
`rarewords wnlampro build --counts CORPUS --model MODEL --out FILE`, from

- WordNet 3.0,
- the counts of {words:,} words ({total:,} occurrences) in {source},
- the {vocabulary:,} whole words of the model's vocabulary.

Seed {seed}; {DEV_SHARE:.0%} of each relation is dev. Rare: below {MEDIUM}
occurrences; medium: below {FREQUENT}; frequent: {FREQUENT} or more. The Zipf value of a
word is log10 of its occurrences per billion words of the corpus. The {kept:,} corruptions
are of words of at least {SHORTEST_CORRUPTED} letters; none of them is a word of WordNet or of
the vocabulary, and all are rare in the corpus.

SHA-256 of the entries: `{dataset.digest}`. A rebuild from the same counts gives the same bytes.

## Sizes compared with the paper
{sizes_beside_the_papers(dataset)}
The paper's corpus has nearly a billion words, {1e9 / total:.0f} times as many, so more of its words are
frequent. The paper has fewer antonyms and cohyponyms than its rules give with WordNet 3.0.

## The paper's examples
{examples_table(dataset)}
In WordNet 3.0 *local* has the antonyms *national* (first sense) and *general* (third), and *global* has none.

## License
Derived from WordNet 3.0, © 2006 Princeton University; its license is in `LICENSE-WordNet.txt`.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("dataset")
    parser.add_argument("--counts", required=True, help="the corpus it was built from")
    parser.add_argument("--model", default="default")
    parser.add_argument("--source", default="a corpus")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    words, counts = Corpus.open(asked.counts).counts()
    card = dataset_card(
        Dataset.load(asked.dataset),
        asked.seed,
        len(words),
        int(counts.sum()),
        len(load_tokens(asked.model).whole_words),
        asked.source,
    )
    with whole_file(asked.out) as temporary:
        temporary.write_text(card, "utf-8")


if __name__ == "__main__":
    main()
