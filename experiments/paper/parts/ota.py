"""Part ``ota``: how near one-token approximation comes to words whose embedding is known.

A one-subword word has an embedding of its own, so its approximation has a right answer. The search starts
from zero, since a start made of the word's subwords would be that answer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch

from experiments.paper import published
from experiments.paper.experiment import Experiment, tf32
from experiments.paper.figures import COLOURS, new_figure
from experiments.paper.part import EMPTY, Check, Claim, Part, Stage, Wait, p_text
from experiments.paper.settings import sample
from rarewords._internal.cache import key_of
from rarewords._internal.files import write_json
from rarewords._internal.progress import progress
from rarewords.errors import InputError
from rarewords.lm import LanguageModel
from rarewords.ota.approximate import Approximator
from rarewords.ota.objective import Batch
from rarewords.ota.settings import OtaSettings
from rarewords.wnlampro.comparison import Difference, compare_values


def one_subword_words(lm: LanguageModel, count: int, seed: int) -> list[str]:
    """A seeded choice of the model's one-subword words."""
    words = sorted(lm.whole_words)
    if count > len(words):
        raise InputError(
            f"{lm.name} has {len(words):,} one-subword words, so {count:,} cannot be chosen", code="settings"
        )
    return sample(words, count, seed)


def marks_up_to(steps: int) -> tuple[int, ...]:
    """The start, 1, 10, then every hundred, and the last: ``250 -> (0, 1, 10, 100, 200, 250)``."""
    marks = {0, 1, 10, steps, *range(100, steps + 1, 100)}
    return tuple(sorted(mark for mark in marks if mark <= steps))


def measure(lm: LanguageModel, words: Sequence[str], settings: OtaSettings, *, label: str) -> np.ndarray:
    """Approximate one-subword words as if they had several subwords; record the distance on the way.

    :return: cosine distances to the model's own embeddings, at each of the marks. *Shape:* (marks, words)
    """
    ids, marks = [lm.whole_words[word] for word in words], marks_up_to(settings.steps)
    own = lm.embeddings[torch.tensor(ids, device=lm.device)].float()
    rows = [torch.ones(len(ids), device=lm.device)]  # on the device, so that no step waits for a copy
    batch = Batch.of(lm, [[token] for token in ids], settings.seed)
    with progress(label, total=settings.steps, unit="steps") as bar:
        for step, embeddings in enumerate(Approximator(lm, settings).steps(batch, torch.zeros_like(own)), 1):
            bar.advance()
            if step in marks:
                rows.append(1 - torch.nn.functional.cosine_similarity(embeddings, own))
    return torch.stack(rows).cpu().numpy()


FRAMES = ("static", "random")
_MARKS = (1, 10, 100, 200, 500, 1000, 2000, 3000, 4000, 5000)
_FEW = 100  # the paper's "a few iterations": its first mark of a hundred


@dataclass(frozen=True)
class OtaPart(Part):
    """The curves of both kinds of contexts.

    :param means: the mean distance at each mark, by kind of context.
    :param random_nearer: how much nearer RANDOM is than STATIC, at each mark.
    :param at_best: the same with each at its best mark.
    :param risen: how much farther away words are at the last mark than at RANDOM's best.
    """

    name = "ota"
    title = "One-token approximation: STATIC and RANDOM contexts"

    words: int
    marks: tuple[int, ...]
    means: dict[str, tuple[float, ...]]
    random_nearer: tuple[Difference, ...]
    at_best: Difference
    risen: Difference

    @classmethod
    def run(cls, experiment: Experiment, folder: Path) -> Self:
        settings, words = experiment.settings, _words(experiment)
        write_json(folder / "ota-words.json", words)
        static, random = curves = [_distances(experiment, frame) for frame in FRAMES]
        means = [curve.mean(axis=1) for curve in curves]
        best_static, best_random = (curve[mean.argmin()] for curve, mean in zip(curves, means, strict=True))
        return cls(
            len(words),
            marks_up_to(settings.curve_steps),
            {frame: tuple(mean.tolist()) for frame, mean in zip(FRAMES, means, strict=True)},
            tuple(map(compare_values, static, random)),
            compare_values(best_static, best_random),
            compare_values(random[-1], best_random),
        )

    @classmethod
    def stages(cls, experiment: Experiment) -> Sequence[Stage]:
        return [Stage(Wait.NOTHING, partial(_distances, experiment, frame)) for frame in FRAMES]

    def markdown(self, figures: Path) -> Sequence[str]:
        self._draw(figures / "ota.svg")
        rows = []
        for mark in sorted({mark for mark in _MARKS if mark in self.marks} | {self.marks[-1]}):
            ours = [self.means[frame][self.marks.index(mark)] for frame in FRAMES]
            theirs = [published.OTA_CURVES[frame].get(mark) for frame in FRAMES]
            rows.append([f"{mark:,}", *(f"{distance:.4f}" if distance else EMPTY for distance in (*ours, *theirs))])
        header = ["iteration", "STATIC", "RANDOM", "STATIC, paper", "RANDOM, paper"]
        return [self.text("text"), self.picture(), self.table(header, rows)]

    def claims(self) -> Sequence[Claim]:
        static, random, last, test = self.means["static"], self.means["random"], self.marks[-1], self.at_best
        marked = zip(self.marks, self.random_nearer, strict=True)
        won = [difference.direction > 0 for mark, difference in marked if mark >= min(_FEW, last)]
        ahead = f"RANDOM significantly nearer at {sum(won)} of {len(won)} marks"
        at_best = (
            f"{min(random):.4f} against {min(static):.4f}; RANDOM nearer for {test.wins:,}, "
            f"STATIC for {test.losses:,}, {p_text(test.p_value)}"
        )
        p = self.risen.p_value
        rises = f"{min(random):.4f} at {self._best:,}, {random[-1]:.4f} at {last:,}, {p_text(p)}"
        return [
            Claim.of("ota-ahead", Check(ahead, all(won))),
            Claim.of("ota-best", Check(at_best, test.direction > 0)),
            Claim.of("ota-rises", Check(rises, self._best < last and self.risen.direction > 0)),
        ]

    def reasons(self, facts: Mapping[str, Any]) -> Sequence[str]:
        falling = self._best == self.marks[-1]
        return [*super().reasons(facts), *([self.text("falling")] if falling else [])]

    @property
    def _best(self) -> int:
        return self.marks[int(np.argmin(self.means["random"]))]

    def _draw(self, path: Path) -> None:
        """Distance by iteration; the paper's curves in grey."""
        with new_figure(path, (6.4, 3.6)) as (_, axes):
            for frame, line, colour in (("static", "--", COLOURS[1]), ("random", "-", COLOURS[0])):
                paper = published.OTA_CURVES[frame]
                pale = {"color": "#b4b4b4", "linewidth": 1.3, "label": f"{frame.upper()}, paper"}
                axes.plot(list(paper), list(paper.values()), line, **pale)
                style = {"color": colour, "linewidth": 1.8, "label": frame.upper()}
                axes.plot(self.marks, self.means[frame], line, **style)
            axes.set(xlabel="Iterations", ylabel="Mean cosine distance")
            axes.set(xlim=(0, self.marks[-1]), ylim=(0, 1.02))
            axes.grid(axis="y", linewidth=0.4, color="#dddddd")
            axes.legend(frameon=False)


def _words(experiment: Experiment) -> list[str]:
    return one_subword_words(experiment.lm, experiment.settings.curve_words, experiment.settings.seed)


def _distances(experiment: Experiment, frame: str) -> np.ndarray:
    lm, size, label = experiment.lm, experiment.settings, f"OTA figure, {frame.upper()}"
    words = _words(experiment)
    settings = OtaSettings.preset("paper", frame=frame, steps=size.curve_steps, seed=size.seed)

    def make(folder: Path, _: Path) -> None:
        with tf32():
            np.save(folder / "distances.npy", measure(lm, words, settings, label=label))

    recipe = {"model": lm.fingerprint, "settings": asdict(settings), "words": key_of(words)}
    distances: np.ndarray = np.load(experiment.cache.folder(label, recipe, make) / "distances.npy")
    return distances
