"""One-token approximation of many words: in batches of equal length, resumable, in one process or several."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby

import numpy as np
import torch

from rarewords.engine import Engine, in_threads
from rarewords.errors import InputError
from rarewords.lm import LanguageModel
from rarewords.ota.contexts import Frame
from rarewords.ota.objective import JOIN, Batch, baseline
from rarewords.ota.settings import METHODS, OtaSettings
from rarewords.ota.solver import Approximator, kept_curvature
from rarewords.progress import progress
from rarewords.stages import Stages, key_of
from rarewords.vectors import WordVectors

_WORDS_PER_BATCH = 64  # on a CPU, where larger batches are no faster
_TOKENS_PER_BATCH = 16384  # on a GPU: enough to keep it busy, whatever its memory


@dataclass(frozen=True)
class Approximation:
    """The vectors of many words; ``refused``: words without a vector, and why."""

    vectors: WordVectors
    refused: dict[str, str]


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
    pieces_of, refused = _usable(lm, words, settings.frame if method == "ota" else "static", keep_single)
    pieces = list(pieces_of.values())
    matrix = np.zeros((len(pieces), lm.dim), np.float32)
    for rows in batches(lm, pieces):
        own = torch.tensor([pieces[row] for row in rows], device=lm.device)
        matrix[rows] = baseline(lm, own, "avg" if method == "ota" else method).cpu().numpy()
    if method == "ota":
        several = [row for row, own in enumerate(pieces) if len(own) > 1]  # the others have a vector now
        chosen = [pieces[row] for row in several]
        matrix[several] = _search(lm, chosen, settings, stages=stages, engine=engine)
    about = {"model": lm.name, **_recipe(lm, method, settings)}
    return Approximation(WordVectors(pieces_of, matrix, about), refused)


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
    :param vectors: what stands beside the word. *Shape:* (words, dim)
    :return: *Shape:* (words, dim)
    """
    settings = settings or OtaSettings()
    room = lm.max_length - len(Frame.of(lm, settings.frame).around) - len(lm.tokens.behind_a_word(JOIN)) - 1
    pieces = lm.tokens.pieces_of(words)
    chosen = [row for row, own in enumerate(pieces) if 0 < len(own) <= room]
    result = np.array(vectors, np.float32)
    result[chosen] = _search(lm, [pieces[row] for row in chosen], settings, result[chosen], engine=engine)
    return result


def batches(lm: LanguageModel, pieces: Sequence[Sequence[int]]) -> list[list[int]]:
    """Row numbers in batches of words with the same number of pieces, so that nothing is padded.

    Long words come first: if memory does not suffice, that shows at once.
    """
    result: list[list[int]] = []
    long_first = sorted(range(len(pieces)), key=lambda row: -len(pieces[row]))
    for length, same in groupby(long_first, key=lambda row: len(pieces[row])):
        size = _WORDS_PER_BATCH if lm.device.type == "cpu" else max(1, _TOKENS_PER_BATCH // (length + 8))
        rows = list(same)
        result += [rows[at : at + size] for at in range(0, len(rows), size)]
    return result


def _search(
    lm: LanguageModel,
    pieces: list[list[int]],
    settings: OtaSettings,
    behind: np.ndarray | None = None,
    *,
    stages: Stages | None = None,
    engine: Engine | None = None,
) -> np.ndarray:
    """The vectors of words. *Shape:* (words, dim)

    :param behind: the vectors to condense with the words, if any. *Shape:* (words, dim)
    """
    rows = batches(lm, pieces)
    parts = [([pieces[row] for row in part], None if behind is None else behind[part]) for part in rows]
    curvature = kept_curvature(lm, settings) if settings.newton and parts else None
    task = partial(_solved, Approximator(lm, settings, curvature=curvature), stages)
    done = engine.map(task, parts) if engine else enumerate(in_threads(task, parts, lm.device.type))
    matrix = np.zeros((len(pieces), lm.dim), np.float32)
    with progress("Approximating", total=len(pieces), unit="words") as bar:
        for number, vectors in done:
            matrix[rows[number]] = vectors
            bar.advance(len(vectors))
    return matrix


def _solved(
    approximator: Approximator, stages: Stages | None, part: tuple[list[list[int]], np.ndarray | None]
) -> np.ndarray:
    """The vectors of a batch, made now or by an earlier run. *Shape:* (words, dim)"""
    lm, settings, (pieces, behind) = approximator.lm, approximator.settings, part

    def make() -> dict[str, np.ndarray]:
        batch = Batch.of(lm, pieces, settings.seed, behind)
        return {"vectors": approximator.solve(batch).cpu().numpy()}

    if stages is None:
        return make()["vectors"]
    return stages.arrays("ota", key_of(_recipe(lm, "ota", settings), pieces), make)["vectors"]


def _recipe(lm: LanguageModel, method: str, settings: OtaSettings) -> dict[str, object]:
    """What vectors depend on besides the pieces."""
    used = {"ota": settings.to_dict()} if method == "ota" else {}
    return {"fingerprint": lm.fingerprint, "method": method, **used}


def _usable(
    lm: LanguageModel, words: Sequence[str], frame: str, keep_single: bool
) -> tuple[dict[str, list[int]], dict[str, str]]:
    """The words that get a vector with their pieces, in order; the others, and why they get none."""
    most = lm.max_length - len(Frame.of(lm, frame).around)
    pieces_of: dict[str, list[int]] = {}
    refused: dict[str, str] = {}
    stripped = list(dict.fromkeys(" ".join(word.split()) for word in words))
    for word, pieces in zip(stripped, lm.tokens.pieces_of(stripped), strict=True):
        if not word or not pieces:
            refused[word] = "the tokenizer drops it altogether"
        elif lm.tokens.has_unknown(pieces):
            refused[word] = "has characters that the model's vocabulary lacks ([UNK])"
        elif len(pieces) > most:
            refused[word] = f"has {len(pieces)} pieces, {lm.name} takes at most {most}"
        elif len(pieces) == 1 and not keep_single:
            refused[word] = "is already one piece; keep_single (--keep-single) keeps the model's embedding"
        else:
            pieces_of[word] = pieces
    return pieces_of, refused
