"""Readings kept on disk, so that a word is read once however often its vector is made.

What is kept is the mean reading of each word, in parts of some thousand words. A part's name follows from
everything it depends on: the model, the store, the way of reading and the words. A part appears whole or not
at all, so an interrupted run goes on where it stopped.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rarewords.files import whole_file

WORDS_PER_PART = 1024
Part = tuple[np.ndarray, np.ndarray]


class ReadingCache:
    """Mean readings and numbers of contexts, by words.

    :param folder: where parts are kept; None keeps nothing.
    :param recipe: what the readings depend on besides the words.
    """

    def __init__(self, folder: Path | None, recipe: dict[str, Any]) -> None:
        self._folder, self._recipe = folder, recipe

    def get(self, words: Sequence[str], make: Callable[[Sequence[str]], Part]) -> Part:
        """The readings of these words: from disk, or made now, all that are missing at once, and kept.

        *Shapes:* (words, dim), (words,)
        """
        if self._folder is None or not words:
            return make(words)
        parts = [words[at : at + WORDS_PER_PART] for at in range(0, len(words), WORDS_PER_PART)]
        paths = [self._path(self._folder, part) for part in parts]
        found = [_load(path, len(part)) for path, part in zip(paths, parts, strict=True)]
        missing = [word for part, kept in zip(parts, found, strict=True) if kept is None for word in part]
        if missing:
            reading, counts = make(missing)
            at = 0
            for number, part in enumerate(parts):
                if found[number] is None:
                    rows = slice(at, at + len(part))
                    found[number] = reading[rows], counts[rows]
                    _save(paths[number], reading[rows], counts[rows])
                    at += len(part)
        read = [kept for kept in found if kept is not None]
        return np.concatenate([one[0] for one in read]), np.concatenate([one[1] for one in read])

    def _path(self, folder: Path, words: Sequence[str]) -> Path:
        text = json.dumps({**self._recipe, "words": list(words)}, sort_keys=True)
        return folder / f"{hashlib.sha256(text.encode()).hexdigest()[:24]}.npz"


def beside(store: Path) -> Path:
    """The folder for readings of a store's words."""
    return store.with_name(store.name + ".readings")


def _save(path: Path, reading: np.ndarray, counts: np.ndarray) -> None:
    with whole_file(path) as temporary, temporary.open("wb") as stream:
        np.savez(stream, reading=reading.astype(np.float32), counts=counts)


def _load(path: Path, words: int) -> Part | None:
    if not path.is_file():
        return None
    try:
        with np.load(path) as kept:
            reading, counts = kept["reading"], kept["counts"]
    except (OSError, ValueError, KeyError):
        return None  # damaged: make it again
    return (reading, counts) if len(reading) == words == len(counts) else None
