"""Teaching invented words: hypernym MRR and share among the first three answers, before and after.

    PYTHONPATH=src python benchmarks/bench_teach.py [--model default] [--replace] [--keep-all] [--json FILE]

Thirty invented words (tests/data/invented) with 12 or 13 contexts each are taught as a user would. The model
is then asked about each with WNLaMPro's hypernym patterns; the rank of a word is the best over its patterns.
Settings may be chosen on the first half of the words; the second half is for reporting. The claims it backs,
for the large model: MRR at least .6 and four times what it was, and a hypernym among the first three answers
for at least four words in five.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rarewords import LanguageModel, teach
from rarewords.probe.dataset import AnnotatedWord, Dataset, Entry
from rarewords.probe.evaluate import EvalSettings, evaluate
from rarewords.probe.result import ProbeResult
from rarewords.teaching.settings import TeachSettings

DATA = Path(__file__).parent.parent / "tests" / "data" / "invented"


def entries() -> Dataset:
    """The invented words as a dataset: `dev` is the half to choose settings on, `test` the other."""
    lines = [line for line in (DATA / "words.tsv").read_text("utf-8").splitlines() if line[:1] != "#"]
    made = []
    for number, line in enumerate(lines):
        word, half, hypernyms = line.split("\t")
        targets = tuple(AnnotatedWord(name, "n", 0.0, 0) for name in hypernyms.split())
        subset = "dev" if half == "choose" else "test"
        made.append(Entry(str(number), subset, AnnotatedWord(word, "n", 0.0, 0), "hypernym", targets))
    return Dataset(tuple(made), "the invented words")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--model", default="default")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--replace", action="store_true", help="one token per word instead of both")
    parser.add_argument("--keep-all", action="store_true", help="also words that do worse than their pieces")
    parser.add_argument("--json", type=Path, help="write the figures there")
    parser.add_argument("--show", action="store_true", help="the answers for every word")
    chosen = parser.parse_args()
    data = entries()
    settings = TeachSettings(slash=not chosen.replace, keep_all=chosen.keep_all)
    lm = LanguageModel.from_pretrained(chosen.model, device=chosen.device)
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        taught = teach(
            [DATA / "text.txt"],
            Path(folder) / "taught",
            words=[entry.word.text for entry in data],
            model=chosen.model,
            settings=settings,
            device=chosen.device,
        )
        seconds = time.perf_counter() - started
        after_lm = LanguageModel.from_pretrained(Path(folder) / "taught", device=chosen.device)
    before = evaluate(lm, data, EvalSettings())
    after = evaluate(after_lm, data, EvalSettings())
    report: dict[str, Any] = {
        "model": taught.model,
        "settings": asdict(settings),
        "seconds": round(seconds, 1),
        "taught": len(taught.words),
        "worse": [one.word for one in taught.worse],
        "held_out": taught.held_out,
    }
    for half, subset in (("choose", "dev"), ("held", "test"), ("all", "all")):
        report[half] = _figures(data, before, after, subset)
    if chosen.show:
        found = {one.word: one for one in [*taught.words, *taught.worse]}
        for word, old, new in zip(before.word, before.rank, after.rank, strict=True):
            one = found[word]
            gain = f"{one.judgement.gain:+.2f}" if one.judgement else "–"
            answers = f"{', '.join(one.before)} -> {', '.join(one.after)}"
            print(f"{word:10} {old:3} {new:3} {gain:>6} {answers}")
    print(json.dumps(report, indent=1))
    if chosen.json:
        chosen.json.write_text(json.dumps(report, indent=1) + "\n", "utf-8")


def _figures(data: Dataset, before: ProbeResult, after: ProbeResult, subset: str) -> dict[str, float]:
    rows = [row for row, entry in enumerate(data) if subset in (entry.subset, "all")]
    old, new = before.reciprocal[rows].mean(), after.reciprocal[rows].mean()
    first = [((result.rank[rows] > 0) & (result.rank[rows] <= 3)).mean() for result in (before, after)]
    return {
        "words": len(rows),
        "mrr_before": round(float(old), 3),
        "mrr_after": round(float(new), 3),
        "times": round(float(new / max(old, 1e-9)), 2),
        "first_three_before": round(float(first[0]), 3),
        "first_three_after": round(float(first[1]), 3),
    }


if __name__ == "__main__":
    main()
