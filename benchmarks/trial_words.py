"""Taught words drawn at random, and what WordNet says about the answers before and after.

    python benchmarks/trial_words.py FOLDER [--words 40] [--seed 0] [--read FILE]

FOLDER is a folder of `rarewords teach`. Its report has the first answers about each word by pieces and by
vector. Of the first three of each, those are right that WordNet relates to the word: synonyms; hypernyms,
but no very general ones; words that share a hypernym at most two steps up; for adjectives and verbs what is
similar, derived or pertains. A word is better if more of the three are right afterwards, or as many and the
first one newly. Where that says nothing, because the word is not in WordNet or no answer is related, a person
has to read; FILE holds one word and verdict per line, with a tab between them. Prints a Markdown table.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

from rarewords.probe.build import open_wordnet

SHOWN = 3
GENERAL = 5  # steps from WordNet's root; what is nearer says too little
UP, DOWN = 2, 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--words", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--read", type=Path, help="verdicts by reading, for words that WordNet cannot judge")
    parser.add_argument("--wordnet", type=Path)
    asked = parser.parse_args()
    wordnet = open_wordnet(asked.wordnet)
    words = json.loads((asked.folder / "teaching.json").read_text("utf-8"))["words"]
    drawn = random.Random(asked.seed).sample(sorted(words, key=lambda one: one["word"]), asked.words)
    lines = [] if asked.read is None else asked.read.read_text("utf-8").splitlines()
    read = dict(line.split("\t") for line in lines if line)
    totals: Counter[str] = Counter()
    print("| word | count | before | after | the judge | verdict | by |\n|---|---:|---|---|---|---|---|")
    for one in sorted(drawn, key=lambda one: one["word"]):
        related = related_words(wordnet, one["word"])
        before, after = one["before"][:SHOWN], one["after"][:SHOWN]
        verdict = compare(before, after, related)
        how = "WordNet" if verdict else "reading"
        verdict = verdict or read.get(one["word"], "to be read")
        totals[verdict] += 1
        totals[f"by {how}"] += 1
        shown = [", ".join(f"{a}*" if a in related else a for a in answers) for answers in (before, after)]
        cells = [one["word"], one["count"], *shown, one["verdict"], verdict, how]
        print("|", " | ".join(map(str, cells)), "|")
    print("\n" + ", ".join(f"{name}: {number}" for name, number in totals.most_common()))


def compare(before: list[str], after: list[str], related: set[str]) -> str | None:
    """Whether more of the answers are related to the word afterwards; None if there is nothing to go by."""
    old, new = ((sum(a in related for a in answers), answers[0] in related) for answers in (before, after))
    if not old[0] and not new[0]:
        return None
    return "better" if new > old else "worse" if new < old else "same"


def related_words(wordnet: Any, word: str) -> set[str]:
    """What WordNet relates to a word, as single words; a plural counts as its singular."""
    found: set[str] = set()
    for pos in "nvar":
        for base in {word, wordnet.morphy(word, pos) or word}:
            for synset in wordnet.synsets(base, pos):
                found |= _related(synset)
    names = {name.lower() for name in found if "_" not in name} - {word}
    return names | {name + "s" for name in names}


def _related(synset: Any) -> set[str]:
    above = {one for path in synset.hypernym_paths() for one in path if one.min_depth() >= GENERAL}
    level, near = {synset}, set()
    for _ in range(UP):
        level = {one for own in level for one in own.hypernyms() if one.min_depth() >= GENERAL}
        near |= level
    level = set(near)
    for _ in range(DOWN):
        level = {one for own in level for one in own.hyponyms()}
        near |= level
    others = {synset, *above, *near, *synset.similar_tos(), *synset.also_sees(), *synset.attributes()}
    lemmas = [lemma for one in (synset, *synset.similar_tos()) for lemma in one.lemmas()]
    others |= {
        other.synset()
        for lemma in lemmas
        for other in (*lemma.derivationally_related_forms(), *lemma.pertainyms())
    }
    return {name for one in others for name in one.lemma_names()}


if __name__ == "__main__":
    main()
