"""Do the rules of ``teach`` know which words teaching helps?

    python -m experiments.check collect --corpus CORPUS --subset dev --words 600 --out LABELLED.jsonl
    python -m experiments.check choose LABELLED.jsonl ...
    python -m experiments.check measure LABELLED.jsonl ...
    python -m experiments.check cells LABELLED.jsonl ...

``collect`` takes keywords of WNLaMPro that the model splits and the corpus has (rare, medium and frequent in
turn), looks at each as a search does, learns it from at most 4, 8 or 16 contexts, checks it as ``teach`` does, and
asks WNLaMPro with its subwords and with its embedding. Each line has a word, its mismatch drop, its gain and the
error of the gain, and the relation and the reciprocal ranks before and after of each of its entries. A word of
both sets is left out.

``choose`` shows what a search gains and loses with each least drop, and with the gain as a second rule; the one
that ships was chosen on dev.

``measure`` reports, for each file, the area under the curve for the sign of the change (words that do not change
count neither way), and what is gained and lost if the rules of ``teach`` decide.

``cells`` shows the change by relation and frequency if they decide.
"""

import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import numpy as np
import typer

from experiments.code import code_of, used_modules
from experiments.common import Results, with_interval
from rarewords import Corpus, LanguageModel, TeachSettings, WordEmbeddings, wnlampro
from rarewords._internal.cache import Cache
from rarewords._internal.files import write_lines
from rarewords.models import DEFAULT_MODEL, shown_name
from rarewords.teaching.candidates import check_for, learn_and_check
from rarewords.teaching.check import SURELY_WORSE
from rarewords.teaching.holdout import hold_out
from rarewords.teaching.learners import learner_for
from rarewords.teaching.mismatch import LEAST_DROP, search
from rarewords.teaching.report import WordReport
from rarewords.teaching.words import MissingWord
from rarewords.tokens import Placement
from rarewords.wnlampro.dataset import BANDS, Dataset, Entry, band_of
from rarewords.wnlampro.probing import EvalSettings

RESULTS = Path(__file__).parent / "results"
RELATIONS = ("antonym", "hypernym", "cohyponym")
CONTEXTS = (4, 8, 16)
_AT_ONCE = 768
DROPS = (-1.0, 0.0, 0.05, 0.1, 0.15, 0.2)
_SAME = 1e-9
_WRONG = 1 / 3  # the mean reciprocal rank below which the subwords answer wrongly
_LITTLE = 0.05  # a loss of the mean reciprocal rank
Line = dict[str, Any]

app = typer.Typer(add_completion=False, help=__doc__)


@app.command()
def collect(
    corpus: Annotated[Path, typer.Option(help="A corpus made by `rarewords corpus build`.")],
    out: Annotated[Path, typer.Option(help="The file of lines.")],
    model: str = DEFAULT_MODEL,
    subset: Annotated[str, typer.Option(help="dev or test.")] = "dev",
    words: int = 600,
    placement: Placement = "append",
) -> None:
    """Label words with their true change."""
    lm, opened = LanguageModel.from_pretrained(model), Corpus.open(corpus)
    count = dict(zip(*opened.counts(3), strict=True))
    entries = keywords(lm, count, subset)
    chosen, lines = in_turn(entries)[:words], list[Line]()
    learner, _ = learner_for(lm, lm, None, opened)
    check = check_for(lm, lm, placement, found=True)
    for start in range(0, len(chosen), _AT_ONCE):
        holdouts, missing = [], []
        for word in chosen[start : start + _AT_ONCE]:
            contexts = CONTEXTS[zlib.crc32(word.encode()) // 7 % len(CONTEXTS)]
            holdouts += hold_out(opened, {word: int(count[word])}, TeachSettings(contexts=contexts))
            missing.append(MissingWord(word, int(count[word]), (), 1.0))
        with TemporaryDirectory() as folder:
            cache = Cache(Path(folder))
            every = TeachSettings(top=len(missing), keep_all=True)
            found, _ = search(missing, every, opened, learner, check, cache)
            reports, embeddings = learn_and_check(learner, check, holdouts, cache)
        drops = {one.word: one.mismatch_drop for one in found}
        checked = [one for one in reports if one.check is not None and drops[one.word] is not None]
        lines += [
            line | {"drop": drops[line["word"]]} for line in labelled(lm, checked, embeddings, entries, placement)
        ]
        typer.echo(f"{start + len(holdouts)} of {len(chosen)} words")
    about = {"model": shown_name(lm.name), "subset": subset, **code_of(used_modules())}
    write_lines(out, (f"{json.dumps(line)}\n" for line in (about, *lines)))


@app.command()
def choose(files: list[Path], out: Path = RESULTS / "choose.json") -> None:
    """What each least drop gains and loses, alone and with the rule of the gain."""
    results = Results(out, "check choose", None, files, files=files)
    for path in files:
        lines = read(path)
        for least in DROPS:
            for rule in ("drop", "drop and gain"):
                chosen = drops(lines) >= least
                if rule != "drop":
                    chosen &= ~surely_worse(lines)
                results.add(words=path.stem, least_drop=least, rule=rule, **gained(lines, chosen))
    results.show()


@app.command()
def measure(files: list[Path], out: Path = RESULTS / "measure.json") -> None:
    """What the mismatch drop and the gain know, and what the rules of ``teach`` gain and lose."""
    results = Results(out, "check measure", None, files, files=files, least_drop=LEAST_DROP, surely_worse=SURELY_WORSE)
    for path in files:
        lines = read(path)
        before, after = scores(lines)
        moved = np.abs(after - before) > _SAME
        gain = np.array([line["gain"] for line in lines])
        # The oracle knows the true score of the subwords.
        known = {"auc_drop": drops(lines), "auc_gain": gain, "auc_oracle": -before}
        areas = {name: area(own[moved], (after > before)[moved]) for name, own in known.items()}
        results.add(words=path.stem, **areas, **gained(lines, taught(lines)))
    results.show()


@app.command()
def cells(files: list[Path], out: Path = RESULTS / "cells.json") -> None:
    """The change of the mean reciprocal rank by relation and frequency, if the rules of ``teach`` decide."""
    results = Results(out, "check cells", None, files, files=files)
    for path in files:
        lines = read(path)
        allowed = taught(lines)
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
        rows = [row for row, word in enumerate(old.word) if word == one.word]
        yield {
            "word": one.word,
            "band": band_of(entries[one.word][0].word.count),
            "placement": placement,
            "contexts": one.contexts,
            "gain": round(one.check.gain, 4),
            "error": round(one.check.error, 4),
            "entries": [
                (old.relation[row], *(round(float(found.reciprocal[row]), 4) for found in (old, new))) for row in rows
            ],
        }


def read(path: Path) -> list[Line]:
    """The lines of a file of ``collect``, without the first, which says what code they are of."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()[1:]]


def drops(lines: list[Line]) -> np.ndarray:
    """How much lower the mismatch of each word is with its embedding. *Shape:* (words,)"""
    return np.array([line["drop"] for line in lines])


def surely_worse(lines: list[Line]) -> np.ndarray:
    """Which words the check skips. *Shape:* (words,)"""
    return np.array([line["gain"] < -SURELY_WORSE * line["error"] for line in lines])


def taught(lines: list[Line]) -> np.ndarray:
    """Which words ``teach`` adds if a search finds them. *Shape:* (words,)"""
    return (drops(lines) >= LEAST_DROP) & ~surely_worse(lines)


def scores(lines: list[Line]) -> np.ndarray:
    """The mean reciprocal rank of each word with its subwords and with its embedding. *Shape:* (2, words)"""
    return np.array([np.mean([ranks for _, *ranks in line["entries"]], axis=0) for line in lines]).T


def area(scores: np.ndarray, better: np.ndarray) -> float:
    """The area under the curve: how often a word that gets better scores above one that gets worse."""
    up, down = scores[better][:, None], scores[~better][None, :]
    return float((up > down).mean() + (up == down).mean() / 2)


def gained(lines: list[Line], chosen: np.ndarray) -> dict[str, Any]:
    """What is gained and lost if these words are taught. *Shape:* (words,)"""
    before, after = scores(lines)
    change, wrong = after - before, before < _WRONG
    return {
        "number": len(lines),
        "mrr_before": before.mean(),
        "mrr_after": (before + change * chosen).mean(),
        **with_interval(change * chosen),
        "mrr_all_taught": after.mean(),
        "taught": chosen.mean(),
        "taught_of_wrong": chosen[wrong].mean(),
        "do_not_lose": (change[chosen] >= -_SAME).mean(),
        "lose_little": (change[chosen] >= -_LITTLE - _SAME).mean(),
    }


if __name__ == "__main__":
    app()
