"""Data that others made: rare-word similarity, words from a few sentences, named entities.

    python -m experiments.tasks similarity DATA --set rw  --corpus CORPUS [--model MODEL]
    python -m experiments.tasks similarity DATA --set crw --corpus CRW_CORPUS [--model MODEL]
    python -m experiments.tasks chimeras   DATA --corpus CORPUS [--model MODEL]
    python -m experiments.tasks entities   DATA --set bc5cdr [--model MODEL]

DATA holds the folders similarity, unseen and ner. Settings are chosen on train or dev parts; nothing is chosen
on similarity.
"""

from pathlib import Path
from typing import Annotated, Literal

import torch
import typer

from experiments.common import Results
from experiments.tasks import chimeras as made_up
from experiments.tasks import entities as tagged
from experiments.tasks import similarity as rated
from rarewords import Corpus, LanguageModel
from rarewords.models import DEFAULT_MODEL
from rarewords.wnlampro.comparison import bootstrap_interval

RESULTS = Path(__file__).parent / "results"
_PAIRS = {"rw": "EN-RW-STANFORD.txt", "crw": "CRW-550.txt"}

app = typer.Typer(add_completion=False, help=__doc__)
CorpusOption = Annotated[Path, typer.Option(help="A corpus made by `rarewords corpus build`.")]
ContextsOption = Annotated[int, typer.Option(help="Of each word, at most.")]
QuickOption = Annotated[bool, typer.Option("--quick", help="A small part, to try the script.")]
OutOption = Annotated[Path | None, typer.Option(help="By default results/COMMAND-MODEL.json.")]


@app.command()
def similarity(
    data: Path,
    corpus: CorpusOption,
    pairs: Annotated[Literal["rw", "crw"], typer.Option("--set", help="Stanford RW or CRW-550.")] = "rw",
    model: str = DEFAULT_MODEL,
    contexts: ContextsOption = 16,
    quick: QuickOption = False,
    out: OutOption = None,
) -> None:
    """Stanford RW and CRW-550."""
    lm, opened = LanguageModel.from_pretrained(model), Corpus.open(corpus)
    given = rated.load(data / "similarity" / _PAIRS[pairs])[: 60 if quick else None]
    results = _results(f"similarity-{pairs}", lm, out, corpus=opened.key, contexts=contexts)
    missing = opened.find([word for first, second, _ in given for word in (first, second)]) < 0
    about = {"pairs": len(given), "missing": int(missing.reshape(-1, 2).any(1).sum())}
    found = rated.scores(lm, opened, given, 2 if quick else contexts)
    for way, columns in rated.compared(found, given).items():
        results.add(way=way, **about, **columns)
    results.show()


@app.command()
def chimeras(
    data: Path,
    corpus: CorpusOption,
    model: str = DEFAULT_MODEL,
    contexts: ContextsOption = 24,
    quick: QuickOption = False,
    out: OutOption = None,
) -> None:
    """Chimeras."""
    lm, opened = LanguageModel.from_pretrained(model), Corpus.open(corpus)
    results = _results("chimeras", lm, out, corpus=opened.key, contexts=contexts)
    folder = data / "unseen" / "chimeras"
    groups = {
        (sentences, part): made_up.load(folder / f"dataset.l{sentences}.fixed.{part}.txt")[: 4 if quick else None]
        for sentences in made_up.LENGTHS
        for part in made_up.PARTS
    }
    every = [one for group in groups.values() for one in group]
    for way, found in made_up.similarities(lm, opened, every, contexts):
        values, start = made_up.correlations(every, found), 0
        for (sentences, part), group in groups.items():
            own, start = values[start : start + len(group)], start + len(group)
            about = {"way": way, "part": part, "sentences": sentences, "items": len(group)}
            results.add(**about, spearman=own.mean(), within=bootstrap_interval(own))
    results.show()


@app.command()
def entities(
    data: Path,
    name: Annotated[Literal["wnut17", "ncbi-disease", "bc5cdr"], typer.Option("--set")],
    model: str = DEFAULT_MODEL,
    seed: Annotated[list[int] | None, typer.Option(help="0, 1 and 2 by default.")] = None,
    quick: QuickOption = False,
    out: OutOption = None,
) -> None:
    """Named entities."""
    lm, seeds = LanguageModel.from_pretrained(model), seed or [0, 1, 2]
    results = _results(f"entities-{name}", lm, out, seeds=seeds)
    tagged.measure(results, tagged.Tagging(data / "ner", name, quick), lm, seeds[: 1 if quick else None])
    results.show("way", "group", "entities", "words", "f1", "change", "interval")


def _results(command: str, lm: LanguageModel, out: Path | None, **settings: object) -> Results:
    torch.set_float32_matmul_precision("high")
    results = Results(out, f"tasks {command}", lm, **settings)
    results.out = out or RESULTS / f"{command}-{results.model}.json"
    return results


if __name__ == "__main__":
    app()
