"""``python -m experiments.mimicking.sample``: the part of a corpus that attentive mimicking needs, as plain text.

The words are the keywords of WNLaMPro, the words of one subword that occur often enough to learn from, and a sample of
those of several subwords, of frequent and rarer ones. The text has every sentence with one of the first contexts of a
keyword or a word of several subwords; words of one subword stand in many of them. The words that neither model nor
training knows are written alike, because nothing is read from them. ``counts.tsv`` has the counts of the whole corpus,
by which words are chosen and weighed.
"""

from collections.abc import Iterable
from pathlib import Path
from shutil import rmtree
from typing import Annotated

import numpy as np
import typer

from experiments.code import code_of, used_modules
from rarewords import Corpus, LanguageModel, wnlampro
from rarewords._internal.files import whole_folder, write_json
from rarewords._internal.progress import progress
from rarewords.corpus import characters as ch
from rarewords.corpus.corpus import SENTENCES_PER_BATCH
from rarewords.corpus.settings import CorpusSettings
from rarewords.corpus.text import split, word_hashes
from rarewords.models import DEFAULT_MODEL, shown_name

UNKNOWN = "zzzz"  # stands for every word that nothing is read from
_FREQUENT = 100
_MARKS = str.maketrans(dict.fromkeys('."\u201c\u201d', " "))  # these have no embedding
_LINES_AT_ONCE = 16 * SENTENCES_PER_BATCH


class SampledCorpus(Corpus):
    """A corpus of sampled text that counts words as the whole corpus does; some can be left out."""

    left_out: frozenset[str] = frozenset()
    _counts: dict[str, int]

    @classmethod
    def make(cls, sample: Path, out: Path) -> "SampledCorpus":
        """Build the corpus of a sample, or open it if it is there."""
        if not (out / "corpus.json").is_file():
            Corpus.build([sample / "text.txt"], out, CorpusSettings())
        corpus = cls.open(out)
        lines = (sample / "counts.tsv").read_text("utf-8").splitlines()
        corpus._counts = {word: int(count) for word, count, _ in (line.split("\t") for line in lines)}
        return corpus

    def without(self, words: Iterable[str]) -> "SampledCorpus":
        """The corpus as if these words were not counted."""
        corpus = SampledCorpus(self.path, self.header)
        corpus._counts, corpus.left_out = self._counts, frozenset(words)
        return corpus

    def counts(self, min_count: int = 1) -> tuple[list[str], np.ndarray]:
        """Words and their counts in the whole corpus, highest first."""
        every = [one for one in self._counts.items() if one[1] >= min_count and one[0] not in self.left_out]
        return [word for word, _ in every], np.array([count for _, count in every], dtype=np.int64)


def main(
    corpus: Annotated[Path, typer.Option(help="A corpus made by `rarewords corpus build`.")],
    out: Annotated[Path, typer.Option(help="The folder of the sample.")],
    model: str = DEFAULT_MODEL,
    min_count: Annotated[int, typer.Option(help="Of a word to learn from.")] = 7,
    most: Annotated[
        int, typer.Option(help="Words of several subwords to sample: so many frequent and so many rarer ones.")
    ] = 40_000,
    limit: Annotated[int | None, typer.Option(help="At most so many entries of dev and of test.")] = None,
    contexts: Annotated[int, typer.Option(help="Contexts of a word that the text has at least.")] = 64,
    seed: int = 0,
) -> None:
    """Write ``text.txt`` and ``counts.tsv``."""
    if (out / "about.json").is_file():
        rmtree(out)  # an earlier sample
    lm, opened = LanguageModel.from_pretrained(model, device="cpu"), Corpus.open(corpus)
    words, counts = opened.counts(min_count)
    parts = np.array([len(ids) for ids in lm.tokens.subwords_of(words)])
    several, frequent = parts > 1, counts >= _FREQUENT
    rng = np.random.default_rng(seed)
    kinds = [rng.permutation(np.flatnonzero(several & rows))[:most] for rows in (~frequent, frequent)]
    chosen = np.sort(np.concatenate([np.flatnonzero(~several), *kinds]))
    in_text = np.zeros(len(words), np.int64)
    in_text[chosen] = 1
    entries = (entry for subset in ("dev", "test") for entry in wnlampro.load().select(subset=subset, limit=limit))
    learned = [words[place] for kind in kinds for place in kind.tolist()]
    wanted = list(dict.fromkeys([*learned, *(entry.word.text for entry in entries)]))
    limits = {True: contexts // 3, False: contexts}  # frequent words also stand in sentences of others
    often = [opened.count(word) >= _FREQUENT for word in wanted]
    groups = {kind: [word for word, yes in zip(wanted, often, strict=True) if yes == kind] for kind in limits}
    rows = np.unique(np.concatenate([opened.references(groups[kind], limits[kind])[1] for kind in limits]))
    known = np.unique(word_hashes([*wanted, *lm.tokens.one_subword]))
    with whole_folder(out) as folder:
        write_json(folder / "about.json", {"model": shown_name(lm.name), **code_of(used_modules())})
        lines = map("{}\t{}\t{}".format, words, counts.tolist(), in_text.tolist())
        (folder / "counts.tsv").write_text("\n".join(lines) + "\n", "utf-8")
        with (
            (folder / "text.txt").open("w", encoding="utf-8", newline="\n") as stream,
            progress("Writing sentences", total=len(rows), unit="sentences") as bar,
        ):
            for first in range(0, len(rows), _LINES_AT_ONCE):
                texts = opened.sentences(rows[first : first + _LINES_AT_ONCE])
                stream.write(_plain("\n".join(texts), known))
                bar.advance(len(texts))


def _plain(text: str, known: np.ndarray) -> str:
    """Lines of words and marks between spaces, in lower case; what is not known is written alike."""
    found = split(text, lower_case=True, sentences=False)
    folded, good = ch.fold(found.text), np.isin(found.hashes, known)
    pieces, end = list[str](), 0
    for start, stop, kept in zip(found.starts.tolist(), found.ends.tolist(), good.tolist(), strict=True):
        joined = kept and start == end and folded[start] == "'"  # the 's of dog's: alone it is another word
        pieces += ["" if joined else _spaced(folded[end:start]), folded[start:stop] if kept else UNKNOWN]
        end = stop
    lines = "".join([*pieces, _spaced(folded[end:])]).split("\n")
    return "".join(" ".join(line.split()) + "\n" for line in lines)


def _spaced(marks: str) -> str:
    return f" {' '.join(marks.translate(_MARKS))} "


if __name__ == "__main__":
    typer.run(main)
