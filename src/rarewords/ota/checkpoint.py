"""Finished words on disk while the others are still being computed."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rarewords.errors import InputError
from rarewords.files import read_json, write_json
from rarewords.vectors import WordVectors

SECONDS_BETWEEN_PARTS = 120.0


class Checkpoint:
    """A folder of finished words: a note of what makes them, and a file every few minutes.

    :param folder: None keeps everything in memory.
    :param recipe: what the vectors depend on; a folder made by another recipe is refused.
    """

    def __init__(
        self, folder: Path | None, recipe: Mapping[str, Any], *, seconds: float = SECONDS_BETWEEN_PARTS
    ) -> None:
        self._folder, self._recipe, self._seconds = folder, dict(recipe), seconds
        self._done: dict[str, np.ndarray] = {}
        self._unsaved: list[str] = []
        self._saved_at = time.monotonic()
        self._parts = 0
        if folder is not None:
            self._open(folder)
        self.resumed = len(self._done)

    def __contains__(self, word: object) -> bool:
        return word in self._done

    def add(self, words: Sequence[str], rows: np.ndarray) -> None:
        """Take finished words in; from time to time they are written."""
        for word, row in zip(words, rows, strict=True):
            self._done[word] = row
        self._unsaved += words
        if time.monotonic() - self._saved_at >= self._seconds:
            self.save()

    def save(self) -> None:
        """Write what has not been written."""
        if self._folder is not None and self._unsaved:
            rows = np.stack([self._done[word] for word in self._unsaved])
            WordVectors(self._unsaved, rows).save(self._folder / f"part-{self._parts:05}.safetensors")
            self._parts += 1
        self._unsaved = []
        self._saved_at = time.monotonic()

    def rows(self, words: Sequence[str]) -> np.ndarray:
        """The vectors of finished words. *Shape:* (words, dim)"""
        return np.stack([self._done[word] for word in words])

    def _open(self, folder: Path) -> None:
        note = folder / "recipe.json"
        if note.is_file():
            if read_json(note) != self._recipe:
                raise InputError(
                    f"{folder} holds unfinished work of another model, other settings or other words; "
                    "remove it or choose another output"
                )
        else:
            write_json(note, self._recipe)
        parts = sorted(folder.glob("part-*.safetensors"))
        for part in parts:
            vectors = WordVectors.load(part)
            self._done.update(zip(vectors.words, np.asarray(vectors.matrix), strict=True))
        self._parts = len(parts)
