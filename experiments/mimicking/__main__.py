"""What attentive mimicking depends on: AM+context with one thing changed at a time, on WNLaMPro.

    python -m experiments.mimicking --corpus CORPUS [--model MODEL] [--targets OTA.safetensors]
        [--plan "learning_rate=0.003" --plan "contexts_min=1" ...] [--smaller CORPUS]

A plan changes settings of preset ``am+context``, as TOML; each is trained with every seed. The length of the
embeddings and the number of contexts of the words to learn need no training of their own. ``--smaller`` adds a
row trained on another, smaller corpus, and one in which only the words to learn are read from it. Every row is
compared with AM+context, entry by entry, by the mean reciprocal rank over seeds. Without ``--targets`` the
approximations that ship with the bundled mimic model are used.
"""

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from experiments.common import Results, with_interval
from experiments.paper.experiment import tf32
from rarewords import AttentiveMimicking, Corpus, LanguageModel, WordEmbeddings, wnlampro
from rarewords.embeddings import open_embeddings
from rarewords.learner.settings import bundled_mimic
from rarewords.mimic.batches import PreparedContexts
from rarewords.mimic.settings import preset
from rarewords.models import DEFAULT_MODEL
from rarewords.wnlampro.dataset import BANDS, Dataset
from rarewords.wnlampro.probing import EvalSettings
from rarewords.wnlampro.result import ProbeResult

RESULTS = Path(__file__).parent / "results"
BASE = "AM+context"
PLANS = (
    "learning_rate=0.003",
    "learning_rate=0.02",
    "contexts_min=1",
    "ngram_threshold=2",
    "form_dropout=0.3",
    "epochs=10",
)
LENGTHS, CONTEXTS = (1.0, 1.4), (1, 4, 16)  # of AM+context


def main(
    corpus: Annotated[Path, typer.Option(help="A corpus made by `rarewords corpus build`.")],
    model: str = DEFAULT_MODEL,
    targets: Annotated[Path | None, typer.Option(help="Embeddings made by `rarewords ota`.")] = None,
    plan: Annotated[list[str] | None, typer.Option(help="Instead of the plans of this file.")] = None,
    smaller: Annotated[Path | None, typer.Option(help="Another corpus.")] = None,
    contexts: Annotated[int, typer.Option(help="Of a word, in training and after.")] = 32,
    copies: Annotated[int, typer.Option(help="Training instances of a word and epoch, at most.")] = 5,
    epochs: int = 5,
    subset: Annotated[str, typer.Option(help="dev or test.")] = "dev",
    limit: int | None = None,
    seed: Annotated[list[int] | None, typer.Option(help="0 and 1 by default.")] = None,
    out: Annotated[Path | None, typer.Option(help="By default results/MODEL.json.")] = None,
) -> None:
    """Train every plan and ask WNLaMPro."""
    lm, opened = LanguageModel.from_pretrained(model), Corpus.open(corpus)
    dataset = Dataset(wnlampro.load().select(subset=subset, limit=limit))
    words = list(dict.fromkeys(entry.word.text for entry in dataset))
    usual = preset("am+context", contexts_max=contexts, copies_max=copies, epochs=epochs)
    plans = {one: replace(usual, **tomllib.loads(f"plan = {{{one}}}")["plan"]) for one in plan or PLANS}
    plans = {BASE: usual, **plans, "without OTA targets": usual}
    least = min(settings.min_count for settings in plans.values())
    approximated = given_targets(lm, targets)
    seeds = seed or [0, 1]
    about = {"corpus": opened.key, "contexts": contexts, "copies": copies, "epochs": epochs, "seeds": seeds}
    results = Results(out, "mimicking", lm, subset=subset, limit=limit, **about)
    results.out = out or RESULTS / f"{results.model}.json"

    def prepare(text: Corpus) -> PreparedContexts:
        return PreparedContexts(text, list(dict.fromkeys([*text.counts(least)[0], *words])), contexts)

    def fit(name: str, number: int, text: Corpus, prepared: PreparedContexts) -> AttentiveMimicking:
        given = None if name == "without OTA targets" else approximated
        settings = replace(plans[name], seed=number)
        with tf32():  # ranks are computed in full precision
            return AttentiveMimicking.fit(lm, text, given, settings, prepared=prepared)

    def ask(mimic: AttentiveMimicking, prepared: PreparedContexts) -> ProbeResult:
        embeddings = mimic.learn_words(words, opened, prepared=prepared).embeddings
        return wnlampro.evaluate(lm, dataset, EvalSettings(method="embeddings"), embeddings=embeddings)

    prepared = prepare(opened)
    small = Corpus.open(smaller) if smaller else None
    of_small = prepare(small) if small else None
    found: dict[str, list[ProbeResult]] = {}
    for number in seeds:
        runs: dict[str, ProbeResult] = {}
        for name in plans:
            mimic = fit(name, number, opened, prepared)
            runs[name] = ask(mimic, prepared)
            if name == BASE:
                for length in LENGTHS:
                    scaled = replace(mimic, settings=replace(mimic.settings, scale=length))
                    runs[f"length {length:g}"] = ask(scaled, prepared)
                for few in CONTEXTS:
                    runs[f"{few} contexts of a word to learn"] = ask(
                        mimic, PreparedContexts(opened, words, few)
                    )
                if small and of_small:
                    runs["words to learn from the smaller text"] = ask(mimic, of_small)
                    runs["trained on the smaller text"] = ask(fit(BASE, number, small, of_small), prepared)
        for name, run in runs.items():
            found.setdefault(name, []).append(run)
    for name, own in {"subwords": [wnlampro.evaluate(lm, dataset)], **found}.items():
        results.add(row=name, **compared(own, found[BASE]))
    results.show()


def given_targets(lm: LanguageModel, path: Path | None) -> WordEmbeddings | None:
    """Approximations from a file, or those of the mimic model that ships."""
    if path is not None:
        return open_embeddings(path)
    return AttentiveMimicking.from_pretrained(bundled_mimic(lm.fingerprint), lm).targets


def compared(found: list[ProbeResult], base: list[ProbeResult]) -> dict[str, object]:
    """Means over seeds by frequency, and the difference from AM+context, as columns."""
    values, before = (np.mean([one.reciprocal for one in runs], axis=0) for runs in (found, base))
    bands = {band: found[0].chosen("all", band) for band in BANDS}
    means = {band: values[rows].mean() for band, rows in bands.items() if rows.any()}
    spread = float(np.std([one.mrr for one in found], ddof=1)) if len(found) > 1 else None
    return {"mrr": values.mean(), **means, **with_interval(values - before), "deviation": spread}


if __name__ == "__main__":
    typer.run(main)
