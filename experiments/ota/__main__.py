"""One-token approximation: what one embedding keeps of the subwords, and how many steps that takes.

    python -m experiments.ota answers [--model MODEL] [--plan "steps=50" ...] [--paper-steps 4000]
    python -m experiments.ota steps [--model MODEL] [--steps 50 --steps 100 ...] [--paper-steps 4000]
    python -m experiments.ota kept SUBWORDS.json.gz EMBEDDINGS.json.gz

``answers``: the share of the first ten answers about nouns of WNLaMPro dev that stay the same, by preset
``fast``, with changes to it, and by the baselines. ``steps``: WNLaMPro with one embedding for every keyword of
several subwords. ``kept``: of what the first result answers at rank 1 to 3, how much does the second keep? Both
are files of ``rarewords wnlampro eval``. The choice of entries favours the first result, which answers some of
them by chance; the last row exchanges the two.

On a GPU, matrix products are in TF32 for all searches alike; ranks are computed in full precision.
"""

import time
import tomllib
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from experiments.common import Results, with_interval
from experiments.ota.behaviour import answer_overlap, held_out_distance
from experiments.paper.experiment import tf32
from rarewords import LanguageModel, OtaSettings, one_token_approximation, wnlampro
from rarewords.models import DEFAULT_MODEL
from rarewords.ota.settings import BASELINES
from rarewords.wnlampro.comparison import check_comparable
from rarewords.wnlampro.dataset import BANDS, RELATIONS, Dataset
from rarewords.wnlampro.probing import EvalSettings
from rarewords.wnlampro.result import ProbeResult

RESULTS = Path(__file__).parent / "results"
_SAMPLES = 2000

app = typer.Typer(add_completion=False, help=__doc__)
PaperOption = Annotated[int, typer.Option(help="Steps of preset `paper`; 0 leaves it out.")]
OutOption = Annotated[Path | None, typer.Option(help="By default results/COMMAND-MODEL.json.")]


@app.command()
def answers(
    model: str = DEFAULT_MODEL,
    plan: Annotated[list[str] | None, typer.Option(help="Changes to preset `fast`, as TOML.")] = None,
    paper_steps: PaperOption = 4000,
    words: Annotated[int, typer.Option(help="How many nouns of 2 to 4 subwords.")] = 200,
    out: OutOption = None,
) -> None:
    """The same answers with one embedding as with the subwords."""
    lm = LanguageModel.from_pretrained(model)
    nouns = dev_nouns(lm, words)
    results = _results("answers", lm, out, words=len(nouns), paper_steps=paper_steps)
    settings = {"fast": OtaSettings()}
    settings |= {one: OtaSettings(**tomllib.loads(f"plan = {{{one}}}")["plan"]) for one in plan or ()}
    if paper_steps:
        settings["paper"] = OtaSettings.preset("paper", steps=paper_steps)
    first: np.ndarray | None = None
    for way in (*settings, *BASELINES):
        started = time.perf_counter()
        with tf32():
            method = way if way in BASELINES else "ota"
            embeddings = one_token_approximation(lm, nouns, settings.get(way), method=method).embeddings
        seconds = time.perf_counter() - started
        overlap = answer_overlap(lm, nouns, embeddings)
        first = overlap if first is None else first
        distance = float(held_out_distance(lm, nouns, embeddings).mean())
        found = {"overlap": overlap.mean(), **with_interval(overlap - first)}
        results.add(way=way, **found, held_out_distance=distance, seconds=seconds)
    results.show()


@app.command()
def steps(
    model: str = DEFAULT_MODEL,
    steps: Annotated[list[int] | None, typer.Option(help="Of preset `fast`; 100 by default.")] = None,
    paper_steps: PaperOption = 0,
    subset: Annotated[str, typer.Option(help="dev or test.")] = "dev",
    limit: int | None = None,
    out: OutOption = None,
) -> None:
    """WNLaMPro with one embedding by the number of steps."""
    lm = LanguageModel.from_pretrained(model)
    dataset = Dataset(wnlampro.load().select(subset=subset, limit=limit))
    words = list(dict.fromkeys(entry.word.text for entry in dataset))
    results = _results("steps", lm, out, subset=subset, limit=limit)
    before = wnlampro.evaluate(lm, dataset)
    searches = [(f"fast, {number} steps", OtaSettings(steps=number)) for number in steps or [100]]
    if paper_steps:
        searches.append((f"paper, {paper_steps} steps", OtaSettings.preset("paper", steps=paper_steps)))
    for way, settings in searches:
        started = time.perf_counter()
        with tf32():
            embeddings = one_token_approximation(lm, words, settings).embeddings
        seconds = time.perf_counter() - started
        how = EvalSettings(method="embeddings")
        after = wnlampro.evaluate(lm, dataset, how, embeddings=embeddings)
        for relation, band in after.cells:
            rows = after.chosen(relation, band)
            means = {"subwords": before.reciprocal[rows].mean(), "mrr": after.reciprocal[rows].mean()}
            change = with_interval((after.reciprocal - before.reciprocal)[rows])
            about = {"way": way, "relation": relation, "frequency": band, "entries": int(rows.sum())}
            results.add(**about, **means, **change, words=len(embeddings), seconds=seconds)
    results.show(where={"relation": ("all",)})


@app.command()
def kept(
    first: Path,
    second: Path,
    model: Annotated[str, typer.Option(help="Whose tokenizer splits the keywords.")] = DEFAULT_MODEL,
    rank: Annotated[int, typer.Option(help="The worst rank that counts as answered.")] = 3,
    out: OutOption = None,
) -> None:
    """The share of the first result's score that the second keeps."""
    lm = LanguageModel.from_pretrained(model, device="cpu")
    one, other = ProbeResult.load(first), ProbeResult.load(second)
    check_comparable([one, other])
    results = _results("kept", lm, out, first=one.label, second=other.label, rank=rank)
    several = np.array([len(own) > 1 for own in lm.tokens.subwords_of(list(one.word))])
    cells = [("all", band) for band in (*BANDS, "all")] + [(relation, "all") for relation in RELATIONS]
    for relation, band in cells:
        rows = several & one.chosen(relation, band) & _answered(one, rank)
        if rows.any():
            about = {"answered by": one.label, "relation": relation, "frequency": band}
            results.add(**about, **kept_share(one.reciprocal[rows], other.reciprocal[rows]))
    rows = several & _answered(other, rank)
    about = {"answered by": other.label, "relation": "all", "frequency": "all"}
    results.add(**about, **kept_share(other.reciprocal[rows], one.reciprocal[rows]))
    results.show()


def dev_nouns(lm: LanguageModel, number: int) -> list[str]:
    """Nouns of WNLaMPro dev that have 2 to 4 subwords, evenly spread over the alphabet."""
    entries = wnlampro.load().select(subset="dev")
    words = {entry.word.text for entry in entries if entry.relation in ("hypernym", "cohyponym")}
    nouns = [word for word in sorted(words) if 2 <= len(lm.subwords(word)) <= 4]
    return nouns[:: max(1, len(nouns) // number)][:number]


def kept_share(chosen: np.ndarray, other: np.ndarray) -> dict[str, object]:
    """The mean of both results and the share that ``other`` keeps, as columns. *Shapes:* (entries,), (entries,)"""
    drawn = np.random.default_rng(0).integers(len(chosen), size=(_SAMPLES, len(chosen)))
    interval = np.quantile(other[drawn].mean(axis=1) / chosen[drawn].mean(axis=1), (0.025, 0.975))
    means = {"mrr": chosen.mean(), "mrr_other": other.mean()}
    return {"entries": len(chosen), **means, "kept": other.mean() / chosen.mean(), "interval": interval}


def _answered(result: ProbeResult, rank: int) -> np.ndarray:
    """Which entries have a target among the first answers. *Shape:* (entries,)"""
    return (result.rank > 0) & (result.rank <= rank)


def _results(command: str, lm: LanguageModel, out: Path | None, **settings: object) -> Results:
    results = Results(out, f"ota {command}", lm, **settings)
    results.out = out or RESULTS / f"{command}-{results.model}.json"
    return results


if __name__ == "__main__":
    app()
