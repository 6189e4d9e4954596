"""Tokenize text into the arrays that training reads.

    python training/prepare.py TOKENS --vocab vocab.txt --text corpus/*.txt.xz

For every input file three files of little-endian uint16: ``.docs`` holds the running text with [SEP] behind
each paragraph, ``.sentences`` rows of 32 tokens with one sentence each, ``.held`` running text that no
model is trained on (one block of 2,000 lines in 64).
"""

from __future__ import annotations

import argparse
import lzma
import os
import re
import time
from collections.abc import Iterator
from multiprocessing import Pool
from pathlib import Path

import numpy as np
from tokenizers import BertWordPieceTokenizer

ROW = 32
CLS, SEP = 101, 102
_BLOCK_LINES, _HELD_OUT_OF = 2000, 64
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"'“(])")
_BYTES_PER_PART = 4_000_000


def tokenize_part(job: tuple[Path, int, int, Path, Path]) -> tuple[int, int]:
    """Tokenize every ``parts``-th block of a file; returns the numbers of tokens and of sentences."""
    path, part, parts, out, vocab = job
    tokenizer = BertWordPieceTokenizer(str(vocab), lowercase=True)
    docs, held, sentences = [], [], []
    for number, block in blocks(path):
        if number % parts != part:
            continue
        held_out = number % _HELD_OUT_OF == _HELD_OUT_OF - 1
        for encoded in tokenizer.encode_batch(block, add_special_tokens=False):
            if len(encoded.ids) >= 5:
                (held if held_out else docs).append(np.array([*encoded.ids, SEP], dtype=np.uint16))
        if not held_out:
            cut = [sentence for line in block for sentence in _SENTENCE_END.split(line) if 20 < len(sentence) < 220]
            for encoded in tokenizer.encode_batch(cut, add_special_tokens=False):
                if 5 <= len(encoded.ids) <= ROW - 2:
                    row = [CLS, *encoded.ids, SEP]
                    sentences.append(np.array(row + [0] * (ROW - len(row)), dtype=np.uint16))
    name = out / f"{path.name}.{part}"
    for kind, arrays in (("docs", docs), ("held", held), ("sentences", sentences)):
        joined = np.concatenate(arrays) if arrays else np.zeros(0, np.uint16)
        joined.tofile(name.with_name(f"{name.name}.{kind}"))
    return sum(map(len, docs)), len(sentences)


def blocks(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the paragraphs (30 characters or more) of each block of lines."""
    opener = lzma.open if path.suffix == ".xz" else open
    with opener(path, "rt", encoding="utf-8", errors="replace") as lines:
        block: list[str] = []
        for number, line in enumerate(lines):
            if len(line.strip()) >= 30:
                block.append(line.strip())
            if (number + 1) % _BLOCK_LINES == 0:
                yield number // _BLOCK_LINES, block
                block = []
        if block:
            yield (number + 1) // _BLOCK_LINES, block


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--vocab", type=Path, required=True)
    parser.add_argument("--text", type=Path, nargs="+", required=True)
    arguments = parser.parse_args()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    arguments.out.mkdir(parents=True, exist_ok=True)
    started, jobs = time.time(), []
    for path in arguments.text:
        parts = max(1, path.stat().st_size // _BYTES_PER_PART)
        jobs += [(path, part, parts, arguments.out, arguments.vocab) for part in range(parts)]
    with Pool() as pool:
        counts = pool.map(tokenize_part, jobs, chunksize=1)
    tokens, sentences = (sum(column) / 1e6 for column in zip(*counts, strict=True))
    print(f"{tokens:.1f} M tokens, {sentences:.2f} M sentences in {time.time() - started:.0f} s")
