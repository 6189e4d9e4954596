"""Building a corpus, against what the authors' preprocessing does.

    python benchmarks/bench_corpus.py [--text FILE ...] [--megabytes 3]

The baseline, written plainly: shuffle the lines, tokenize each with NLTK and lower-case it, count the words,
cut the vocabulary into 25 buckets, and go through the tokenized text once for each bucket, collecting up to
1,000 distinct contexts of each of its words. Both read the same file, in one process, and write their result
to disk. Where NLTK's sentence model is not installed, an untrained one splits sentences: the same work.
"""

import random
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from timing import apart, options, report, sample_text

from rarewords.corpus.build import build

BUCKETS, CONTEXTS, WINDOW = 25, 1000, 25


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--text", type=Path, nargs="*", default=[], help="instead of the text of the tests")
    parser.add_argument("--megabytes", type=float, default=3.0)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text = sample_text(folder / "text.txt", asked.megabytes)
        if asked.text:
            joined = b"".join(path.read_bytes() for path in asked.text)
            text.write_bytes(joined[: int(asked.megabytes * 1e6)])
        (folder / "authors").mkdir()
        runs = {
            "rarewords": apart(rarewords, text, folder / "corpus")[1],
            "the authors' way": apart(authors_way, text, folder / "authors")[1],
        }
    report(asked.out, "building a corpus", runs, megabytes=asked.megabytes)


def rarewords(text: Path, out: Path) -> None:
    """One process, as the other way has."""
    build([text], out, workers=1)


def authors_way(text: Path, out: Path) -> None:
    """Counts and contexts of every word, as the authors' preprocessing finds them."""
    tokenize = _tokenizer()
    lines = [line for line in text.read_text("utf-8", "replace").splitlines() if len(line.split()) > 1]
    random.Random(1234).shuffle(lines)
    tokenized = out / "tokenized"
    with tokenized.open("w", encoding="utf-8") as stream:
        for line in lines:
            stream.write(" ".join(token.lower() for token in tokenize(line)) + "\n")
    counts: Counter[str] = Counter()
    with tokenized.open(encoding="utf-8") as stream:
        for line in stream:
            counts.update(line.split())
    with (out / "counts").open("w", encoding="utf-8") as stream:
        for word, count in counts.most_common():
            stream.write(f"{word} {count}\n")
    words = list(counts)
    random.Random(1234).shuffle(words)
    size = len(words) // BUCKETS + 1
    for bucket in range(BUCKETS):
        contexts: dict[str, set[str]] = {word: set() for word in words[bucket * size : (bucket + 1) * size]}
        with tokenized.open(encoding="utf-8") as stream:
            for line in stream:
                for sentence in line.split(" ."):
                    found = sentence.split()
                    for place, word in enumerate(found):
                        if word in contexts and len(contexts[word]) < CONTEXTS:
                            around = found[max(0, place - WINDOW) : place + WINDOW + 1]
                            contexts[word].add(" ".join(around))
        with (out / f"bucket-{bucket}").open("w", encoding="utf-8") as stream:
            for word, sampled in contexts.items():
                stream.write("\t".join([word, *sampled]) + "\n")


def _tokenizer() -> Callable[[str], list[str]]:
    from nltk.tokenize import word_tokenize
    from nltk.tokenize.punkt import PunktSentenceTokenizer

    try:
        word_tokenize("A test.")
    except LookupError:
        sentences = PunktSentenceTokenizer().tokenize
        return lambda line: [
            token for sentence in sentences(line) for token in word_tokenize(sentence, preserve_line=True)
        ]
    return word_tokenize


if __name__ == "__main__":
    main()
