"""What a model knows of words by their pieces, as vectors: made beforehand where they were, now where not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from rarewords.errors import InputError
from rarewords.lm import LanguageModel
from rarewords.mimic.readings import KnownWords
from rarewords.vectors import WordVectors


def approximations_of(
    lm: LanguageModel,
    known: KnownWords,
    words: Sequence[str],
    wanted: np.ndarray,
    ready: WordVectors | None = None,
) -> Tensor:
    """One-token approximations; the embedding of a word of one piece, the mean for one not asked for.

    :param wanted: which of the words are asked for. *Shape:* (words,)
    :param ready: approximations made beforehand.
    :return: *Shape:* (words, dim)
    """
    from rarewords.ota import approximate

    result = known.mean.repeat(len(words), 1)
    asked = list(dict.fromkeys(word for word, yes in zip(words, wanted, strict=True) if yes))
    missing = [word for word in asked if ready is None or word not in ready]
    try:
        made = approximate(lm, missing, keep_single=True).vectors if missing else None
    except InputError:  # none of them has pieces the model knows
        made = None
    rows, chosen = [], []
    for row, word in enumerate(words):
        found = next((one for one in (ready, made) if one is not None and word in one), None)
        if wanted[row] and found is not None:
            rows.append(row)
            chosen.append(found[word])
    if rows:
        result[rows] = torch.from_numpy(np.stack(chosen)).to(result)
    return result
