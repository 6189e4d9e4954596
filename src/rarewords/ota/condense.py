"""One vector that acts as ``word / <vector>`` does.

Showing a model a word's own pieces and a learned vector behind a slash often serves better than the vector
alone, but needs the text rewritten wherever the word is used. What one-token approximation does for pieces it
does for pieces, slash and vector as well: it finds the one vector around which the model computes the same.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from rarewords.lm import LanguageModel
from rarewords.ota.run import Approximator, batch_size
from rarewords.ota.settings import OtaSettings
from rarewords.progress import progress

_WAY = 0.25  # steps times the rate of the first; chosen on WNLaMPro dev with the bundled model


def condense(
    model: LanguageModel,
    pieces: Sequence[Sequence[int]],
    vectors: Tensor,
    steps: int,
    *,
    seed: int = 0,
    words_per_batch: int | None = None,
) -> Tensor:
    """For each word one vector in place of its pieces, a slash and its vector.

    The search starts at the vector itself and goes only part of the way, however many the steps: all the way
    lies what the pieces do wrong as well.

    :param pieces: the token ids of each word.
    :param vectors: the vector behind the slash. *Shape:* (words, dim)
    :param words_per_batch: how many words are computed together; changes the speed, not the vectors.
    :return: float32, on the model's device. *Shape:* (words, dim)
    """
    settings = OtaSettings(averaging_steps=steps, averaging_rate=_WAY / steps, seed=seed)
    approximator = Approximator(model, settings)
    vectors = vectors.to(model.device, torch.float32)
    slash = model.pieces("/")
    by_length: dict[int, list[int]] = {}
    for row, tokens in enumerate(pieces):
        by_length.setdefault(len(tokens), []).append(row)
    result = vectors.clone()
    with progress("Condensing", total=len(pieces), unit="words") as bar:
        for length in sorted(by_length, reverse=True):  # should memory not suffice, it shows at once
            rows = by_length[length]
            size = words_per_batch or batch_size(model, settings, length + len(slash) + 1)
            for at in range(0, len(rows), size):
                part = rows[at : at + size]
                # The last token only holds the vector's place.
                shown = [[*pieces[row], *slash, 0] for row in part]
                batch = approximator.batch(shown, vectors[part])
                result[part] = approximator.solve(batch, start=vectors[part]).vectors
                bar.advance(len(part))
    return result
