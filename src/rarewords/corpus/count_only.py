"""Counts without contexts, for a quick look at a text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import numpy.typing as npt

from rarewords.corpus.count import Vocabulary, distinct, vocabulary_of
from rarewords.corpus.engine import engine_for
from rarewords.corpus.read import read_shard
from rarewords.corpus.settings import CorpusSettings
from rarewords.corpus.shard import split_all
from rarewords.corpus.sources import Shard, cut, find_sources
from rarewords.corpus.spool import spool
from rarewords.progress import progress


def count_words(
    texts: Sequence[str | Path],
    settings: CorpusSettings,
    *,
    field: str = "text",
    workers: int | None = None,
    engine: str = "local",
    address: str | None = None,
) -> tuple[list[str], npt.NDArray[np.int64]]:
    """The words of a text under the word rule, most frequent first, and their counts. *Shape:* (words,)"""
    counts: Counter[str] = Counter()
    with TemporaryDirectory() as folder, engine_for(engine, workers, address) as runner:
        sources = find_sources(spool(texts, field, Path(folder)), field)
        shards = cut(sources, runner.workers)
        tasks = [_Task(shard, settings) for shard in shards]
        with progress("Counting", total=sum(shard.bytes for shard in shards) / 1e6, unit="MB") as bar:
            for place, found in runner.map(_count_shard, tasks):
                for word, count in found.items():
                    counts[word] += count
                bar.advance(shards[place].bytes / 1e6)
    kept = [(word, count) for word, count in counts.items() if count >= settings.min_count]
    kept.sort(key=lambda item: (-item[1], item[0]))
    return [word for word, _ in kept], np.array([count for _, count in kept], dtype=np.int64)


@dataclass(frozen=True)
class _Task:
    shard: Shard
    settings: CorpusSettings


def _count_shard(task: _Task) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for _, text, _ in read_shard(task.shard):
        vocabulary = count_text(text, task.settings)
        for place in np.flatnonzero(vocabulary.kept).tolist():
            counts[vocabulary.words[place]] += int(vocabulary.counts[place])
    return dict(counts)


def count_text(text: str, settings: CorpusSettings) -> Vocabulary:
    """The vocabulary of a text in memory."""
    _, _, hashes, word_at = split_all(text, settings)
    values, numbers, first = distinct(hashes)
    return vocabulary_of(values, word_at(first), numbers, settings)
