"""The sentences of random words from a corpus, against a search through the lines of the text.

    python benchmarks/bench_contexts.py [--corpus CORPUS --text FILE] [--words 100]

The baseline looks for each word with a regular expression in the text, which it holds in memory. Opening the
corpus and checking its files against their checksums counts.
"""

import re
import tempfile
from pathlib import Path

import numpy as np
from timing import in_turns, options, report, sample_text

from rarewords import Corpus


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--corpus", type=Path, help="a corpus, with the text it was built from")
    parser.add_argument("--text", type=Path)
    parser.add_argument("--words", type=int, default=100)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        text = asked.text or sample_text(Path(name) / "text.txt", 5)
        path = asked.corpus or Corpus.build(text, Path(name) / "corpus").path
        words = np.random.default_rng(0).choice(Corpus.open(path).counts(2)[0], asked.words).tolist()
        lines = text.read_text("utf-8", "replace").splitlines()
        ways = {
            "corpus": lambda: [Corpus.open(path).contexts(word) for word in words],
            "a search of the lines": lambda: [search(word, lines) for word in words],
        }
        found, runs = in_turns(ways, 1)
        sentences = sum(map(len, found["corpus"]))
    report(asked.out, "sentences of words", runs, words=len(words), contexts=sentences)


def search(word: str, lines: list[str]) -> list[str]:
    """The lines that contain a word."""
    pattern = re.compile(rf"\b{re.escape(word)}\b", re.IGNORECASE)
    return [line for line in lines if pattern.search(line)]


if __name__ == "__main__":
    main()
