"""Adding words to a model, against ``add_tokens`` and ``resize_token_embeddings`` of Transformers.

    python benchmarks/bench_inject.py [--words 5000]

All ways end with a saved folder that loads. Then the same text is tokenized with each folder and without the
new words: how much slower does a tokenizer get?
"""

import gzip
import re
import tempfile
from pathlib import Path

import numpy as np
import torch
from timing import DATA, in_turns, options, report
from transformers import AutoModelForMaskedLM, AutoTokenizer

from rarewords import LanguageModel, WordEmbeddings
from rarewords.injection.inject import inject_folder
from rarewords.models import load_pretrained


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--words", type=int, default=5000)
    asked = parser.parse_args()
    lines = gzip.decompress((DATA / "wikipedia.txt.gz").read_bytes()).decode().splitlines()
    lm = LanguageModel.from_pretrained(asked.model)
    words = new_words(lm, lines, asked.words)
    rows = np.random.default_rng(0).standard_normal((len(words), lm.dim)).astype(np.float32) * 0.05
    embeddings = WordEmbeddings(words, rows)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ways = {
            "replace": lambda: inject_folder(asked.model, embeddings, folder / "replace"),
            "append": lambda: inject_folder(asked.model, embeddings, folder / "append", placement="append"),
            "add_tokens": lambda: transformers_way(asked.model, embeddings, folder / "add_tokens"),
        }
        _, runs = in_turns(ways, 1)
        report(asked.out, "adding words", runs, words=len(words))
        tokenizers = {way: AutoTokenizer.from_pretrained(folder / way) for way in ways}
        for way in ways:
            AutoModelForMaskedLM.from_pretrained(folder / way)
    tokenize = {
        way: lambda own=own: own(lines, verbose=False)
        for way, own in {**tokenizers, "no new words": lm.tokenizer}.items()
    }
    millions = round(sum(map(len, lines)) / 1e6, 2)
    report(asked.out, "tokenizing", in_turns(tokenize, 3)[1], million_characters=millions)


def new_words(lm: LanguageModel, lines: list[str], number: int) -> list[str]:
    """Words of the text that the model splits; where the text has too few, compounds of them."""
    seen = list(dict.fromkeys(re.findall(r"[a-z]{4,}", " ".join(lines).lower())))
    split = [word for word, own in zip(seen, lm.tokens.subwords_of(seen), strict=True) if len(own) > 1]
    compounds = (first + second for first in split for second in split[:40] if first != second)
    words = dict.fromkeys(split[:number])
    for word in compounds:
        if len(words) >= number:
            break
        words[word] = None
    return list(words)


@torch.no_grad()
def transformers_way(name: str, embeddings: WordEmbeddings, out: Path) -> None:
    """What the documentation of Transformers tells you to do; other words that begin alike may change."""
    model, tokenizer = load_pretrained(name)
    tokenizer.add_tokens(embeddings.words)
    model.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    ids = tokenizer.convert_tokens_to_ids(embeddings.words)
    model.get_input_embeddings().weight[ids] = torch.from_numpy(embeddings.matrix)
    model.save_pretrained(out)
    tokenizer.save_pretrained(out)


if __name__ == "__main__":
    main()
