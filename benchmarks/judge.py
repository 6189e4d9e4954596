"""Does the judge know which words teaching helps? The rule of teaching/judge.py is fitted and tested here.

    PYTHONPATH=src python benchmarks/judge.py collect --model M --corpus STORE --set dev --words N --out FILE
    PYTHONPATH=src python benchmarks/judge.py fit --fit FILES --test FILES
    PYTHONPATH=src python benchmarks/judge.py cells FILES
    PYTHONPATH=src python benchmarks/judge.py approach FILES
    PYTHONPATH=src python benchmarks/judge.py thresholds FILES
    PYTHONPATH=src python benchmarks/judge.py noise FILES
    PYTHONPATH=src python benchmarks/judge.py texts FILE FILE

`collect` takes keywords of WNLaMPro that the model splits and the store has (rare, medium and frequent in
turn), learns each from at most 4, 8, 16 or 32 contexts, judges it as `teach` does, and asks WNLaMPro with its
pieces and with pieces and vector. Each line of the file has a word, its signs, and the relation and the
reciprocal ranks before and after of each of its entries. A word of both sets is left out. `fit` fits the
logistic rule on some of these files and reports, for each other file, the area under the curve for the sign
of the change (words that do not change count neither way), beside the held-out gain alone and the true score
with pieces, and what the taught words gain and lose. `cells` shows that for each relation and frequency, with
the rule that ships. `approach` shows the change of words by how much nearer the answers about them come to
their vectors; `thresholds`, what the judge would let through if it asked for a higher probability; `noise`,
how well the true change of one entry of a word predicts the change of its other entry, beside the rule, and
how many of the taught words lose more than a little; `texts`, how well the true change in one text predicts
that of the same words in another.
"""

from __future__ import annotations

import argparse
import json
import zlib
from dataclasses import asdict, astuple, fields
from itertools import permutations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from rarewords import LanguageModel, Store, WordVectors
from rarewords.probe.compare import bootstrap_interval
from rarewords.probe.dataset import BANDS, Dataset, Entry, band_of
from rarewords.probe.evaluate import EvalSettings, evaluate
from rarewords.report.tables import figure, markdown_table
from rarewords.stages import Stages
from rarewords.teaching.judge import WORSE, Signs
from rarewords.teaching.learners import open_learner
from rarewords.teaching.learning import learn
from rarewords.teaching.outcome import Learned
from rarewords.teaching.settings import TeachSettings
from rarewords.teaching.splits import split_words

RELATIONS = ("antonym", "hypernym", "cohyponym")
CONTEXTS = (4, 8, 16, 32)
_AT_ONCE = 48
_PENALTY = 3.0  # of the squared weights of signs in units of their deviation
_SAME = 1e-9
_RIGHT = 1 / 3  # the mean reciprocal rank below which the pieces answer wrongly
_THRESHOLDS = (WORSE, 0.8, 0.85)
_LITTLE = (0.0, 0.02, 0.05)  # losses of the mean reciprocal rank
_APPROACHES = ((-1, 0), (0, 0.05), (0.05, 0.1), (0.1, 0.2), (0.2, 1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    commands = parser.add_subparsers(required=True)
    collecting = commands.add_parser("collect")
    collecting.add_argument("--model", default="default")
    collecting.add_argument("--corpus", type=Path, required=True)
    collecting.add_argument("--set", choices=("dev", "test"), default="dev")
    collecting.add_argument("--words", type=int, default=300)
    collecting.add_argument("--out", type=Path, required=True)
    collecting.set_defaults(run=collect)
    fitting = commands.add_parser("fit")
    fitting.add_argument("--fit", type=Path, nargs="+", required=True)
    fitting.add_argument("--test", type=Path, nargs="*", default=[])
    fitting.set_defaults(run=fit)
    for name, shown in (
        ("cells", cells),
        ("approach", approach),
        ("thresholds", thresholds),
        ("noise", noise),
        ("texts", texts),
    ):
        showing = commands.add_parser(name)
        showing.add_argument("files", type=Path, nargs="+")
        showing.set_defaults(run=shown)
    chosen = parser.parse_args()
    chosen.run(chosen)


def collect(chosen: argparse.Namespace) -> None:
    lm, store = LanguageModel.from_pretrained(chosen.model), Store.open(chosen.corpus)
    names, counts = store.counts(3)
    count = dict(zip(names, counts.tolist(), strict=True))
    entries = keywords(lm, count, chosen.set)
    done = set()
    if chosen.out.exists():
        done = {json.loads(line)["word"] for line in chosen.out.read_text("utf-8").splitlines()}
    words = [word for word in in_turn(entries)[: chosen.words] if word not in done]
    learner, _ = open_learner(lm, None, store)
    for start in range(0, len(words), _AT_ONCE):
        splits = []
        for word in words[start : start + _AT_ONCE]:
            contexts = CONTEXTS[zlib.crc32(word.encode()) // 7 % len(CONTEXTS)]
            splits += split_words(store, {word: count[word]}, TeachSettings(contexts=contexts))
        with TemporaryDirectory() as folder:
            learned, vectors = learn(lm, learner, splits, TeachSettings(slash=True), Stages(Path(folder)))
        judged = [one for one in learned if one.judgement is not None]
        with chosen.out.open("a", encoding="utf-8") as out:
            out.writelines(json.dumps(line) + "\n" for line in labelled(lm, judged, vectors, entries))
        print(f"{start + len(splits)} of {len(words)} words", flush=True)


def keywords(lm: LanguageModel, count: dict[str, int], subset: str) -> dict[str, list[Entry]]:
    """The entries of each keyword that can be taught, without words that the other set has too."""
    entries: dict[str, list[Entry]] = {}
    others = set()
    for entry in Dataset.load():
        if entry.relation not in RELATIONS:
            continue
        if entry.subset != subset:
            others.add(entry.word.text)
        elif entry.word.text in count:
            entries.setdefault(entry.word.text, []).append(entry)
    words = sorted(set(entries) - others, key=lambda word: zlib.crc32(word.encode()))
    split = zip(words, lm.tokens.pieces_of(words), strict=True)
    return {word: entries[word] for word, pieces in split if len(pieces) > 1}


def in_turn(entries: dict[str, list[Entry]]) -> list[str]:
    """Rare, medium and frequent words in turn."""
    groups = [[word for word in entries if band_of(entries[word][0].word.count) == name] for name in BANDS]
    longest = max(map(len, groups))
    return [group[at] for at in range(longest) for group in groups if at < len(group)]


def labelled(
    lm: LanguageModel, judged: list[Learned], vectors: WordVectors, entries: dict[str, list[Entry]]
) -> list[dict[str, Any]]:
    """A line for each word."""
    words = [one.word for one in judged]
    data = Dataset(tuple(entry for word in words for entry in entries[word]))
    own = WordVectors(words, vectors.subset(words).matrix)
    old = evaluate(lm, data, EvalSettings())
    new = evaluate(lm, data, EvalSettings(method="vectors", slash=True), vectors=own)
    lines = []
    for one in judged:
        rows = [row for row, word in enumerate(old.word) if word == one.word]
        entries_of = [
            (old.relation[row], *(round(float(one.reciprocal[row]), 4) for one in (old, new))) for row in rows
        ]
        signs = one.judgement.signs if one.judgement else None
        assert signs is not None
        assert one.judgement is not None
        band = band_of(entries[one.word][0].word.count)
        line = {
            "word": one.word,
            "band": band,
            "contexts": one.contexts,
            "gain": round(one.judgement.gain, 4),
        }
        rounded = {name: round(value, 4) for name, value in asdict(signs).items()}
        lines.append({**line, "signs": rounded, "entries": entries_of})
    return lines


def fit(chosen: argparse.Namespace) -> None:
    known = [line for path in chosen.fit for line in read(path)]
    weights = fitted(known)
    names = ["intercept", *(field.name for field in fields(Signs))]
    print(json.dumps(dict(zip(names, weights.round(3).tolist(), strict=True))))
    rows = [row("these words, left out one in five", known, crossed(known))]
    for path in chosen.test:
        lines = read(path)
        rows.append(row(path.stem, lines, chances(weights, lines)))
    shipped = [row(f"{path.stem}, as shipped", read(path), as_shipped(read(path))) for path in chosen.test]
    headings = ["words", "number", "AUC rule", "AUC gain", "AUC pieces' true score"]
    headings += ["MRR before", "all taught", "rule", "of the taught, before", "after"]
    headings += ["taught", "of those answered wrongly", "of the taught do not lose", "of all do not lose"]
    print(markdown_table(headings, rows + shipped))


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def cells(chosen: argparse.Namespace) -> None:
    rows = []
    for path in chosen.files:
        lines = read(path)
        through = taught(lines, as_shipped(lines))
        for relation in RELATIONS:
            for band in BANDS:
                ranks = np.array(
                    [
                        (before, after if through[row] else before)
                        for row, line in enumerate(lines)
                        for name, before, after in line["entries"]
                        if line["band"] == band and name == relation
                    ]
                )
                change = ranks[:, 1] - ranks[:, 0]
                low, high = bootstrap_interval(change)
                figures = [figure(one) for one in (*ranks.mean(axis=0), change.mean(), low, high)]
                rows.append([path.stem, f"{relation} {band}", str(len(ranks)), *figures])
    print(markdown_table(["words", "cell", "entries", "pieces", "taught", "change", "from", "to"], rows))


def approach(chosen: argparse.Namespace) -> None:
    rows = []
    for path in chosen.files:
        lines = read(path)
        near, change = np.array([line["signs"]["approach"] for line in lines]), changes(lines)
        inside = [(near >= low) & (near < high) for low, high in _APPROACHES]
        cells = [f"{figure(change[one].mean())} ({one.sum()})" if one.any() else "" for one in inside]
        rows.append([path.stem, *cells])
    heads = [f"{low:.2f} to {high:.2f}" for low, high in _APPROACHES]
    print(markdown_table(["change of the MRR (words)", *heads], rows))


def thresholds(chosen: argparse.Namespace) -> None:
    rows = []
    for path in chosen.files:
        lines = read(path)
        chance, change, wrong = as_shipped(lines), changes(lines), scores(lines)[0] < _RIGHT
        allowed = [taught(lines, chance) & (chance >= least) for least in _THRESHOLDS]
        cells = [f"{100 * np.mean(change[one] >= -_SAME):.0f} % of {one.sum()}" for one in (*allowed, wrong)]
        shares = [f"{100 * one[wrong].mean():.0f} %" for one in allowed]
        rows.append([path.stem, *cells[:-1], *shares, cells[-1]])
    heads = [
        f"{what} p ≥ {least}" for what in ("do not lose,", "wrong ones taught,") for least in _THRESHOLDS
    ]
    print(markdown_table(["words", *heads, "do not lose, all wrong ones"], rows))


def noise(chosen: argparse.Namespace) -> None:
    rows = []
    for path in chosen.files:
        lines = read(path)
        chance, change = as_shipped(lines), changes(lines)
        pairs = np.array(
            [
                (chance[row], own, sibling)
                for row, line in enumerate(lines)
                if len(line["entries"]) == 2
                for own, sibling in permutations([after - before for _, before, after in line["entries"]])
            ]
        )
        moved = pairs[np.abs(pairs[:, 1]) > _SAME]
        areas = [figure(area(moved[:, column], moved[:, 1] > 0)) for column in (0, 2)]
        related = figure(np.corrcoef(pairs[:, 1], pairs[:, 2])[0, 1])
        own = change[taught(lines, chance)]
        kept = [f"{100 * np.mean(own >= -loss - _SAME):.0f} %" for loss in _LITTLE]
        rows.append([path.stem, str(len(pairs) // 2), *areas, related, *kept])
    heads = ["words", "with two entries", "AUC rule", "AUC the other entry's change", "correlation"]
    heads += [f"of the taught lose at most {loss}" for loss in _LITTLE]
    print(markdown_table(heads, rows))


def texts(chosen: argparse.Namespace) -> None:
    found = [{line["word"]: line for line in read(path)} for path in chosen.files]
    both = [word for word in found[0] if word in found[1]]
    change = [changes([own[word] for word in both]) for own in found]
    chance = [as_shipped([own[word] for word in both]) for own in found]
    related = figure(np.corrcoef(*change)[0, 1])
    rows = []
    for one, other in ((0, 1), (1, 0)):
        moved = np.abs(change[one]) > _SAME
        better = change[one][moved] > 0
        areas = [area(score[moved], better) for score in (chance[one], change[other])]
        rows.append([chosen.files[one].stem, str(len(both)), *map(figure, areas), related])
    print(markdown_table(["change in", "words of both", "AUC rule", "AUC other text", "correlation"], rows))


def values(lines: list[dict[str, Any]]) -> np.ndarray:
    """The signs with one for the intercept; gains beyond four errors count as four. *Shape:* (words, 5)"""
    signs = np.array([astuple(Signs(**line["signs"])) for line in lines])
    signs[:, 0] = signs[:, 0].clip(-4, 4)
    return np.c_[np.ones(len(signs)), signs]


def scores(lines: list[dict[str, Any]]) -> np.ndarray:
    """The mean reciprocal rank of each word with its pieces and with its vector. *Shape:* (2, words)"""
    each = [np.mean([ranks for _, *ranks in line["entries"]], axis=0) for line in lines]
    return np.array(each).T


def changes(lines: list[dict[str, Any]]) -> np.ndarray:
    before, after = scores(lines)
    return after - before


def taught(lines: list[dict[str, Any]], chance: np.ndarray) -> np.ndarray:
    """Which words the judge lets through, by the chance it gives them. *Shape:* (words,)"""
    return (chance >= WORSE) & np.array([line["signs"]["errors"] >= -1 for line in lines])


def fitted(lines: list[dict[str, Any]]) -> np.ndarray:
    """Logistic regression on the words that change, by Newton's method. *Shape:* (5,)"""
    lines = [line for line, change in zip(lines, changes(lines), strict=True) if abs(change) > _SAME]
    x, y = values(lines), (changes(lines) > 0).astype(float)
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


def chances(weights: np.ndarray, lines: list[dict[str, Any]]) -> np.ndarray:
    return 1 / (1 + np.exp(-values(lines) @ weights))


def as_shipped(lines: list[dict[str, Any]]) -> np.ndarray:
    return np.array([Signs(**line["signs"]).probability for line in lines])


def crossed(lines: list[dict[str, Any]]) -> np.ndarray:
    """The chance of each word by a rule fitted without it and a fifth of the others."""
    result = np.zeros(len(lines))
    for part in range(5):
        weights = fitted([line for at, line in enumerate(lines) if at % 5 != part])
        result[part::5] = chances(weights, lines[part::5])
    return result


def area(scores: np.ndarray, better: np.ndarray) -> float:
    """The area under the curve: how often a word that gets better scores above one that gets worse."""
    up, down = scores[better][:, None], scores[~better][None, :]
    return float((up > down).mean() + (up == down).mean() / 2)


def row(name: str, lines: list[dict[str, Any]], chance: np.ndarray) -> list[str]:
    change, gain = changes(lines), np.array([line["gain"] for line in lines])
    before, _ = scores(lines)
    moved = np.abs(change) > _SAME
    areas = [figure(area(score[moved], change[moved] > 0)) for score in (chance, gain, -before)]
    chosen, wrong = taught(lines, chance), before < _RIGHT
    ranks = [before, before + change, before + change * chosen, before[chosen], (before + change)[chosen]]
    shares = [
        chosen.mean(),
        chosen[wrong].mean(),
        *((change[rows] >= -_SAME).mean() for rows in (chosen, ...)),
    ]
    found = [figure(one.mean()) for one in ranks]
    return [name, str(len(lines)), *areas, *found, *(f"{100 * one:.0f} %" for one in shares)]


if __name__ == "__main__":
    main()
