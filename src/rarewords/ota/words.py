"""From a list of words to work: which can be approximated, which not and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rarewords.errors import InputError
from rarewords.lm import LanguageModel
from rarewords.ota.contexts import Frame


@dataclass(frozen=True)
class WordNote:
    """Something to say about one word of the input.

    :param kind: ``one piece``, ``duplicate``, ``unknown characters``, ``too long`` or ``empty``.
    :param kept: whether the word has a vector all the same.
    """

    word: str
    kind: str
    text: str
    kept: bool = False

    def __str__(self) -> str:
        return f"{self.word!r}: {self.text}"


@dataclass(frozen=True)
class Task:
    """A word (or phrase) and the ids of its pieces."""

    word: str
    pieces: tuple[int, ...]


def sort_words(
    model: LanguageModel, frame: Frame, words: Sequence[str], *, keep_single: bool = False
) -> tuple[list[Task], list[WordNote]]:
    """The words that get a vector, in their order, and notes on the others.

    :param keep_single: words of one piece get the model's own embedding instead of being left out.
    """
    tasks: list[Task] = []
    notes: list[WordNote] = []
    seen: set[str] = set()
    stripped = [" ".join(word.split()) for word in words]
    for word, pieces in zip(stripped, model.tokens.pieces_of(stripped), strict=True):
        note = _note(model, frame, word, pieces, seen, keep_single)
        if note is not None:
            notes.append(note)
        if note is None or (note.kept and note.kind != "duplicate"):
            tasks.append(Task(word, tuple(pieces)))
        seen.add(word)
    if not tasks:
        reason = f"; the first: {notes[0]}" if notes else ""
        raise InputError(f"none of the {len(words)} words can be approximated{reason}")
    return tasks, notes


def _note(
    model: LanguageModel, frame: Frame, word: str, pieces: list[int], seen: set[str], keep_single: bool
) -> WordNote | None:
    if not word:
        return WordNote(word, "empty", "an empty word, left out")
    if word in seen:
        return WordNote(word, "duplicate", "given more than once, counted once", kept=True)
    if not pieces:
        return WordNote(word, "unknown characters", "the tokenizer drops it altogether, left out")
    if model.tokens.has_unknown(pieces):
        return WordNote(
            word, "unknown characters", "has characters the model's vocabulary lacks ([UNK]), left out"
        )
    if len(pieces) + frame.places > model.max_length:
        most = model.max_length - frame.places
        return WordNote(word, "too long", f"has {len(pieces)} pieces, {model.name} takes {most}, left out")
    if len(pieces) == 1:
        text = "is already one piece" + (
            ", so it keeps the model's own embedding"
            if keep_single
            else ", left out; keep_single (--keep-single) takes the model's own embedding"
        )
        return WordNote(word, "one piece", text, kept=keep_single)
    return None
