"""The combinations that ``beyond.py`` measures."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Combination:
    """How vectors are made and used.

    :param reading: ``masked``, ``shown`` or ``both``.
    :param fitted: use the matrix A; otherwise the identity.
    :param spelling: the weight of the spelling.
    :param condensed: condense pieces and vector; on a CPU that takes longer than reading.
    :param slash: show ``word / <vector>`` instead of the vector alone.
    """

    reading: str
    fitted: bool = False
    spelling: float = 0.0
    condensed: bool = False
    slash: bool = False


COMBINATIONS = {
    "masked": Combination("masked"),
    "masked, A": Combination("masked", True),
    "shown": Combination("shown"),
    "shown, A": Combination("shown", True),
    "both, A": Combination("both", True),
    "shown, spelling .5": Combination("shown", False, 0.5),
    "shown, A, spelling .5": Combination("shown", True, 0.5),
    "shown, A, spelling 1": Combination("shown", True, 1.0),
    "both, A, spelling .5, alone .5": Combination("both", True, 0.5),
    "shown, A, spelling .5, alone .5, condensed": Combination("shown", True, 0.5, condensed=True),
    "both, A, spelling .5, alone .5, condensed": Combination("both", True, 0.5, condensed=True),
    "slash masked": Combination("masked", slash=True),
    "slash masked, A, spelling .5": Combination("masked", True, 0.5, slash=True),
    "slash shown, A": Combination("shown", True, slash=True),
    "slash both, A": Combination("both", True, slash=True),
    "slash both, A, spelling .5": Combination("both", True, 0.5, slash=True),
}
