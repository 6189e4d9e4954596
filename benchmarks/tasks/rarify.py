"""A topic task from Wikipedia, and its test part with words replaced by rare synonyms.

    python benchmarks/tasks/rarify.py ARTICLES --corpus STORE --out FOLDER

ARTICLES is a text of articles separated by empty lines, each with its title first. What an article is about
is said by the noun of its first sentence (*is a species*, *was a Polish film*), by the table below; the
examples are nine words each of its later sentences, so that the noun itself is not among them. Articles are
split 5 : 1 : 4. In a test sentence those words are replaced by a rare synonym that speak for its topic in the
training part (log-odds of at least .5), but none of the 300 most frequent words; the nine words are those
around the most telling one. Kept are examples in which they matter: naive Bayes, trained on the training
part, gets them right, and wrong without these words. A synonym shares a word's most frequent sense in
WordNet, as a noun if it can be one; it occurs 8 to 200 times in the store and never in the training part, is
split by the tokenizer, and does not begin as the word does. FOLDER gets train.jsonl, dev.jsonl and
test.jsonl; a test example has both forms. WordNet is found as `rarewords wnlampro build` finds it, and is not
needed for measuring (rarified.py).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from rarewords import Store
from rarewords.models import load_tokens
from rarewords.probe.build import open_wordnet

KINDS = {
    "animal or plant": "species genus moth butterfly beetle fish plant snail spider bird frog family",
    "athlete": "player skier footballer cricketer rower cyclist snowboarder skater athlete sprinter boxer",
    "politician": "politician senator minister diplomat",
    "film": "film episode",
    "music": "album song single singer musician rapper band composer",
    "place": "village town community locality settlement city municipality parish",
    "writing": "writer poet author novelist journalist novel newspaper book",
    "science": "mathematician scientist historian economist professor physicist engineer academic",
    "religion": "bishop priest prelate church",
    "competition": "edition tournament season championship competition",
    "water": "river lake stream tributary",
    "company": "company businessman entrepreneur manufacturer",
}
LABELS = {noun: label for label, nouns in enumerate(KINDS.values()) for noun in nouns.split()}
LEAST, MOST, MOST_PER_KIND, LEAST_ODDS, COMMON, WINDOW = 8, 200, 2500, 0.5, 300, 9
_FIRST = re.compile(r"\b(?:is|was|are|were) (?:an?|the|one of the) ([^.,;()]{3,80})")
_END = re.compile(
    r"\b(?:in|of|from|who|that|which|by|for|located|on|and|at|with|to|the|as|based|written|directed|known)\b"
)
_WORD = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True)
class Example:
    """A sentence and its topic; ``rarified`` has rare words in the place of some."""

    words: tuple[str, ...]
    label: int
    rarified: tuple[str, ...] = ()
    rare: tuple[str, ...] = ()


def examples(text: str) -> Iterator[tuple[str, Example]]:
    """The later sentences of articles that say what they are about, each with the part it belongs to."""
    for article in re.split(r"\n\n\n+", text):
        lines = [line for line in article.split("\n") if line.strip()]
        found = _FIRST.search(lines[1]) if len(lines) > 1 else None
        noun = (_END.split(found[1])[0].split() or [""])[-1].lower() if found else ""
        if noun in LABELS:
            drawn = int(hashlib.sha256(lines[0].encode()).hexdigest(), 16) % 10
            part = "train" if drawn < 5 else "test" if drawn < 9 else "dev"
            sentences = re.split(r"(?<=[a-z)][.!?]) +(?=[A-Z])", " ".join(lines[1:]))[1:]
            for sentence in sentences[:40]:
                words = tuple(_WORD.findall(sentence))
                if len(words) >= WINDOW:
                    yield part, Example(words, LABELS[noun])


def window(words: Sequence[str], middle: int) -> tuple[str, ...]:
    """The words around one of them.

    >>> window("abcdefghijkl", 1), window("abcdefghijkl", 6)[0]
    (('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'), 'c')
    """
    first = max(0, min(middle - WINDOW // 2, len(words) - WINDOW))
    return tuple(words[first : first + WINDOW])


class Topics:
    """What words say about topics: counts of training sentences that hold them."""

    def __init__(self, train: Sequence[Example]) -> None:
        self.size = Counter(one.label for one in train)
        self.words: dict[int, Counter[str]] = {label: Counter() for label in self.size}
        for one in train:
            self.words[one.label].update({word.lower() for word in one.words})
        self.known = sum(self.words.values(), Counter())

    def odds(self, word: str, label: int) -> float:
        """The log-odds of a word between the sentences of a topic and all others."""
        others = self.size.total() - self.size[label]
        outside = (self.known[word] - self.words[label][word] + 0.5) / (others + 1)
        return math.log((self.words[label][word] + 0.5) / (self.size[label] + 1) / outside)

    def most_probable(self, words: Sequence[str]) -> int:
        """The topic by naive Bayes."""
        seen = {word.lower() for word in words}

        def score(label: int) -> float:
            own, size = self.words[label], self.size[label]
            return math.log(size) + sum(math.log((own[word] + 0.5) / (size + 1)) for word in seen)

        return max(self.size, key=score)


class Synonyms:
    """Rare synonyms by WordNet."""

    def __init__(self, store: Store, known: Counter[str]) -> None:
        self.wordnet: Any = open_wordnet()
        self.store, self.known, self.tokens = store, known, load_tokens("default")

    @cache  # noqa: B019 - there is one of these
    def of(self, word: str) -> str | None:
        """The least rare of a word's rare synonyms; None if it has none."""
        found: list[str] = []
        for ending in ("", "s"):
            base = word.removesuffix(ending)
            noun = bool(self.wordnet.synsets(base, "n"))  # text has no tags: a noun if it can be one
            own = [
                lemma
                for synset in self.wordnet.synsets(base, "n" if noun else None)
                for lemma in synset.lemmas()
                if lemma.name() == base and (noun or not ending)
            ]
            if own and base + ending == word:
                best = max(own, key=lambda lemma: lemma.count())
                names = [name + ending for name in best.synset().lemma_names()]
                found = [name for name in names if self._fits(name, word)]
                break  # a word of its own is no plural: physics
        return max(found, key=lambda name: (self.store.count(name), name), default=None)

    def _fits(self, name: str, word: str) -> bool:
        return (
            bool(re.fullmatch("[a-z]{4,}", name))
            and name[:4] != word[:4]
            and not self.known[name]
            and LEAST <= self.store.count(name) <= MOST
            and len(self.tokens.pieces(name)) > 1
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("articles", type=Path)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    parts: dict[str, list[Example]] = {"train": [], "dev": [], "test": []}
    for part, one in examples(asked.articles.read_text("utf-8", errors="replace")):
        parts[part].append(one)
    draw = random.Random(0)
    for own in parts.values():
        draw.shuffle(own)
    for part in ("train", "dev"):
        parts[part] = [
            replace(one, words=window(one.words, draw.randrange(len(one.words)))) for one in parts[part]
        ]
    taken: Counter[int] = Counter()
    train = [one for one in parts["train"] if taken.update([one.label]) or taken[one.label] <= MOST_PER_KIND]
    topics = Topics(train)
    store, test = Store.open(asked.corpus), []
    synonyms, common = Synonyms(store, topics.known), set(store.counts()[0][:COMMON])
    for one in parts["test"]:
        odds = [
            topics.odds(word, one.label) if word.islower() and word not in common else 0 for word in one.words
        ]
        found = {
            place: name
            for place, word in enumerate(one.words)
            if odds[place] >= LEAST_ODDS and (name := synonyms.of(word)) is not None
        }
        if found:
            middle = max(found, key=odds.__getitem__)
            words = window(one.words, middle)
            rarified = window([found.get(place, word) for place, word in enumerate(one.words)], middle)
            left = [word for word, other in zip(words, rarified, strict=True) if word == other]
            if topics.most_probable(words) == one.label != topics.most_probable(left):
                test.append(Example(words, one.label, rarified, tuple(sorted({*rarified} - {*words}))))
    asked.out.mkdir(parents=True, exist_ok=True)
    for part, own in (("train", train), ("dev", parts["dev"][:2000]), ("test", test)):
        lines = [json.dumps(asdict(one), ensure_ascii=False) for one in own]
        (asked.out / f"{part}.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
        rare = {word for one in own for word in one.rare}
        print(f"{part}: {len(own):,} sentences, {len(rare):,} rare words")
    pairs = Counter((w, r) for one in test for w, r in zip(one.words, one.rarified, strict=True) if w != r)
    print(", ".join(f"{w} -> {r} ({n})" for (w, r), n in pairs.most_common(40)))


if __name__ == "__main__":
    main()
