"""One-token approximation of many words: in batches of equal length, resumable, in one process or several."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby

import numpy as np
import torch

from rarewords._internal.cache import Cache, key_of
from rarewords._internal.engine import in_threads
from rarewords._internal.progress import progress
from rarewords.embeddings import WordEmbeddings
from rarewords.errors import InputError
from rarewords.lm import LanguageModel
from rarewords.ota.contexts import Frame
from rarewords.ota.objective import Batch, baseline
from rarewords.ota.settings import METHODS, OtaSettings
from rarewords.ota.solver import Approximator

_WORDS_PER_BATCH = 64  # on a CPU, where larger batches are no faster
_TOKENS_PER_BATCH = 16384  # on a GPU: enough to keep it busy, whatever its memory


@dataclass(frozen=True)
class Approximation:
    """The embeddings of many words; ``skipped``: words without an embedding, and why."""

    embeddings: WordEmbeddings
    skipped: dict[str, str]


def one_token_approximation(
    lm: LanguageModel,
    words: Sequence[str],
    settings: OtaSettings | None = None,
    *,
    method: str = "ota",
    keep_single: bool = False,
    cache: Cache | None = None,
) -> Approximation:
    """One embedding for each word or phrase of several subwords, which acts in the model as its subwords do.

    >>> result = one_token_approximation(LanguageModel.from_pretrained(), ["kumquat"])  # doctest: +SKIP
    >>> result.embeddings["kumquat"].shape  # doctest: +SKIP
    (384,)

    :param settings: by default those of preset ``fast``.
    :param method: ``ota``, or a baseline: ``first``, ``last`` or ``avg`` of the subwords' embeddings.
    :param keep_single: give words of one subword the model's own embedding instead of leaving them out.
    :param cache: keeps finished batches, so that an interrupted run resumes.
    """
    if method not in METHODS:
        raise InputError(f"method must be one of {', '.join(METHODS)}, not {method!r}", code="settings")
    settings = settings or OtaSettings()
    subwords_of, skipped = _usable(lm, words, settings.frame if method == "ota" else "static", keep_single)
    subwords = list(subwords_of.values())
    matrix = np.zeros((len(subwords), lm.dim), np.float32)
    searched = []
    for rows in batches(lm, subwords):
        if method == "ota" and len(subwords[rows[0]]) > 1:
            searched.append(rows)
        else:  # a word of one subword has an embedding already, whatever the method
            ids = torch.tensor([subwords[row] for row in rows], device=lm.device)
            matrix[rows] = baseline(lm, ids, "avg" if method == "ota" else method).cpu().numpy()
    task = partial(_solved, Approximator(lm, settings), cache)
    parts = [[subwords[row] for row in rows] for rows in searched]
    with progress("Approximating", total=sum(map(len, parts)), unit="words") as bar:
        for number, embeddings in enumerate(in_threads(task, parts, lm.device.type)):
            matrix[searched[number]] = embeddings
            bar.advance(len(embeddings))
    about: dict[str, object] = {"model": lm.name, "fingerprint": lm.fingerprint, "method": method}
    if method == "ota":
        about["ota"] = settings.to_dict()
    return Approximation(WordEmbeddings(subwords_of, matrix, about), skipped)


def batches(lm: LanguageModel, subwords: Sequence[Sequence[int]]) -> list[list[int]]:
    """Row numbers in batches of words with the same number of subwords, so that nothing is padded.

    Long words come first: if memory does not suffice, that shows at once.
    """
    result: list[list[int]] = []
    long_first = sorted(range(len(subwords)), key=lambda row: -len(subwords[row]))
    for length, same in groupby(long_first, key=lambda row: len(subwords[row])):
        size = _WORDS_PER_BATCH if lm.device.type == "cpu" else max(1, _TOKENS_PER_BATCH // (length + 8))
        rows = list(same)
        result += [rows[at : at + size] for at in range(0, len(rows), size)]
    return result


def _solved(approximator: Approximator, cache: Cache | None, subwords: list[list[int]]) -> np.ndarray:
    """The embeddings of a batch, made now or by an earlier run. *Shape:* (words, dim)"""
    lm, settings = approximator.lm, approximator.settings

    def make() -> dict[str, np.ndarray]:
        return {"embeddings": approximator.solve(Batch.of(lm, subwords, settings.seed)).cpu().numpy()}

    key = key_of(lm.fingerprint, settings.to_dict(), subwords)
    return (cache.arrays("ota", key, make) if cache else make())["embeddings"]


def _usable(
    lm: LanguageModel, words: Sequence[str], frame: str, keep_single: bool
) -> tuple[dict[str, list[int]], dict[str, str]]:
    """The words that get an embedding with their subwords, in order; the others, and why they get none."""
    most = lm.max_length - len(Frame.of(lm, frame).around)
    subwords_of: dict[str, list[int]] = {}
    skipped: dict[str, str] = {}
    stripped = list(dict.fromkeys(" ".join(word.split()) for word in words))
    for word, subwords in zip(stripped, lm.tokens.subwords_of(stripped), strict=True):
        if not word or not subwords:
            skipped[word] = "the tokenizer drops it altogether"
        elif lm.tokens.has_unknown(subwords):
            skipped[word] = "has characters that the model's vocabulary lacks ([UNK])"
        elif len(subwords) > most:
            skipped[word] = f"has {len(subwords)} subwords, {lm.name} takes at most {most}"
        elif len(subwords) == 1 and not keep_single:
            skipped[word] = "is already one subword; keep_single keeps the model's embedding"
        else:
            subwords_of[word] = subwords
    return subwords_of, skipped
