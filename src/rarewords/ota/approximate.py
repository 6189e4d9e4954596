"""One-token approximation of many words: averaged Newton steps or, as in the paper, Adam.

Words are computed in batches of equal length; with a cache, an interrupted run resumes.
"""

import random
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache, cached_property
from itertools import groupby

import numpy as np
import torch
from torch import Tensor

from rarewords._internal.cache import Cache, key_of
from rarewords._internal.engine import in_threads
from rarewords._internal.progress import progress
from rarewords.embeddings import WordEmbeddings
from rarewords.errors import InputError
from rarewords.lm import LanguageModel
from rarewords.models import cache_folder
from rarewords.ota.objective import Batch, Frame, Objective, baseline
from rarewords.ota.settings import BASELINES, OtaSettings

_WORDS_PER_BATCH = 64  # on a CPU, where larger batches are no faster
_TOKENS_PER_BATCH = 16384  # on a GPU: enough to keep it busy, whatever its memory
_DAMPING = 0.5  # in units of the mean curvature
_STEPS_IN_A_CONTEXT = 4  # Newton steps before the next context is drawn: fewer passes for the subwords
_WORDS, _DRAWS, _AT_ONCE = 256, 8, 64  # to estimate the curvature from


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
    if method not in (methods := ("ota", *BASELINES)):
        raise InputError(f"method must be one of {', '.join(methods)}, not {method!r}", code="settings")
    settings = settings or OtaSettings()
    subwords_of, skipped = _usable(lm, words, settings.frame if method == "ota" else "static", keep_single)
    subwords, approximator = list(subwords_of.values()), Approximator(lm, settings)
    matrix = np.zeros((len(subwords), lm.dim), np.float32)

    def solve(rows: list[int]) -> np.ndarray:
        """The embeddings of a batch, made now or by an earlier run. *Shape:* (words, dim)"""
        part = [subwords[row] for row in rows]

        def make() -> dict[str, np.ndarray]:
            return {"embeddings": approximator.solve(Batch.of(lm, part, settings.seed)).cpu().numpy()}

        key = key_of(lm.fingerprint, asdict(settings), part)
        return (cache.arrays("ota", key, make) if cache else make())["embeddings"]

    searched = []
    for rows in batches(lm, subwords):
        if method == "ota" and len(subwords[rows[0]]) > 1:
            searched.append(rows)
        else:  # a word of one subword has an embedding already, whatever the method
            ids = torch.tensor([subwords[row] for row in rows], device=lm.device)
            matrix[rows] = baseline(lm, ids, "avg" if method == "ota" else method).cpu().numpy()
    with progress("Approximating", total=sum(map(len, searched)), unit="words") as bar:
        for rows, embeddings in zip(searched, in_threads(solve, searched, lm.device.type), strict=True):
            matrix[rows] = embeddings
            bar.advance(len(rows))
    about: dict[str, object] = {"model": lm.name, "fingerprint": lm.fingerprint, "method": method}
    if method == "ota":
        about["ota"] = asdict(settings)
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


@dataclass(frozen=True, eq=False)
class Approximator:
    """One-token approximation on one model, as the settings ask for."""

    lm: LanguageModel
    settings: OtaSettings

    @cached_property
    def objective(self) -> Objective:
        return Objective(self.lm, self.settings)

    @cached_property
    def inverse(self) -> Tensor:
        """The inverse of the damped curvature, which turns a gradient into a step. *Shape:* (dim, dim)"""
        curvature = torch.from_numpy(kept_curvature(self.lm, self.settings)).double()
        damping = _DAMPING * curvature.diagonal().mean()
        inverse: Tensor = torch.linalg.inv(curvature + damping * torch.eye(self.lm.dim))
        return inverse.float().to(self.lm.device)

    @cached_property
    def length(self) -> float:
        embeddings = self.lm.embeddings.float()
        return self.settings.rate * float((embeddings - embeddings.mean(0)).norm(dim=1).mean())

    def solve(self, batch: Batch, start: Tensor | None = None) -> Tensor:
        """The mean embeddings of the second half of Newton's steps, or those after the last step of Adam.

        If memory runs out, each half of the batch is solved by itself.

        :param start: where to begin; by default as the settings say. *Shape:* (words, dim)
        :return: float32. *Shape:* (words, dim)
        """
        steps = self.settings.steps
        first = steps // 2 if self.settings.newton else steps - 1
        total = torch.zeros(len(batch.keys), self.lm.dim, device=self.lm.device)
        try:
            for step, embeddings in enumerate(self.steps(batch, start)):
                if step >= first:
                    total += embeddings
            return total / (steps - first)
        except torch.OutOfMemoryError:
            if len(batch.keys) == 1:
                word = f"a word of {batch.subwords.shape[1]} subwords"
                problem = f"{word} does not fit into the memory of {self.lm.device}; use a device with more"
                raise InputError(problem, code="memory") from None
        torch.cuda.empty_cache()
        middle = len(batch.keys) // 2
        solved = []
        for rows in (slice(middle), slice(middle, None)):
            half = Batch(batch.subwords[rows], batch.keys[rows])
            solved.append(self.solve(half, None if start is None else start[rows]))
        return torch.cat(solved)

    def steps(self, batch: Batch, start: Tensor | None = None) -> Iterator[Tensor]:
        """Minimise d(v | l, r), one context per word and step; yields the embeddings after each step.

        What one embedding cannot do for several subwords differs from context to context: the best embedding
        for a few contexts is not the best for all, and may be very long. So every step has a new context.
        Newton steps are all of one length and go where the gradient of their context points, in the metric
        of the curvature.
        """
        newton, objective = self.settings.newton, self.objective
        if start is None:
            mean = baseline(self.lm, batch.subwords, "avg")
            start = mean if self.settings.start == "mean" else torch.zeros_like(mean)
        embeddings = start.detach().clone().requires_grad_()
        adam = torch.optim.Adam([embeddings], lr=self.settings.rate, fused=embeddings.is_cuda)
        each = _STEPS_IN_A_CONTEXT if newton else 1
        redrawn = len(objective.frame.drawn) > 0  # the static frame has one context
        for step in range(self.settings.steps):
            context = step // each
            if step == 0 or (redrawn and step % each == 0):
                targets = objective.targets(batch, context)
            adam.zero_grad()
            objective.distance(embeddings, targets, batch.keys, context).sum().backward()
            if newton:
                assert embeddings.grad is not None
                direction = torch.nn.functional.normalize(embeddings.grad @ self.inverse, dim=1)
                embeddings.data -= self.length * direction
            else:
                adam.step()
            yield embeddings.detach()


def kept_curvature(lm: LanguageModel, settings: OtaSettings) -> np.ndarray:
    """The curvature for a model and settings, kept in the cache. *Shape:* (dim, dim)"""
    # Among words of the whole vocabulary it serves better than among the frequent ones of the search.
    objective = Objective(lm, settings, frequent=False)
    about = settings.frame, objective.layers, settings.balanced, _WORDS, _DRAWS
    key = key_of(lm.fingerprint, lm.model.config.to_json_string(), lm.device.type, *about)

    @cache
    def measured() -> dict[str, np.ndarray]:
        return {"curvature": curvature(objective)}

    with suppress(InputError):  # the cache cannot be written; it only saves time
        return Cache(cache_folder() / "ota").arrays("curvature", key, measured)["curvature"]
    return measured()["curvature"]


def curvature(objective: Objective, words: int = _WORDS, draws: int = _DRAWS) -> np.ndarray:
    """The second derivative of the distance by the embedding, mean over some of the model's own words.

    At the word's own embedding d is zero and its second derivative is 2 J'J, where J is the derivative of the
    states, in the units of the objective. For random signs r, the gradient of the sum of r times the states
    is J'r, and the mean of its squares is J'J.

    :param draws: how many r for each word.
    :return: *Shape:* (dim, dim)
    """
    lm = objective.lm
    known = sorted(lm.whole_words.values()) or list(range(len(lm.embeddings)))
    chosen = random.Random(0).sample(known, min(words, len(known)))

    def squares(tokens: list[int]) -> Tensor:
        batch = Batch.of(lm, [[token] for token in tokens], seed=0)
        embeddings = baseline(lm, batch.subwords, "avg").requires_grad_()
        states = objective.states(embeddings, batch.keys, context=0).float()
        states = states / objective.units(states.detach())
        generator = torch.Generator().manual_seed(tokens[0])
        total = torch.zeros(lm.dim, lm.dim, dtype=torch.float64)
        for _ in range(draws):
            signs = torch.randint(2, states.shape, generator=generator).to(states) * 2 - 1
            (gradient,) = torch.autograd.grad((states * signs).sum(), embeddings, retain_graph=True)
            total += (gradient.T @ gradient).double().cpu()
        return total

    parts = [chosen[at : at + _AT_ONCE] for at in range(0, len(chosen), _AT_ONCE)]
    total = torch.zeros(lm.dim, lm.dim, dtype=torch.float64)
    with progress("Measuring the model's curvature", total=len(chosen), unit="words") as bar:
        for part, found in zip(parts, in_threads(squares, parts, lm.device.type), strict=True):
            total += found
            bar.advance(len(part))
    return (2 * total / (len(chosen) * draws)).float().numpy()
