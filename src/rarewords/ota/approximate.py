"""One-token approximation of many words: in batches of equal length, resumable, in one process or several."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from rarewords.engine import Engine, in_threads
from rarewords.errors import InputError
from rarewords.lm import LanguageModel
from rarewords.ota.contexts import Frame
from rarewords.ota.objective import JOIN, baseline
from rarewords.ota.settings import METHODS, OtaSettings
from rarewords.ota.solver import Approximator, kept_curvature
from rarewords.progress import message, progress
from rarewords.stages import Stages, key_of
from rarewords.vectors import WordVectors

_WORDS_PER_BATCH = 64  # on a CPU, where larger batches are no faster
_STEPS_TO_CONDENSE = 100  # more gain little
_TOKENS_PER_BATCH = 16384  # on a GPU: enough to keep it busy, whatever its memory


class NoWordsError(InputError):
    """None of the words can be approximated."""


@dataclass(frozen=True)
class WordNote:
    """A remark on one word of the input.

    :param kind: ``one piece``, ``duplicate``, ``unknown characters``, ``too long`` or ``empty``.
    :param kept: whether the word has a vector nevertheless.
    """

    word: str
    kind: str
    text: str
    kept: bool = False

    def __str__(self) -> str:
        return f"{self.word!r}: {self.text}"


@dataclass(frozen=True)
class Approximation:
    """Vectors, and remarks on words that need one.

    :param resumed: the number of words that an earlier, interrupted run had finished.
    """

    vectors: WordVectors
    notes: tuple[WordNote, ...]
    resumed: int = 0

    @property
    def left_out(self) -> list[WordNote]:
        """The remarks on words that have no vector."""
        return [note for note in self.notes if not note.kept]


def approximate(
    lm: LanguageModel,
    words: Sequence[str],
    settings: OtaSettings | None = None,
    *,
    method: str = "ota",
    keep_single: bool = False,
    stages: Stages | None = None,
    engine: Engine | None = None,
) -> Approximation:
    """One vector for each word or phrase of several pieces, which acts in the model as its pieces do.

    >>> result = approximate(LanguageModel.from_pretrained(), ["kumquat"])  # doctest: +SKIP
    >>> result.vectors["kumquat"].shape  # doctest: +SKIP
    (384,)

    :param settings: by default those of preset ``fast``.
    :param method: ``ota``, or a baseline: ``first``, ``last`` or ``avg`` of the pieces' embeddings.
    :param keep_single: give words of one piece the model's own embedding instead of leaving them out.
    :param stages: keeps finished batches, so that an interrupted run resumes.
    :param engine: spreads the batches over processes or machines; each loads the model by its name.
    """
    if method not in METHODS:
        raise InputError(f"method must be one of {', '.join(METHODS)}, not {method!r}")
    settings = settings or OtaSettings()
    frame = Frame.of(lm, settings.frame if method == "ota" else "static")
    pieces_of, notes = _usable(lm, words, lm.max_length - len(frame.around), keep_single)
    recipe: dict[str, object] = {"fingerprint": lm.fingerprint, "method": method}
    if method == "ota":
        recipe["ota"] = settings.to_dict()
    job = _Job(lm, settings, method, recipe, stages if method == "ota" else None)
    matrix, resumed = job.run(list(pieces_of.values()), None, engine)
    return Approximation(WordVectors(pieces_of, matrix, {"model": lm.name, **recipe}), tuple(notes), resumed)


def condense(
    lm: LanguageModel,
    words: Sequence[str],
    vectors: np.ndarray,
    settings: OtaSettings | None = None,
    *,
    engine: Engine | None = None,
) -> np.ndarray:
    """One vector for each word, which acts in the model as ``word or <vector>`` does.

    :param words: a word may come more than once; one that is too long keeps its vector.
    :param vectors: what stands beside the word, and where the search begins. *Shape:* (words, dim)
    :return: *Shape:* (words, dim)
    """
    settings = settings or OtaSettings(steps=_STEPS_TO_CONDENSE)
    room = lm.max_length - len(Frame.of(lm, settings.frame).around) - len(lm.tokens.behind_a_word(JOIN)) - 1
    pieces = lm.tokens.pieces_of(words)
    chosen = [row for row, own in enumerate(pieces) if 0 < len(own) <= room]
    result = np.array(vectors, np.float32)
    result[chosen], _ = _Job(lm, settings).run([pieces[row] for row in chosen], result[chosen], engine)
    return result


def batches(lm: LanguageModel, pieces: Sequence[Sequence[int]]) -> list[list[int]]:
    """Row numbers in batches of words with the same number of pieces, so that nothing is padded.

    Long words come first: if memory does not suffice, that shows at once.
    """
    by_length: dict[int, list[int]] = {}
    for row, word in enumerate(pieces):
        by_length.setdefault(len(word), []).append(row)
    result = []
    for length in sorted(by_length, reverse=True):
        size = _WORDS_PER_BATCH if lm.device.type == "cpu" else max(1, _TOKENS_PER_BATCH // (length + 8))
        rows = by_length[length]
        result += [rows[at : at + size] for at in range(0, len(rows), size)]
    return result


@dataclass(frozen=True)
class _Part:
    """A batch of words: their pieces, and the vectors to condense with them, if any."""

    pieces: list[list[int]]
    behind: np.ndarray | None


@dataclass(frozen=True)
class _Job:
    """What the batches of one call share.

    :param recipe: what the vectors depend on besides the batch.
    :param curvature: of the model, if there is a Newton search. *Shape:* (dim, dim)
    """

    lm: LanguageModel
    settings: OtaSettings
    method: str = "ota"
    recipe: object = None
    stages: Stages | None = None
    curvature: np.ndarray | None = None

    def run(
        self, pieces: list[list[int]], behind: np.ndarray | None, engine: Engine | None
    ) -> tuple[np.ndarray, int]:
        """The vectors of all words, and how many an earlier run had made. *Shape:* (words, dim)"""
        rows = batches(self.lm, pieces)
        parts = [
            _Part([pieces[row] for row in part], None if behind is None else behind[part]) for part in rows
        ]
        searched = any(len(part.pieces[0]) > 1 or part.behind is not None for part in parts)
        newton = self.method == "ota" and self.settings.newton and searched
        task = replace(self, curvature=kept_curvature(self.lm, self.settings) if newton else None).vectors
        done = engine.map(task, parts) if engine else enumerate(in_threads(task, parts, self.lm.device.type))
        matrix, resumed = np.zeros((len(pieces), self.lm.dim), np.float32), 0
        with progress("Approximating", total=len(pieces), unit="words") as bar:
            for number, (vectors, reused) in done:
                matrix[rows[number]] = vectors
                resumed += len(vectors) if reused else 0
                bar.advance(len(vectors))
        if resumed:
            message(f"An earlier run had finished {resumed:,} of {len(pieces):,} words")
        return matrix, resumed

    def vectors(self, part: _Part) -> tuple[np.ndarray, bool]:
        """The vectors of a batch, and whether an earlier run made them. *Shape:* (words, dim)"""
        made = []

        def make() -> dict[str, np.ndarray]:
            made.append(self._compute(part).cpu().numpy())
            return {"vectors": made[0]}

        if self.stages is None:
            return make()["vectors"], False
        key = key_of(self.recipe, part.pieces)
        return self.stages.arrays("ota", key, make)["vectors"], not made

    def _compute(self, part: _Part) -> Tensor:
        lm = self.lm
        if self.method != "ota" or (len(part.pieces[0]) == 1 and part.behind is None):
            method = "avg" if self.method == "ota" else self.method  # of one piece: its own embedding
            return baseline(lm, torch.tensor(part.pieces, device=lm.device), method)
        approximator = Approximator(lm, self.settings, curvature=self.curvature)
        behind = None if part.behind is None else torch.from_numpy(part.behind).to(lm.device)
        return approximator.solve(approximator.batch(part.pieces, behind), start=behind)


def _usable(
    lm: LanguageModel, words: Sequence[str], most: int, keep_single: bool
) -> tuple[dict[str, list[int]], list[WordNote]]:
    """The words that get a vector with their pieces, in order, and remarks on the others."""
    pieces_of: dict[str, list[int]] = {}
    notes, seen = [], set()
    stripped = [" ".join(word.split()) for word in words]
    for word, pieces in zip(stripped, lm.tokens.pieces_of(stripped), strict=True):
        if word in seen:
            notes.append(WordNote(word, "duplicate", "given more than once", kept=word in pieces_of))
            continue
        seen.add(word)
        note = _note(lm, word, pieces, most, keep_single)
        if note is not None:
            notes.append(note)
        if note is None or note.kept:
            pieces_of[word] = pieces
    if not pieces_of:
        reason = f"; the first: {notes[0]}" if notes else ""
        raise NoWordsError(f"none of the {len(words)} words can be approximated{reason}")
    return pieces_of, notes


def _note(lm: LanguageModel, word: str, pieces: list[int], most: int, keep_single: bool) -> WordNote | None:
    if not word:
        return WordNote(word, "empty", "an empty word, left out")
    if not pieces:
        return WordNote(word, "unknown characters", "the tokenizer drops it altogether, left out")
    if lm.tokens.has_unknown(pieces):
        text = "has characters that the model's vocabulary lacks ([UNK]), left out"
        return WordNote(word, "unknown characters", text)
    if len(pieces) > most:
        text = f"has {len(pieces)} pieces, {lm.name} takes at most {most}, left out"
        return WordNote(word, "too long", text)
    if len(pieces) == 1:
        left_out = "left out; keep_single (--keep-single) gives it the model's own embedding"
        single = "keeps the model's own embedding" if keep_single else left_out
        return WordNote(word, "one piece", f"is already one piece, {single}", kept=keep_single)
    return None
