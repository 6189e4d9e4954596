"""Make the text that the examples in the documents use from a corpus of English Wikipedia.

    rarewords corpus build wikipedia --out wikipedia.corpus
    PYTHONPATH=src python training/demo_text.py --corpus wikipedia.corpus

A rule chooses the words, not how well they turn out: the five words of the first version of the demo if the
text has three sentences of them; then the keywords of WNLaMPro's hypernym relation that the bundled model
holdouts, that have 8 to 30 sentences in the corpus, and whose targets name one of the concrete kinds below.
Of each kind the first two by SHA-256 are taken, a draw that nobody can steer. At most 20 sentences of 20 to
400 characters are kept per word, in the order of the corpus's sample.
"""

from __future__ import annotations

import argparse
import hashlib
from pathlib import Path

from rarewords import Corpus, LanguageModel
from rarewords._internal.files import whole_file
from rarewords.wnlampro.dataset import Dataset

FIRST = ("kumquat", "lingonberry", "samosa", "salsify", "unicycle")
KINDS = (
    "animal", "bird", "fruit", "tree", "herb", "sweet", "alcohol",
    "tool", "weapon", "garment", "vehicle", "vessel", "instrument", "disease",
)  # fmt: skip
A_KIND = 2
SENTENCES = range(8, 31)
KEPT = 20
LENGTH = range(20, 401)
TARGET = Path(__file__).parent.parent / "src" / "rarewords" / "assets" / "demo"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--corpus", type=Path, required=True, help="a corpus of English Wikipedia")
    parser.add_argument("--out", type=Path, default=TARGET)
    chosen = parser.parse_args()
    corpus, lm = Corpus.open(chosen.corpus), LanguageModel.from_pretrained("default", device="cpu")
    kept: dict[str, list[str]] = {}
    for word in FIRST:
        found = sentences(corpus, word)
        if len(found) >= 3:
            kept[word] = found
    for kind in KINDS:
        taken = 0
        for word in drawn(kind):
            found = sentences(corpus, word) if len(lm.subwords(word)) > 1 else []
            if word not in kept and len(found) in SENTENCES and taken < A_KIND:
                kept[word] = found
                taken += 1
                print(f"{kind}: {word}, {len(found)} sentences")
    write(chosen.out / "text.txt", "\n\n".join("\n".join(found[:KEPT]) for found in kept.values()) + "\n")


def drawn(kind: str) -> list[str]:
    """The keywords of a kind, ordered by hash."""
    words = {
        entry.word.text
        for entry in Dataset.load()
        if entry.relation == "hypernym" and kind in {target.text for target in entry.targets}
    }
    letters = [word for word in words if word.isalpha()]
    return sorted(letters, key=lambda word: hashlib.sha256(word.encode()).digest())


def sentences(corpus: Corpus, word: str) -> list[str]:
    """Different sentences of a fitting length that contain the word."""
    found = dict.fromkeys(context.sentence.strip() for context in corpus.contexts(word, 200))
    return [sentence for sentence in found if len(sentence) in LENGTH]


def write(path: Path, text: str) -> None:
    with whole_file(path) as temporary:
        temporary.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
