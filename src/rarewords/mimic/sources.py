"""What is known of a word from its sentences, its spelling and its pieces, and how it is weighed."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from rarewords.mimic.learner_settings import LearnerSettings
from rarewords.mimic.readings import KnownWords

_LEAST_RESEMBLANCE = 0.15  # below, the most similar spelling is a coincidence
_DIRECTION = 0.5  # how long spelling and pieces are as inputs of a joint matrix, beside readings


@dataclass(frozen=True)
class Sources:
    """What is known of some words, before it is weighed.

    :param reading: mean reading of each word. *Shape:* (words, dim)
    :param contexts: how many contexts were read. *Shape:* (words,)
    :param spelling: *Shape:* (words, dim)
    :param resemblance: *Shape:* (words,)
    :param pieces: one-token approximations; zeros where none was asked for. *Shape:* (words, dim)
    """

    reading: Tensor
    contexts: Tensor
    spelling: Tensor
    resemblance: Tensor
    pieces: Tensor


def weigh(
    sources: Sources, known: KnownWords, settings: LearnerSettings, transform: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Vectors, and the share of the readings in each; not a number where there is nothing to go by.

    *Shapes:* (words, dim), (words,)
    """
    read_any = (sources.contexts > 0).float()
    weight = torch.stack(
        [
            read_any,
            torch.where(read_any > 0, settings.spelling * _trust(sources, settings), 1.0),
            torch.where(read_any > 0, settings.pieces, settings.pieces_alone),
        ],
        dim=1,
    )
    if transform is not None and is_joint(transform):
        vectors = known.at(joint_inputs(sources, known, settings) @ transform, settings.scale)
    else:
        centred = sources.reading.to(torch.float32) - known.mean
        moved = known.directions(known.mean + centred)
        if transform is not None and settings.matrix:
            fitted = known.directions(known.mean + centred @ transform)
            mixed = settings.matrix * fitted + (1 - settings.matrix) * moved
            moved = known.directions(known.mean + mixed)
        spelling, pieces = known.directions(sources.spelling), known.directions(sources.pieces)
        summed = weight[:, 0:1] * moved + weight[:, 1:2] * spelling + weight[:, 2:3] * pieces
        vectors = known.at(summed, settings.scale)
    nothing = (read_any == 0) & (sources.resemblance < _LEAST_RESEMBLANCE)
    share = weight[:, 0] / weight.sum(dim=1)
    return vectors, torch.where(nothing, torch.full_like(share, float("nan")), share)


def is_joint(transform: Tensor | None) -> bool:
    """Whether a matrix takes all three sources, and not readings alone."""
    return transform is not None and len(transform) == 3 * transform.shape[1]


def joint_inputs(sources: Sources, known: KnownWords, settings: LearnerSettings) -> Tensor:
    """Reading, spelling and pieces side by side, for one matrix over all of them. *Shape:* (words, 3 dim)"""
    unit = _DIRECTION * known.spread
    spelling = known.directions(sources.spelling) * _trust(sources, settings)[:, None]
    pieces = known.directions(sources.pieces)
    return torch.cat([sources.reading.float() - known.mean, unit * spelling, unit * pieces], dim=1)


def _trust(sources: Sources, settings: LearnerSettings) -> Tensor:
    """How much the spelling counts, from 0 to 1. *Shape:* (words,)"""
    return torch.sigmoid((sources.resemblance - settings.resemblance) / settings.resemblance_width)
