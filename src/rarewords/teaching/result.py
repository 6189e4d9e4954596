"""What teaching did: which words, how each was judged, what the model answers now."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rarewords.teaching.learning import Learned
from rarewords.teaching.probing import RelationScore
from rarewords.teaching.settings import TeachSettings


@dataclass(frozen=True)
class Taught:
    """The report of one teaching.

    :param words: the words the model was taught.
    :param worse: words left out because their vector did worse than their pieces on held-out sentences
        (taught all the same, and also in ``words``, with ``keep_all``).
    :param refused: words that were not tried or got no vector, and why.
    :param scores: WNLaMPro's mean reciprocal ranks of the words taught, by relation and ``all``.
    :param unmeasured: why there are no such scores; empty when there are.
    """

    folder: Path
    model: str
    settings: TeachSettings
    words: tuple[Learned, ...]
    worse: tuple[Learned, ...]
    refused: dict[str, str]
    scores: tuple[RelationScore, ...]
    ranks: tuple[dict[str, Any], ...]
    unmeasured: str

    @property
    def unjudged(self) -> tuple[str, ...]:
        """Words taught from text that left nothing to judge by."""
        return tuple(word.word for word in self.words if word.judgement is None)

    @property
    def held_out(self) -> tuple[float, float] | None:
        """Mean log-probability of true neighbours over the judged words taught, before and after."""
        judged = [word.judgement for word in self.words if word.judgement is not None]
        if not judged:
            return None
        return (
            float(np.mean([one.pieces for one in judged])),
            float(np.mean([one.vector for one in judged])),
        )

    @property
    def fell(self) -> tuple[str, ...]:
        """The relations of WNLaMPro whose score is lower than before."""
        return tuple(score.relation for score in self.scores if score.after < score.before)

    def as_json(self) -> dict[str, Any]:
        """Everything but the place of the folder, so that the same teaching gives the same file."""
        before, after = self.held_out or (None, None)
        return {
            "format": "rarewords.teaching/1",
            "model": self.model,
            "settings": self.settings.to_dict(),
            "held_out": {"before": _rounded(before), "after": _rounded(after)},
            "wnlampro": {
                "scores": [asdict(score) for score in self.scores],
                "ranks": list(self.ranks),
                "fell": list(self.fell),
                "unmeasured": self.unmeasured,
            },
            "words": [asdict(word) for word in self.words],
            "worse": [asdict(word) for word in self.worse],
            "unjudged": list(self.unjudged),
            "refused": dict(self.refused),
        }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
