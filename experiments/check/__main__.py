"""Does the held-out check know which words teaching helps? Its rule is fitted and tested here.

    python -m experiments.check collect --corpus CORPUS --subset dev --words 600 --out LABELLED.jsonl
    python -m experiments.check fit LABELLED.jsonl ... --test LABELLED.jsonl --test ...
    python -m experiments.check cells LABELLED.jsonl ...

``collect`` takes keywords of WNLaMPro that the model splits and the corpus has (rare, medium and frequent in
turn), learns each from at most 4, 8 or 16 contexts, checks it as ``teach`` does, and asks WNLaMPro with its
subwords and with its embedding behind them. Each line has a word, its features, and the relation and the
reciprocal ranks before and after of each of its entries. A word of both sets is left out.

``fit`` fits the logistic rule and reports, for each file, the area under the curve for the sign of the change
(words that do not change count neither way), and what is gained and lost if the rule decides.

``cells`` shows the change by relation and frequency, with the rule that ships.
"""

import json
import zlib
from collections.abc import Iterator
from dataclasses import asdict, astuple, fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import numpy as np
import typer

from experiments.common import Results, with_interval
from rarewords import Corpus, LanguageModel, TeachSettings, WordEmbeddings, wnlampro
from rarewords._internal.cache import Cache
from rarewords.models import DEFAULT_MODEL
from rarewords.teaching.candidates import check_for, learn_and_check
from rarewords.teaching.check import _RULE as RULE
from rarewords.teaching.check import Features
from rarewords.teaching.holdout import hold_out
from rarewords.teaching.learners import learner_for
from rarewords.teaching.report import WordReport
from rarewords.tokens import Placement
from rarewords.wnlampro.dataset import BANDS, Dataset, Entry, band_of
from rarewords.wnlampro.probing import EvalSettings

RESULTS = Path(__file__).parent / "results"
RELATIONS = ("antonym", "hypernym", "cohyponym")
CONTEXTS = (4, 8, 16)
_AT_ONCE = 48
_PENALTY = 3.0  # of the squared weights of features in units of their deviation
_SAME = 1e-9
_WRONG = 1 / 3  # the mean reciprocal rank below which the subwords answer wrongly
_LITTLE = 0.05  # a loss of the mean reciprocal rank
Line = dict[str, Any]

app = typer.Typer(add_completion=False, help=__doc__)


@app.command()
def collect(
    corpus: Annotated[Path, typer.Option(help="A corpus made by `rarewords corpus build`.")],
    out: Annotated[Path, typer.Option(help="The file to add lines to; words that it has are skipped.")],
    model: str = DEFAULT_MODEL,
    subset: Annotated[str, typer.Option(help="dev or test.")] = "dev",
    words: int = 600,
    placement: Placement = "append",
) -> None:
    """Label words with their true change."""
    lm, opened = LanguageModel.from_pretrained(model), Corpus.open(corpus)
    count = dict(zip(*opened.counts(3), strict=True))
    entries = keywords(lm, count, subset)
    done = {line["word"] for line in read(out)} if out.exists() else set()
    left = [word for word in in_turn(entries)[:words] if word not in done]
    settings = TeachSettings(placement=placement)
    learner, _ = learner_for(lm, lm, None, opened, placement)
    check = check_for(lm, lm, settings.placement or "append", settings, listed=False)
    for start in range(0, len(left), _AT_ONCE):
        holdouts = []
        for word in left[start : start + _AT_ONCE]:
            contexts = CONTEXTS[zlib.crc32(word.encode()) // 7 % len(CONTEXTS)]
            holdouts += hold_out(opened, {word: int(count[word])}, TeachSettings(contexts=contexts))
        with TemporaryDirectory() as folder:
            reports, embeddings = learn_and_check(lm, learner, check, holdouts, Cache(Path(folder)))
        checked = [one for one in reports if one.check is not None]
        with out.open("a", encoding="utf-8") as stream:
            stream.writelines(json.dumps(line) + "\n" for line in labelled(lm, checked, embeddings, entries, placement))
        typer.echo(f"{start + len(holdouts)} of {len(left)} words")


@app.command()
def fit(
    files: list[Path],
    test: Annotated[list[Path] | None, typer.Option(help="Words that the rule is not fitted on.")] = None,
    out: Path = RESULTS / "fit.json",
) -> None:
    """Fit the rule, and test it and the one that ships."""
    known = [line for path in files for line in read(path)]
    weights = fitted(known)
    names = ["intercept", *(field.name for field in fields(Features))]
    shown = dict(zip(names, weights.round(3).tolist(), strict=True))
    results = Results(out, "check fit", None, files=files, words=len(known), weights=shown)
    typer.echo(json.dumps(shown))
    results.add(words="these, a fifth left out", **measures(known, crossed(known)))
    for path in test or ():
        lines = read(path)
        results.add(words=path.stem, **measures(lines, probabilities(weights, lines)))
        results.add(words=f"{path.stem}, as shipped", **measures(lines, as_shipped(lines)))
    results.show()


@app.command()
def cells(files: list[Path], out: Path = RESULTS / "cells.json") -> None:
    """The change of the mean reciprocal rank by relation and frequency, with the rule that ships."""
    results = Results(out, "check cells", None, files=files)
    for path in files:
        lines = read(path)
        allowed = taught(lines, as_shipped(lines))
        for relation in RELATIONS:
            for band in BANDS:
                ranks = [
                    (before, after if allowed[row] else before)
                    for row, line in enumerate(lines)
                    for name, before, after in line["entries"]
                    if line["band"] == band and name == relation
                ]
                if ranks:
                    before, after = np.array(ranks).T
                    about = {"words": path.stem, "relation": relation, "frequency": band}
                    means = {"before": before.mean(), "after": after.mean()}
                    results.add(**about, entries=len(ranks), **means, **with_interval(after - before))
    results.show()


def keywords(lm: LanguageModel, count: dict[str, int], subset: str) -> dict[str, list[Entry]]:
    """The entries of each keyword that can be taught, without words that the other set has too."""
    entries: dict[str, list[Entry]] = {}
    others = set()
    for entry in wnlampro.load():
        if entry.relation not in RELATIONS:
            continue
        if entry.subset != subset:
            others.add(entry.word.text)
        elif entry.word.text in count:
            entries.setdefault(entry.word.text, []).append(entry)
    words = sorted(set(entries) - others, key=lambda word: zlib.crc32(word.encode()))
    split = zip(words, lm.tokens.subwords_of(words), strict=True)
    return {word: entries[word] for word, subwords in split if len(subwords) > 1}


def in_turn(entries: dict[str, list[Entry]]) -> list[str]:
    """Rare, medium and frequent words in turn."""
    groups = [[word for word in entries if band_of(entries[word][0].word.count) == name] for name in BANDS]
    longest = max(map(len, groups))
    return [group[at] for at in range(longest) for group in groups if at < len(group)]


def labelled(
    lm: LanguageModel,
    checked: list[WordReport],
    embeddings: WordEmbeddings,
    entries: dict[str, list[Entry]],
    placement: Placement,
) -> Iterator[Line]:
    """A line for each word."""
    words = [one.word for one in checked]
    data = Dataset(tuple(entry for word in words for entry in entries[word]))
    how = EvalSettings(method="embeddings", placement=placement)
    old = wnlampro.evaluate(lm, data)
    new = wnlampro.evaluate(lm, data, how, embeddings=embeddings.subset(words))
    for one in checked:
        assert one.check is not None
        assert one.check.features is not None
        rows = [row for row, word in enumerate(old.word) if word == one.word]
        yield {
            "word": one.word,
            "band": band_of(entries[one.word][0].word.count),
            "placement": placement,
            "contexts": one.contexts,
            "gain": round(one.check.gain, 4),
            "features": {name: round(value, 4) for name, value in asdict(one.check.features).items()},
            "entries": [
                (old.relation[row], *(round(float(found.reciprocal[row]), 4) for found in (old, new))) for row in rows
            ],
        }


def read(path: Path) -> list[Line]:
    """The lines of a file of ``collect``."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def values(lines: list[Line]) -> np.ndarray:
    """The features, with one for the intercept. *Shape:* (words, 5)"""
    features = np.array([astuple(Features(**line["features"])) for line in lines])
    features[:, 0] = features[:, 0].clip(-RULE["most_errors"], RULE["most_errors"])
    return np.c_[np.ones(len(features)), features]


def scores(lines: list[Line]) -> np.ndarray:
    """The mean reciprocal rank of each word with its subwords and with its embedding. *Shape:* (2, words)"""
    return np.array([np.mean([ranks for _, *ranks in line["entries"]], axis=0) for line in lines]).T


def taught(lines: list[Line], probability: np.ndarray) -> np.ndarray:
    """Which words the check lets through. *Shape:* (words,)"""
    errors = np.array([line["features"]["errors"] for line in lines])
    return (probability >= RULE["worse"]) & (errors >= -1)


def fitted(lines: list[Line]) -> np.ndarray:
    """Logistic regression on the words that change, by Newton's method. *Shape:* (5,)"""
    before, after = scores(lines)
    moved = np.abs(after - before) > _SAME
    x, y = values(lines)[moved], (after > before)[moved].astype(float)
    mean, deviation = x.mean(0), x.std(0)
    mean[0], deviation[0] = 0.0, 1.0
    x = (x - mean) / deviation
    penalty = np.diag([0.0] + [_PENALTY] * (x.shape[1] - 1))
    weights = np.zeros(x.shape[1])
    for _ in range(50):
        p = 1 / (1 + np.exp(-x @ weights))
        slope = x.T @ (p - y) + penalty @ weights
        weights -= np.linalg.solve((x * (p * (1 - p))[:, None]).T @ x + penalty, slope)
    plain = weights / deviation
    plain[0] -= (plain[1:] * mean[1:]).sum()
    return plain


def probabilities(weights: np.ndarray, lines: list[Line]) -> np.ndarray:
    """By these weights. *Shape:* (words,)"""
    return 1 / (1 + np.exp(-values(lines) @ weights))


def as_shipped(lines: list[Line]) -> np.ndarray:
    """By the weights of the package. *Shape:* (words,)"""
    return np.array([Features(**line["features"]).probability for line in lines])


def crossed(lines: list[Line]) -> np.ndarray:
    """The probability of each word by a rule fitted without it and a fifth of the others. *Shape:* (words,)"""
    result = np.zeros(len(lines))
    for part in range(5):
        weights = fitted([line for at, line in enumerate(lines) if at % 5 != part])
        result[part::5] = probabilities(weights, lines[part::5])
    return result


def area(scores: np.ndarray, better: np.ndarray) -> float:
    """The area under the curve: how often a word that gets better scores above one that gets worse."""
    up, down = scores[better][:, None], scores[~better][None, :]
    return float((up > down).mean() + (up == down).mean() / 2)


def measures(lines: list[Line], probability: np.ndarray) -> dict[str, Any]:
    """What the rule knows, beside the gain alone and an oracle that knows the subwords' true score; and what
    it does."""
    before, after = scores(lines)
    change, gain = after - before, np.array([line["gain"] for line in lines])
    moved, chosen, wrong = np.abs(change) > _SAME, taught(lines, probability), before < _WRONG
    areas = [area(score[moved], change[moved] > 0) for score in (probability, gain, -before)]
    return {
        "number": len(lines),
        **dict(zip(("auc", "auc_gain_alone", "auc_oracle"), areas, strict=True)),
        "mrr_before": before.mean(),
        "mrr_after": (before + change * chosen).mean(),
        "mrr_all_taught": after.mean(),
        "taught": chosen.mean(),
        "taught_of_wrong": chosen[wrong].mean(),
        "do_not_lose": (change[chosen] >= -_SAME).mean(),
        "lose_little": (change[chosen] >= -_LITTLE - _SAME).mean(),
    }


if __name__ == "__main__":
    app()
