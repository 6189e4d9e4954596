"""Readings kept on disk, so that a word is read once however often its vector is made.

What is kept is the mean reading of each word, in parts of some hundred words. A part's name follows from
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

Part = tuple[np.ndarray, np.ndarray]


class ReadingCache:
    """Mean readings and numbers of contexts, by words.

    :param folder: where parts are kept; None keeps nothing.
    :param recipe: what the readings depend on besides the words.
    """

    def __init__(self, folder: Path | None, recipe: dict[str, Any]) -> None:
        self._folder, self._recipe = folder, recipe

    def get(self, words: Sequence[str], make: Callable[[], Part]) -> Part:
        """The part of these words: from disk, or made now and kept.

        *Shapes:* (words, dim), (words,)
        """
        if self._folder is None:
            return make()
        text = json.dumps({**self._recipe, "words": list(words)}, sort_keys=True)
        path = self._folder / f"{hashlib.sha256(text.encode()).hexdigest()[:24]}.npz"
        found = _load(path, len(words))
        if found is not None:
            return found
        reading, counts = make()
        with whole_file(path) as temporary, temporary.open("wb") as stream:
            np.savez(stream, reading=reading.astype(np.float32), counts=counts)
        return reading, counts


def beside(store: Path) -> Path:
    """The folder for readings of a store's words."""
    return store.with_name(store.name + ".readings")


def _load(path: Path, words: int) -> Part | None:
    if not path.is_file():
        return None
    try:
        with np.load(path) as kept:
            reading, counts = kept["reading"], kept["counts"]
    except (OSError, ValueError, KeyError):
        return None  # damaged: make it again
    return (reading, counts) if len(reading) == words == len(counts) else None
