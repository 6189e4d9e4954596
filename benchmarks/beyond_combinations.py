"""The combinations that ``beyond.py`` measures."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

BASE: dict[str, Any] = {"spelling": 0.0, "scale": 1.0}


@dataclass(frozen=True)
class Combination:
    """How vectors are made and used.

    :param reading: ``masked``, ``shown`` or ``both``.
    :param fitted: use the matrix A; otherwise the identity.
    :param settings: what differs from ``BASE``.
    :param slash: show ``word / <vector>`` instead of the vector alone.
    """

    reading: str
    fitted: bool = False
    settings: dict[str, Any] = field(default_factory=dict)
    slash: bool = False

    @property
    def takes_steps(self) -> bool:
        """Whether it takes gradient steps for every word; on a CPU they take longer than reading."""
        return bool(self.settings.get("condense"))


_SPELLED = {"spelling": 0.5}
_ALONE = {"spelling": 0.5, "pieces_alone": 0.5}
_CONDENSED = {**_ALONE, "condense": True}

COMBINATIONS = {
    "masked": Combination("masked"),
    "masked, A": Combination("masked", True),
    "shown": Combination("shown"),
    "shown, A": Combination("shown", True),
    "shown, A, scale .85": Combination("shown", True, {"scale": 0.85}),
    "shown, A, scale 1.15": Combination("shown", True, {"scale": 1.15}),
    "shown, A, scale 1.3": Combination("shown", True, {"scale": 1.3}),
    "both, A": Combination("both", True),
    "shown, spelling .5": Combination("shown", False, _SPELLED),
    "shown, A, spelling .5": Combination("shown", True, _SPELLED),
    "shown, A, spelling 1": Combination("shown", True, {"spelling": 1.0}),
    "shown, A, spelling .5 from .6": Combination("shown", True, {**_SPELLED, "resemblance": 0.6}),
    "shown, A, spelling .5 from .4": Combination("shown", True, {**_SPELLED, "resemblance": 0.4}),
    "both, A, spelling .5, alone .5": Combination("both", True, _ALONE),
    "both, A, spelling .5, scale 1.15": Combination("both", True, {**_SPELLED, "scale": 1.15}),
    "shown, A, spelling .5, alone .5, condensed": Combination("shown", True, _CONDENSED),
    "both, A, spelling .5, alone .5, condensed": Combination("both", True, _CONDENSED),
    "both, A, spelling .5, alone .5, scale 1.3, condensed": Combination(
        "both", True, {**_CONDENSED, "scale": 1.3}
    ),
    "both, half A, spelling .5, alone .5": Combination("both", True, {**_ALONE, "matrix": 0.5}),
    "slash masked": Combination("masked", slash=True),
    "slash masked, A, spelling .5": Combination("masked", True, _SPELLED, slash=True),
    "slash shown, A": Combination("shown", True, slash=True),
    "slash both, A": Combination("both", True, slash=True),
    "slash both, A, spelling .5": Combination("both", True, _SPELLED, slash=True),
    "slash both, A, spelling .5, scale .85": Combination(
        "both", True, {**_SPELLED, "scale": 0.85}, slash=True
    ),
    # Asked for the bundled model gte-mlm.
    "both, A, spelling .5, alone .5, scale 1.15": Combination("both", True, {**_ALONE, "scale": 1.15}),
    "both, half A, spelling .5, alone .5, scale 1.15": Combination(
        "both", True, {**_ALONE, "matrix": 0.5, "scale": 1.15}
    ),
    "both, half A, spelling .5, alone .5, scale 1.3": Combination(
        "both", True, {**_ALONE, "matrix": 0.5, "scale": 1.3}
    ),
    "both, .75 A, spelling .5, alone .5, scale 1.15": Combination(
        "both", True, {**_ALONE, "matrix": 0.75, "scale": 1.15}
    ),
}
