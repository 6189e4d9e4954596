"""Taught models in other runtimes: token ids and outputs beside Transformers.

    python -m experiments.runtimes compare   --text FILE --kind KIND --model MODEL
    python -m experiments.runtimes unchanged --text FILE ... --encoder ENCODER --causal CAUSAL

FILE is plain text, KIND masked, encoder or causal, ENCODER a sentence-transformers folder, CAUSAL that of a LLaMA.
The README says what to install.
"""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import numpy as np
import typer
from transformers import AutoTokenizer

from experiments.common import Results
from experiments.runtimes.runtimes import (
    in_javascript,
    in_llama_cpp,
    in_onnxruntime,
    in_sentence_transformers,
    in_transformers,
)
from experiments.runtimes.texts import half_with, holds, sentences_of, split_words
from rarewords import LanguageModel, WordEmbeddings
from rarewords.injection.forms import begin_other_words
from rarewords.injection.inject import inject_folder
from rarewords.injection.vocabulary import add_entries
from rarewords.models import bundled_model, load_pretrained
from rarewords.tokens import Placement
from tests.architectures import unigram

RESULTS = Path(__file__).parent / "results"
_PLACEMENTS: tuple[Placement, ...] = ("replace", "append")
_WITH_OUTPUTS = 5  # every nth sentence is also run through the model

app = typer.Typer(add_completion=False, help=__doc__)
TextOption = Annotated[list[Path], typer.Option(help="Files of plain text.")]
EncoderOption = Annotated[Path, typer.Option(help="A sentence-transformers folder.")]
CausalOption = Annotated[Path, typer.Option(help="The folder of a causal LM.")]


@app.command()
def compare(
    text: TextOption,
    kind: Annotated[str, typer.Option(help="masked, encoder or causal.")],
    model: Annotated[Path | None, typer.Option(help="The folder of the model; by default the bundled one.")] = None,
    words: int = 100,
    sentences: Annotated[int, typer.Option(help="Half of them with a taught word or a form of one.")] = 1000,
    out: Annotated[Path | None, typer.Option(help="By default results/compare-KIND.json.")] = None,
) -> None:
    """The same sentences in every runtime that is installed, with both placements."""
    base = model or bundled_model()
    about = {"kind": kind, "texts": text, "words": words, "sentences": sentences}
    results = Results(out or RESULTS / f"compare-{kind}.json", "runtimes compare", base, **about)
    _, tokenizer = load_pretrained(base)
    for placement in _PLACEMENTS:
        taught = split_words(text, tokenizer, words, placement)
        lines = half_with(taught, text, sentences)
        with TemporaryDirectory() as place:
            folder = Path(place) / "taught"
            inject_folder(base, _embeddings(base, taught), folder, placement=placement)
            _compare(results, kind, placement, folder, lines)
    results.show()


def _compare(results: Results, kind: str, placement: Placement, folder: Path, lines: Sequence[str]) -> None:
    shown = range(0, len(lines), _WITH_OUTPUTS)
    expected, wanted = in_transformers(folder, kind, lines, shown)
    half = len(lines) // 2
    runtimes = {
        "sentence-transformers": in_sentence_transformers,
        "ONNX Runtime": in_onnxruntime,
        "transformers.js": in_javascript,
        "llama.cpp": in_llama_cpp,
        "llama.cpp, user-defined tokens": partial(in_llama_cpp, user_defined=True),
    }
    for name, run in runtimes.items():
        try:
            found = run(folder, kind, lines, shown)
        except ImportError as error:
            print(f"left out: {name} ({error})", flush=True)
            continue
        if found is None:
            continue
        ids, outputs = found
        same = [one == other for one, other in zip(ids, expected, strict=True)]
        every = zip(shown, outputs, wanted, strict=False)
        pairs = [(own, other) for place, own, other in every if same[place] and own is not None]
        results.add(
            placement=placement,
            runtime=name,
            same_with_words=sum(same[:half]),
            with_words=half,
            same_without=sum(same[half:]),
            without=len(lines) - half,
            outputs=len(pairs),
            difference=max((_relative(*pair) for pair in pairs), default=None),
        )
        print(results.rows[-1], flush=True)


def _relative(found: np.ndarray, wanted: np.ndarray) -> float:
    return float(np.linalg.norm(found - wanted) / np.linalg.norm(wanted))


@app.command()
def unchanged(
    text: TextOption,
    encoder: EncoderOption,
    causal: CausalOption,
    words: int = 1000,
    megabytes: Annotated[float, typer.Option(help="Of each text.")] = 45,
    out: Path = RESULTS / "unchanged.json",
) -> None:
    """Sentences that hold no taught word: are their token ids those of before?"""
    results = Results(out, "runtimes unchanged", None, texts=text, words=words, megabytes=megabytes)
    families = {
        "WordPiece, bundled model": partial(AutoTokenizer.from_pretrained, bundled_model()),
        f"WordPiece, {encoder.name}": partial(AutoTokenizer.from_pretrained, encoder),
        f"byte-level BPE, {causal.name}": partial(AutoTokenizer.from_pretrained, causal),
        "Unigram, trained for the tests": unigram,
    }
    for family, load in families.items():
        for placement in _PLACEMENTS:
            before, after = load(), load()
            taught = split_words(text, before, words, placement)
            add_entries(after, taught, placement, begin_other_words(taught))
            found, clock = Counter[str](), time.perf_counter()
            for block in (block for path in text for block in _until(1e6 * megabytes, path)):
                found.update(_difference(before, after, taught, block))
            counts = {name: found[name] for name in ("lines", "with_words", "differences")}
            results.add(family=family, placement=placement, words=len(taught), **counts)
            print(results.rows[-1], f"{time.perf_counter() - clock:.0f} s", flush=True)
    results.show()


def _difference(before: Any, after: Any, taught: Sequence[str], lines: Sequence[str]) -> Iterator[str]:
    """What to count for each line; one whose ids differ must hold a taught word."""
    encoded = []
    for tokenizer in (before.backend_tokenizer, after.backend_tokenizer):
        tokenizer.no_truncation()
        tokenizer.no_padding()
        encoded.append(tokenizer.encode_batch_fast(lines, add_special_tokens=False))
    for line, old, new in zip(lines, *encoded, strict=True):
        yield "lines"
        if old.ids != new.ids:
            if holds(taught, line):
                yield "with_words"
            else:
                yield "differences"
                print("differs without a word:", line, flush=True)


def _until(characters: float, path: Path) -> Iterator[list[str]]:
    """The first sentences of a text, many at once."""
    lines = sentences_of([path])
    while characters > 0 and (block := list(islice(lines, 20_000))):
        characters -= sum(map(len, block))
        yield block


def _embeddings(base: Path, words: Sequence[str]) -> WordEmbeddings:
    """For each word, the mean of its subwords: what the runtimes do with it is the question here."""
    lm = LanguageModel.from_pretrained(base)
    rows = [lm.embeddings[list(own)].float().mean(dim=0).cpu().numpy() for own in lm.tokens.subwords_of(words)]
    return WordEmbeddings(list(words), np.stack(rows))


if __name__ == "__main__":
    app()
