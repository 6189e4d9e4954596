"""Which of the words that a model splits would gain from teaching?

Not every word that a model splits needs to be learned. A search of a text looks at each word first: an
embedding is made from a few sentences, and the model is asked about the word. The *mismatch* says how far its
answers are from what the sentences say. How much an embedding would lower it tells whether the word would
gain: it tells as much as the held-out gain and more together (experiments/check).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from rarewords._internal.cache import Cache, key_of
from rarewords._internal.progress import progress
from rarewords.corpus.corpus import Corpus
from rarewords.learner.evidence import Evidence, Learner
from rarewords.teaching.check import Check
from rarewords.teaching.words import MissingWord

UNDERSTOOD = "the model understands it already"
Readings = Mapping[str, Mapping[str, np.ndarray]]  # what was read of a word, by word and sentence
_CONTEXTS = 4
LEAST_DROP = 0.1  # a word whose mismatch drops by less is skipped
# Few sentences of one length make small batches; on a GPU small parts leave it waiting.
_WORDS_PER_LOOK, _WORDS_PER_LOOK_ON_GPU, _FEWEST = 64, 2048, 16


def search(
    words: Iterable[MissingWord],
    top: int,
    *,
    corpus: Corpus,
    learner: Learner,
    check: Check,
    keep_all: bool,
    cache: Cache,
) -> tuple[list[MissingWord], Readings]:
    """Look at words in order until ``top`` of them are worth teaching; the others say why they are skipped.

    :param keep_all: also teach words that the model understands.
    :param cache: keeps what was found after every few words.
    :return: also what was read of the words that are worth teaching.
    """
    looked: list[MissingWord] = []
    readings: dict[str, dict[str, np.ndarray]] = {}
    words, chosen = iter(words), 0
    size = _WORDS_PER_LOOK if learner.lm.device.type == "cpu" else _WORDS_PER_LOOK_ON_GPU
    with progress("Looking at words", total=top, unit="words") as bar:
        while chosen < top and (batch := list(islice(words, min(size, max(_FEWEST, top - chosen))))):
            names = [one.word for one in batch if not one.skipped]
            key = key_of(check.key, learner.key, corpus.key, names)
            contexts = corpus.contexts_of(names, _CONTEXTS)
            tasks = [Evidence(word, list(dict.fromkeys(one.sentence for one in own))) for word, own in contexts]
            arrays = cache.arrays("looked", key, partial(_read, learner, tasks))
            found = cache.json("mismatch", key, partial(_compare, check, names, arrays["embeddings"]))
            ends = np.cumsum([len(task.sentences) for task in tasks], dtype=np.int64)
            rows = dict(zip(names, np.split(arrays["readings"], ends[:-1]), strict=True)) if names else {}
            sentences = {task.word: task.sentences for task in tasks}
            for one in batch:
                if chosen == top:
                    break
                if one.word in found:
                    one = _judged(one, found[one.word], keep_all)
                    if not one.skipped:
                        readings[one.word] = dict(zip(sentences[one.word], rows[one.word], strict=False))
                looked.append(one)
                chosen += not one.skipped
            bar.advance(chosen - bar.done)
    return looked, readings


def _judged(word: MissingWord, seen: Sequence[Any], keep_all: bool) -> MissingWord:
    mismatch, drop, answers = seen
    understood = drop is not None and drop < LEAST_DROP and not keep_all
    found = {"mismatch": mismatch, "mismatch_drop": drop, "answers": tuple(answers)}
    return replace(word, **found, skipped=UNDERSTOOD if understood else "")


def _read(learner: Learner, tasks: Sequence[Evidence]) -> dict[str, np.ndarray]:
    """An embedding from a few sentences of each word, and what was read in them."""
    learned = [one for one in learner.learn_each(tasks) if one]  # there is none only without a sentence
    read = [one.readings for one in learned if one.readings is not None]
    nothing = np.zeros((0, learner.lm.dim), np.float32)
    return {
        "embeddings": np.stack([one.embedding for one in learned]) if learned else nothing,
        "readings": np.concatenate(read) if read else nothing,
    }


def _compare(check: Check, words: Sequence[str], embeddings: np.ndarray) -> dict[str, list[Any]]:
    """For each word its mismatch, how much an embedding would lower it, and the model's answers."""
    if not words:
        return {}
    return {
        word: [one.mismatch, one.drop, list(one.answers)]
        for word, one in zip(words, check.mismatch(words, embeddings), strict=True)
    }
