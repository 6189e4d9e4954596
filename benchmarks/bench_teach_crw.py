"""Teaching real rare words from sentences of the CRW-dev kind: WNLaMPro before and after.

    PYTHONPATH=src python benchmarks/bench_teach_crw.py --text FILES [--model default] [--limit 200]

The model is taught the words with `rarewords teach`, and probed with their entries of WNLaMPro before and
after. Without --words, the words are the keywords of WNLaMPro (without corruptions) of the given --frequency
that occur at least --min-count times in the text and that the model splits; --limit takes N of them, evenly
spread over the alphabet. --corpus gives a store instead of text. Words that were left out count with their
pieces, so that the figure is that of the folder a user gets.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

from rarewords import LanguageModel, Store, teach
from rarewords.corpus.build import build
from rarewords.corpus.settings import CorpusSettings
from rarewords.probe.dataset import Dataset, band_of
from rarewords.probe.evaluate import EvalSettings, evaluate
from rarewords.report.tables import figure, markdown_table, relation_title
from rarewords.teaching.settings import TeachSettings
from rarewords.vectors import read_words


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--text", nargs="*", default=[])
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--words", type=Path)
    parser.add_argument("--model", default="default")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--min-count", type=int, default=10)
    parser.add_argument("--frequency", nargs="*", default=["rare", "medium"], help="rare, medium, frequent")
    parser.add_argument("--limit", type=int, default=200)
    parser.add_argument("--keep-all", action="store_true")
    parser.add_argument("--replace", action="store_true", help="one token per word instead of both")
    parser.add_argument("--json", type=Path, help="write the figures there")
    chosen = parser.parse_args()
    if not chosen.text and chosen.corpus is None:
        print("bench_teach_crw.py needs --text FILES or --corpus STORE; nothing was measured")
        return
    lm = LanguageModel.from_pretrained(chosen.model, device=chosen.device)
    dataset = Dataset.load()
    settings = TeachSettings(slash=not chosen.replace, keep_all=chosen.keep_all)
    with tempfile.TemporaryDirectory() as folder:
        store = Store.open(
            chosen.corpus
            or build(chosen.text, Path(folder) / "store", CorpusSettings(lower_case=lm.lower_case)).path
        )
        words = read_words(chosen.words) if chosen.words else _keywords(lm, store, dataset, chosen)
        started = time.perf_counter()
        taught = teach(
            [],
            Path(folder) / "taught",
            words=words,
            model=chosen.model,
            corpus=store.path,
            settings=settings,
            device=chosen.device,
        )
        seconds = time.perf_counter() - started
        after_lm = LanguageModel.from_pretrained(Path(folder) / "taught", device=chosen.device)
    tried = {one.word for one in [*taught.words, *taught.worse]}
    data = Dataset(tuple(entry for entry in dataset if entry.word.text in tried), dataset.name)
    before = evaluate(lm, data, EvalSettings())
    after = evaluate(after_lm, data, EvalSettings())
    rows = []
    for relation, band in before.cells:
        figures = [figure(one.measure(relation, band).mean) for one in (before, after)]
        entries = before.chosen(relation, band).sum()
        rows.append([relation_title(relation), band, f"{entries:,}", *figures])
    print(markdown_table(["relation", "frequency", "entries", "MRR before", "MRR after"], rows, left=2))
    report = {
        "model": taught.model,
        "words": len(tried),
        "taught": len(taught.words),
        "worse": len(taught.worse),
        "seconds": round(seconds, 1),
        "held_out": taught.held_out,
        "wnlampro_of_taught": [vars(score) for score in taught.probed.scores],
        "mrr_before": round(before.mrr, 4),
        "mrr_after": round(after.mrr, 4),
    }
    print(json.dumps(report, indent=1))
    if chosen.json:
        chosen.json.write_text(json.dumps(report, indent=1) + "\n", "utf-8")


def _keywords(lm: LanguageModel, store: Store, dataset: Dataset, chosen: argparse.Namespace) -> list[str]:
    names, counts = store.counts(chosen.min_count)
    frequent = dict(zip(names, counts.tolist(), strict=True))
    entries = [entry for entry in dataset if entry.relation != "corruption"]
    keywords = sorted({entry.word.text for entry in entries if band_of(entry.word.count) in chosen.frequency})
    keywords = [word for word in keywords if word in frequent and len(lm.pieces(word)) > 1]
    step = max(1, len(keywords) // chosen.limit)
    return keywords[::step][: chosen.limit]


if __name__ == "__main__":
    main()
