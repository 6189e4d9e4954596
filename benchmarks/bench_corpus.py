"""What the corpus part is measured with.

    python benchmarks/bench_corpus.py                          # against the authors' way, on the test text
    python benchmarks/bench_corpus.py --text wiki/*.txt        # the same on the first 5 MB of your text
    python benchmarks/bench_corpus.py --text wiki/*.txt --full # time and memory for all of it, and for twice

The baseline does what the authors' preprocessing does, written plainly: shuffle the lines, tokenize each with
NLTK and lower-case it, count the words, cut the vocabulary into 25 buckets, and go through the tokenized text
once for each bucket, collecting up to 1000 distinct contexts of each of its words. Both sides read the same
file and write their result to disk. Where NLTK's sentence model is not installed, the baseline splits
sentences with an untrained one, which is the same work.
"""

from __future__ import annotations

import argparse
import gzip
import os
import random
import resource
import shutil
import statistics
import string
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rarewords.corpus.build import build
from rarewords.corpus.store import Store

BUCKETS, CONTEXTS, WINDOW = 25, 1000, 25
TEST_TEXT = Path(__file__).parent.parent / "tests" / "data" / "wikipedia.txt.gz"


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


def compare(text: Path, folder: Path, repeats: int) -> None:
    """The baseline once, ours ``repeats`` times, on the same file in the same run."""
    (folder / "baseline").mkdir()
    with measured() as baseline:
        authors_way(text, folder / "baseline")
    ours = []
    for run in range(repeats):
        with measured() as one:
            build([text], folder / f"store-{run}", workers=1)
        ours.append(one)
    wall = statistics.median(one.wall for one in ours)
    cpu = statistics.median(one.cpu for one in ours)
    size = text.stat().st_size / 1e6
    print(f"text                  {size:8.2f} MB")
    print(f"authors' way          {baseline.wall:8.2f} s   CPU {baseline.cpu:8.2f} s")
    print(f"rarewords, 1 process  {wall:8.2f} s   CPU {cpu:8.2f} s   median of {repeats}, the first included")
    print(f"ratio                 {baseline.wall / wall:8.1f}     CPU {baseline.cpu / cpu:8.1f}")


def full(texts: list[Path], folder: Path, workers: int | None) -> None:
    """Time and peak memory of all processes for the text, and for the text with a changed copy of it."""
    double = folder / "copy"
    double.mkdir()
    for place, text in enumerate(texts):
        _changed_copy(text, double / f"{place}.txt")
    results = []
    for name, files in (("all of it", texts), ("twice", [*texts, *sorted(double.iterdir())])):
        size = sum(file.stat().st_size for file in files) / 1e6
        out = folder / "store"
        with measured() as run, memory() as peak:
            _build_apart(files, out, workers)
        store = Store.open(out)
        stored = sum(file.stat().st_size for file in out.iterdir()) / 1e6
        print(
            f"{name:10} {size:7.0f} MB  {store.totals.words / 1e6:6.1f} M words  {run.wall:6.1f} s  "
            f"CPU {run.cpu:6.1f} s  memory {peak[0] / 2**20:6.0f} MiB  store {stored:6.0f} MB",
            flush=True,
        )
        results.append((run.wall, run.cpu, peak[0]))
        shutil.rmtree(out)
    (wall, cpu, held), (wall2, cpu2, held2) = results
    print(f"twice / once: time {wall2 / wall:.2f}, CPU {cpu2 / cpu:.2f}, memory {held2 / held:.2f}")


def _build_apart(files: list[Path], out: Path, workers: int | None) -> None:
    # In a process of its own: this one would keep memory from one build to the next.
    command = [sys.executable, "-m", "rarewords", "--quiet", "corpus", "build", "--out", str(out)]
    command += ["--workers", str(workers)] if workers else []
    subprocess.run([*command, *map(str, files)], check=True, stdout=subprocess.DEVNULL)


def _changed_copy(text: Path, target: Path) -> None:
    # Each letter exchanged for another: as many sentences and contexts again, and twice the vocabulary, which
    # is more than real text would bring. An equal copy would be too cheap.
    small, large = string.ascii_lowercase.encode(), string.ascii_uppercase.encode()
    table = bytes.maketrans(small + large, small[13:] + small[:13] + large[13:] + large[:13])
    with text.open("rb") as source, target.open("wb") as stream:
        for block in iter(lambda: source.read(1 << 20), b""):
            stream.write(block.translate(table))


class Measured:
    """Wall-clock and processor seconds, those of finished child processes included."""

    wall = cpu = 0.0


@contextmanager
def measured() -> Iterator[Measured]:
    result = Measured()
    wall, cpu = time.perf_counter(), _cpu()
    yield result
    result.wall, result.cpu = time.perf_counter() - wall, _cpu() - cpu


def _cpu() -> float:
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


@contextmanager
def memory() -> Iterator[list[int]]:
    """The peak memory of this process and its descendants together, sampled ten times a second (Linux)."""
    peak, stop = [0], threading.Event()

    def watch() -> None:
        while not stop.wait(0.1):
            peak[0] = max(peak[0], sum(_resident(process) for process in _descendants()))

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    yield peak
    stop.set()
    thread.join()


def _descendants() -> list[int]:
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
    family = {os.getpid()}
    while grown := {process for process, parent in parents.items() if parent in family} - family:
        family |= grown
    return list(family)


def _resident(process: int) -> int:
    # Proportional: a page that several processes share counts once.
    try:
        for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--text", type=Path, nargs="+")
    parser.add_argument("--megabytes", type=float, default=5.0, help="how much of it the comparison takes")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--workers", type=int, default=None)
    parser.add_argument("--folder", type=Path, default=None, help="where to put files under way")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        if options.full:
            full(options.text or parser.error("--full needs --text"), folder, options.workers)
            return
        slice_ = folder / "slice.txt"
        with slice_.open("wb") as stream:
            left = int(options.megabytes * 1e6)
            for file in options.text or [TEST_TEXT]:
                with gzip.open(file) if file.suffix == ".gz" else file.open("rb") as source:
                    left -= stream.write(source.read(left).rpartition(b"\n")[0] + b"\n")
                if left < 1000:
                    break
        compare(slice_, folder, options.repeats)


if __name__ == "__main__":
    main()
