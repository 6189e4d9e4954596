"""What teaching would do with this text, and how long it would take on this machine.

Words are counted in the whole text, as teaching does it. The rest is timed on a small piece of it: a store is
built, and a few words are learned and judged with the real model.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rarewords.bundled import DEFAULT_MODEL
from rarewords.corpus.build import build
from rarewords.corpus.count_only import count_words
from rarewords.corpus.read import read_shard
from rarewords.corpus.sources import Shard, cut, find_sources
from rarewords.corpus.store import Store
from rarewords.errors import InputError
from rarewords.injection import require_injectable
from rarewords.lm import LanguageModel, Query
from rarewords.probe.dataset import Dataset
from rarewords.probe.patterns import patterns_for
from rarewords.teaching.learning import Learner, learn, open_learner
from rarewords.teaching.lessons import make_lessons
from rarewords.teaching.run import (
    corpus_settings,
    open_model,
    require_free,
    require_one_source,
    resolved,
    shown_name,
)
from rarewords.teaching.settings import TeachSettings
from rarewords.teaching.words import ChosenWords, choose_words, store_counts
from rarewords.teaching.work import WorkFolder

_SAMPLE_CHARACTERS = 1_000_000
_TIMED_WORDS = 2
_TIMED_QUERIES = 64


@dataclass(frozen=True)
class Plan:
    """What would be taught, and the seconds each stage would take.

    :param words: words to teach with their counts in the text.
    :param refused: words that would not be taught, and why.
    :param seconds: by stage; ``loading`` is the model's.
    """

    model: str
    settings: TeachSettings
    words: dict[str, int]
    refused: dict[str, str]
    seconds: dict[str, float]

    @property
    def total_seconds(self) -> float:
        """All stages together."""
        return sum(self.seconds.values())

    def as_json(self) -> dict[str, Any]:
        """Plain values for ``--json``."""
        rounded = {stage: round(seconds, 2) for stage, seconds in self.seconds.items()}
        return {**asdict(self), "seconds": rounded, "total_seconds": round(self.total_seconds, 2)}


def plan_teaching(
    texts: Sequence[str | Path],
    out: str | Path,
    *,
    words: Sequence[str] | None = None,
    model: str | Path | LanguageModel = DEFAULT_MODEL,
    corpus: str | Path | None = None,
    mimic: str | Path | None = None,
    settings: TeachSettings | None = None,
    device: str = "auto",
    field: str = "text",
    workers: int | None = None,
) -> Plan:
    """Look at the text and time the model; nothing is kept. The arguments are those of ``teach``."""
    settings = resolved(settings or TeachSettings(), words)
    require_free(Path(out))
    require_one_source(texts, corpus)
    if any(str(text) == "-" or str(text).startswith("hf:") for text in texts):
        raise InputError("--plan would read the text twice; save standard input or the data set to a file")
    started = time.perf_counter()
    lm = open_model(model, device)
    require_injectable(lm.model, predictable=settings.predictable)
    learner, _ = open_learner(lm, settings, mimic)
    seconds = {"loading": time.perf_counter() - started}
    with TemporaryDirectory() as folder:
        if corpus is not None:
            store = Store.open(corpus)
            counted = store_counts(store)
            seconds["corpus"] = 0.0
        else:
            wanted = corpus_settings(lm, settings)
            names, counts = count_words(texts, wanted, field=field, workers=workers)
            counted = names, counts.tolist()
            sample = _sample(cut(find_sources(texts, field), 1), Path(folder) / "sample.txt")
            started = time.perf_counter()
            store = build([sample], Path(folder) / "store", wanted, workers=1)
            share = sum(store_counts(store)[1]) / max(sum(counted[1]), 1)
            seconds["corpus"] = (time.perf_counter() - started) / max(share, 1e-9)
        chosen = choose_words(counted, lm.tokens, settings, words)
        chosen.require_some()
        each = _seconds_a_sentence(lm, learner, store, chosen, settings, Path(folder))
    most = settings.sentences + settings.held_out
    seconds["vectors and judgement"] = each * sum(min(count, most) for count in chosen.counts.values())
    seconds["WNLaMPro"] = _seconds_of_probe(lm, chosen)
    seconds["saving"] = 2 * seconds["loading"]  # the model is loaded once more, and written
    return Plan(shown_name(lm.name), settings, chosen.counts, chosen.refused, seconds)


def _sample(shards: Sequence[Shard], path: Path) -> Path:
    """The beginning of the text as a file of its own."""
    left = _SAMPLE_CHARACTERS
    with path.open("w", encoding="utf-8") as stream:
        for shard in shards:
            for _, text, _ in read_shard(shard):
                stream.write(text[:left])
                left -= len(text)
                if left <= 0:
                    return path
    return path


def _seconds_a_sentence(
    lm: LanguageModel,
    learner: Learner,
    store: Store,
    chosen: ChosenWords,
    settings: TeachSettings,
    folder: Path,
) -> float:
    """Learn and judge a few words for the clock: words to be taught where the sample has them, or others."""
    names, counts = store_counts(store)
    held = dict(zip(names, counts, strict=True))
    timed = [word for word in chosen.counts if word in held] or names
    lessons = make_lessons(store, {word: held[word] for word in timed[:_TIMED_WORDS]}, settings)
    sentences = sum(len(one.learned) + sum(len(trial.judged) for trial in one.trials) for one in lessons)
    best = float("inf")
    for attempt in range(2):  # the first is slower: memory is fetched, kernels are chosen
        started = time.perf_counter()
        learn(lm, learner, lessons, settings, WorkFolder(folder, silent=True), f"timing {attempt}")
        best = min(best, time.perf_counter() - started)
    return best / max(sentences, 1)


def _seconds_of_probe(lm: LanguageModel, chosen: ChosenWords) -> float:
    """Time some queries of the kind and multiply by how many the words have, before and after."""
    entries = [entry for entry in Dataset.load() if entry.word.text in chosen.counts]
    asked = [
        Query(pattern, entry.word.text)
        for entry in entries
        for pattern in patterns_for(entry.relation, entry.word.text)
    ]
    if not asked:
        return 0.0
    timed = asked[:_TIMED_QUERIES]
    started = time.perf_counter()
    lm.fill(timed)
    return 2 * (time.perf_counter() - started) * len(asked) / len(timed)
