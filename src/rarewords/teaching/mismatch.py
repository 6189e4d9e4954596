"""Which of the words that a model splits would gain from teaching (docs/concepts/choosing-words.md)?

The drop of the mismatch tells as much as the held-out gain and more together (experiments/check).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from itertools import islice

import numpy as np

from rarewords._internal.cache import Cache, key_of
from rarewords._internal.progress import progress
from rarewords._internal.schema import parse
from rarewords.corpus.corpus import Corpus
from rarewords.learner.evidence import Evidence, Learner
from rarewords.teaching.check import Check, Mismatch
from rarewords.teaching.settings import TeachSettings
from rarewords.teaching.words import MissingWord

UNDERSTOOD = "the model understands it already"
LEAST_DROP = 0.1  # a word whose mismatch drops by less is skipped
Readings = Mapping[str, Mapping[str, np.ndarray]]  # what was read of a word, by word and sentence
# A part is kept when it is done and moves the bar. On a GPU small parts leave it waiting.
WORDS_PER_PART, WORDS_PER_PART_ON_GPU = 64, 2048
_FEWEST = 16  # few sentences of one length make small batches
_CONTEXTS = 4


def search(
    words: Iterable[MissingWord], settings: TeachSettings, corpus: Corpus, learner: Learner, check: Check, cache: Cache
) -> tuple[list[MissingWord], Readings]:
    """Look at words in order until ``settings.top`` of them are worth teaching; the others say why they are skipped.

    :param cache: keeps what was found after every few words.
    :return: also what was read of the words that are worth teaching.
    """
    looked: list[MissingWord] = []
    readings: dict[str, Mapping[str, np.ndarray]] = {}
    words, size = iter(words), WORDS_PER_PART if learner.lm.device.type == "cpu" else WORDS_PER_PART_ON_GPU
    with progress("Looking at words", total=settings.top, unit="words") as bar:
        while (left := settings.top - len(readings)) and (part := list(islice(words, min(size, max(_FEWEST, left))))):
            found = _look_at([one.word for one in part if not one.skipped], corpus, learner, check, cache)
            for one in part:
                if len(readings) == settings.top:
                    break
                if not one.skipped:
                    seen, read = found[one.word]
                    one = replace(one, mismatch=seen.mismatch, mismatch_drop=seen.drop, answers=seen.answers)
                    if seen.drop is not None and seen.drop < LEAST_DROP and not settings.keep_all:
                        one = replace(one, skipped=UNDERSTOOD)
                    else:
                        readings[one.word] = read
                looked.append(one)
            bar.advance(len(readings) - bar.done)
    return looked, readings


def _look_at(
    words: Sequence[str], corpus: Corpus, learner: Learner, check: Check, cache: Cache
) -> dict[str, tuple[Mismatch, Mapping[str, np.ndarray]]]:
    """The mismatch of each word, by an embedding from a few sentences, and what was read in them."""
    if not words:
        return {}
    key = key_of(check.key, learner.key, corpus.key, words)
    contexts = corpus.contexts_of(words, _CONTEXTS)
    tasks = [Evidence(word, list(dict.fromkeys(one.sentence for one in own))) for word, own in contexts]
    arrays = cache.arrays("looked", key, partial(_read, learner, tasks))
    seen = cache.json("mismatch", key, lambda: [asdict(one) for one in check.mismatch(words, arrays["embeddings"])])
    found = parse(list[Mismatch], seen, cache.path, "remove it")
    ends = np.cumsum([len(task.sentences) for task in tasks])
    each = zip(tasks, found, np.split(arrays["readings"], ends[:-1]), strict=True)
    # Some learners have no rows.
    return {task.word: (own, dict(zip(task.sentences, rows, strict=False))) for task, own, rows in each}


def _read(learner: Learner, tasks: Sequence[Evidence]) -> dict[str, np.ndarray]:
    """An embedding from a few sentences of each word, and what was read in them."""
    learned = [one for one in learner.learn_each(tasks) if one]  # there is none only without a sentence
    read = [one.readings for one in learned if one.readings is not None]
    return {
        "embeddings": np.stack([one.embedding for one in learned]),
        "readings": np.concatenate(read) if read else np.zeros((0, learner.lm.dim), np.float32),
    }
