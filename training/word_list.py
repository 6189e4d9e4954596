"""Make the list of English words that says which words begin others (``injection/forms.py``).

    rarewords corpus build wikipedia encyclopaedia --out text.corpus
    PYTHONPATH=src python training/word_list.py --corpus text.corpus

Words of a-z that occur at least ten times, sorted.
"""

from __future__ import annotations

import argparse
import lzma
import re
from pathlib import Path

from rarewords import Corpus
from rarewords._internal.files import whole_file

TARGET = Path(__file__).parent.parent / "src" / "rarewords" / "assets" / "english-words.txt.xz"
LEAST_COUNT, LEAST_LETTERS = 10, 5  # a shorter word begins with hardly any word worth teaching


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--corpus", type=Path, required=True, help="a corpus of English text")
    parser.add_argument("--out", type=Path, default=TARGET)
    chosen = parser.parse_args()
    words, _ = Corpus.open(chosen.corpus).counts(LEAST_COUNT)
    kept = sorted(word for word in words if re.fullmatch(rf"[a-z]{{{LEAST_LETTERS},}}", word))
    with whole_file(chosen.out) as path:
        path.write_bytes(lzma.compress("\n".join(kept).encode(), preset=9))
    print(f"{chosen.out}: {len(kept):,} words")


if __name__ == "__main__":
    main()
