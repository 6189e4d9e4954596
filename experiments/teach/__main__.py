"""What `rarewords teach` is worth on a masked LM: invented words, and real words of WNLaMPro.

    python -m experiments.teach invented [--model MODEL] [--placement replace]
    python -m experiments.teach words --corpus CORPUS [--model MODEL]

``invented``: thirty words that no model has met (tests/data/invented), 12 or 13 sentences each, are taught and
then asked about with WNLaMPro's hypernym patterns. Settings may be chosen on the first half of the words; the
second half is for reporting.

``words``: keywords of WNLaMPro that the model splits and the corpus has are taught as a user would teach them,
and the model is asked about all of them before and after. Skipped words count, too.
"""

from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import typer

from experiments.common import INVENTED, Results, invented_sentences, with_interval
from rarewords import Corpus, LanguageModel, Query, TeachResult, TeachSettings, teach, wnlampro
from rarewords.injection.taught import taught_tokens
from rarewords.models import DEFAULT_MODEL
from rarewords.tokens import Placement
from rarewords.wnlampro.dataset import BANDS, RELATIONS, AnnotatedWord, Dataset, Entry, band_of, patterns_for

RESULTS = Path(__file__).parent / "results"
Subset = Literal["dev", "test"]

app = typer.Typer(add_completion=False, help=__doc__)
PlacementOption = Annotated[Placement, typer.Option(help="append or replace.")]
AllOption = Annotated[bool, typer.Option("--keep-all", help="Teach words that do worse, too.")]
OutOption = Annotated[Path | None, typer.Option(help="By default results/COMMAND-MODEL.json.")]


@app.command()
def invented(
    model: str = DEFAULT_MODEL,
    placement: PlacementOption = "append",
    keep_all: AllOption = False,
    words: Annotated[int, typer.Option(help="Only N words, to try the script.")] = 30,
    out: OutOption = None,
) -> None:
    """Thirty invented words."""
    data = Dataset(invented_entries().entries[:words], "the invented words")
    settings = TeachSettings(placement=placement, keep_all=keep_all)
    lm = LanguageModel.from_pretrained(model)
    results = Results(out, "teach invented", lm, words=words, teach=settings)
    results.out = out or RESULTS / f"invented-{placement}-{results.model}.json"
    names = [entry.word.text for entry in data]
    sentences = [line for name in names for line in invented_sentences()[name]]
    done = teach(lm, texts=sentences, words=names, settings=settings)
    ranks = [wnlampro.evaluate(one, data).rank for one in (lm, done.language_model)]
    about = {"words_taught": len(done.taught), "answers_taught": share_of_taught_answers(done, names)}
    for half, subset in (("choose", "dev"), ("held", "test")):
        rows = np.array([entry.subset == subset for entry in data])
        if rows.any():
            (before, first), (after, then) = (_figures(rank[rows]) for rank in ranks)
            means = {"mrr_before": before.mean(), "mrr_after": after.mean()}
            first_three = {"first_three_before": first, "first_three_after": then}
            row = {**means, **with_interval(after - before), **first_three, **about}
            results.add(half=half, words=int(rows.sum()), **row)
    results.show()


@app.command()
def words(
    corpus: Annotated[Path, typer.Option(help="A corpus made by `rarewords corpus build`.")],
    model: str = DEFAULT_MODEL,
    subset: Subset = "test",
    number: Annotated[int, typer.Option(help="How many words, evenly spread over the alphabet.")] = 250,
    min_count: int = 10,
    placement: PlacementOption = "append",
    keep_all: AllOption = False,
    out: OutOption = None,
) -> None:
    """Keywords of WNLaMPro."""
    lm, opened = LanguageModel.from_pretrained(model), Corpus.open(corpus)
    settings = TeachSettings(placement=placement, keep_all=keep_all)
    about: dict[str, Any] = {"corpus": opened.key, "subset": subset, "number": number, "teach": settings}
    results = Results(out, "teach words", lm, min_count=min_count, **about)
    results.out = out or RESULTS / f"words-{subset}-{corpus.stem}-{results.model}.json"
    entries = [entry for entry in wnlampro.load().select(subset=subset) if entry.relation != "corruption"]
    chosen = keywords(lm, opened, entries, min_count, number)
    done = teach(lm, texts=opened, words=chosen, settings=settings)
    taught = {one.word for one in done.taught}
    data = Dataset(tuple(entry for entry in entries if entry.word.text in set(chosen)))
    before, after = (wnlampro.evaluate(one, data).reciprocal for one in (lm, done.language_model))
    relation = np.array([entry.relation for entry in data])
    band = np.array([band_of(entry.word.count) for entry in data])
    groups = {"all": relation != "", "taught": np.array([entry.word.text in taught for entry in data])}
    groups |= {f"{name} {one}": (relation == name) & (band == one) for name in RELATIONS for one in BANDS}
    for name, rows in groups.items():
        if rows.any():
            of = {data.entries[row].word.text for row in np.flatnonzero(rows)}
            means = {"mrr_before": before[rows].mean(), "mrr_after": after[rows].mean()}
            counts = {"words": len(of), "taught": len(of & taught), "entries": int(rows.sum())}
            results.add(group=name, **counts, **means, **with_interval((after - before)[rows]))
    results.show()


def invented_entries() -> Dataset:
    """The invented words as a data set: *dev* is the half to choose settings on, *test* the other."""
    entries = []
    for number, line in enumerate((INVENTED / "words.tsv").read_text("utf-8").splitlines()):
        if not line.startswith("#"):
            word, half, kinds = line.split("\t")
            targets = tuple(AnnotatedWord(name, "n", 0.0, 0) for name in kinds.split())
            subset = "dev" if half == "choose" else "test"
            entries.append(Entry(str(number), subset, AnnotatedWord(word, "n", 0.0, 0), "hypernym", targets))
    return Dataset(tuple(entries), "the invented words")


def share_of_taught_answers(done: TeachResult, words: list[str]) -> float:
    """The share of questions about words that a taught word is among the first hundred answers to."""
    lm = done.language_model
    queries = [Query(pattern, word) for word in words for pattern in patterns_for("hypernym", word)]
    new = [token for ids in taught_tokens(lm.model, lm.tokenizer).values() for token in ids]
    return float(np.isin(lm.fill(queries, top_k=100).ids, new).any(axis=1).mean())


def keywords(lm: LanguageModel, corpus: Corpus, entries: list[Entry], min_count: int, number: int) -> list[str]:
    """Keywords that the corpus has often enough and the model splits."""
    frequent = set(corpus.counts(min_count)[0])
    words = sorted({entry.word.text for entry in entries} & frequent)
    split = [word for word, own in zip(words, lm.tokens.subwords_of(words), strict=True) if len(own) > 1]
    return split[:: max(1, len(split) // number)][:number]


def _figures(rank: np.ndarray) -> tuple[np.ndarray, float]:
    """Reciprocal ranks, and the share of words with a target among the first three answers."""
    found = rank > 0
    return np.where(found, 1 / np.maximum(rank, 1), 0), float((found & (rank <= 3)).mean())


if __name__ == "__main__":
    app()
