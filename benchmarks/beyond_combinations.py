"""The combinations that ``beyond.py`` measures."""

from __future__ import annotations

from typing import Any

BASE: dict[str, Any] = {"spelling": 0.0, "scale": 1.0}
MIXED: dict[str, Any] = {"spelling": 0.5, "pieces": 0.3, "pieces_alone": 0.5}

# name: reading (masked, shown or both), how A is fitted, changes of settings, slash. A is fitted on readings
# of masked words ("A"), on words split into pieces and read as they are later ("split"), or as one matrix
# over reading, spelling and the approximation of split words' pieces ("joint").
COMBINATIONS: dict[str, tuple[str, str, dict[str, Any], bool]] = {
    "masked": ("masked", "", {}, False),
    "masked, A": ("masked", "A", {}, False),
    "shown": ("shown", "", {}, False),
    "shown, A": ("shown", "A", {}, False),
    "shown, A, scale .85": ("shown", "A", {"scale": 0.85}, False),
    "shown, A, scale 1.15": ("shown", "A", {"scale": 1.15}, False),
    "shown, A, scale 1.3": ("shown", "A", {"scale": 1.3}, False),
    "both, A": ("both", "A", {}, False),
    "both, A, scale 1.15": ("both", "A", {"scale": 1.15}, False),
    "shown, A, spelling .5": ("shown", "A", {"spelling": 0.5}, False),
    "shown, spelling .5": ("shown", "", {"spelling": 0.5}, False),
    "shown, A, spelling 1": ("shown", "A", {"spelling": 1.0}, False),
    "shown, A, spelling .5 from .6": ("shown", "A", {"spelling": 0.5, "resemblance": 0.6}, False),
    "shown, A, spelling .5 from .4": ("shown", "A", {"spelling": 0.5, "resemblance": 0.4}, False),
    "both, A, spelling .5": ("both", "A", {"spelling": 0.5}, False),
    "both, A, spelling .5, scale 1.15": ("both", "A", {"spelling": 0.5, "scale": 1.15}, False),
    "shown, A, pieces .3": ("shown", "A", {"pieces": 0.3}, False),
    "shown, A, spelling .5, pieces .3": ("shown", "A", {"spelling": 0.5, "pieces": 0.3}, False),
    "both, A, spelling .5, pieces .3": ("both", "A", {"spelling": 0.5, "pieces": 0.3}, False),
    "both, A, spelling .5, pieces .5": ("both", "A", {"spelling": 0.5, "pieces": 0.5}, False),
    "both, A, spelling .5, pieces .3, alone .5": ("both", "A", MIXED, False),
    "both, A, spelling .5, alone .5": ("both", "A", {"spelling": 0.5, "pieces_alone": 0.5}, False),
    "both, A, spelling .5, pieces .3, alone .5, scale 1.3": ("both", "A", {**MIXED, "scale": 1.3}, False),
    "shown, spelling .5, pieces .3, alone .5": ("shown", "", MIXED, False),
    "shown, spelling .5, pieces .3, alone .5, scale 1.3": ("shown", "", {**MIXED, "scale": 1.3}, False),
    "shown, half A, spelling .5, pieces .3, alone .5": ("shown", "A", {**MIXED, "matrix": 0.5}, False),
    "shown, half A, spelling .5, pieces .3, alone .5, scale 1.3": (
        "shown",
        "A",
        {**MIXED, "matrix": 0.5, "scale": 1.3},
        False,
    ),
    "both, half A, spelling .5, alone .5": (
        "both",
        "A",
        {"matrix": 0.5, "spelling": 0.5, "pieces_alone": 0.5},
        False,
    ),
    "both, half A, spelling .5, pieces .3, alone .5": ("both", "A", {**MIXED, "matrix": 0.5}, False),
    "both, half A, spelling .5, pieces .3, alone .5, scale 1.3": (
        "both",
        "A",
        {**MIXED, "matrix": 0.5, "scale": 1.3},
        False,
    ),
    "both, half A, spelling .5, pieces .5, alone .5, scale 1.3": (
        "both",
        "A",
        {**MIXED, "matrix": 0.5, "pieces": 0.5, "scale": 1.3},
        False,
    ),
    "shown, A split": ("shown", "split", {}, False),
    "shown, A split, spelling .5": ("shown", "split", {"spelling": 0.5}, False),
    "both, A split, spelling .5": ("both", "split", {"spelling": 0.5}, False),
    "both, A split, spelling .5, pieces .3, alone .5": ("both", "split", MIXED, False),
    "both, A split, spelling .5, pieces .3, alone .5, scale 1.3": (
        "both",
        "split",
        {**MIXED, "scale": 1.3},
        False,
    ),
    "shown, half A split, spelling .5, pieces .3, alone .5, scale 1.3": (
        "shown",
        "split",
        {**MIXED, "matrix": 0.5, "scale": 1.3},
        False,
    ),
    "both, half A split, spelling .5, pieces .3, alone .5, scale 1.3": (
        "both",
        "split",
        {**MIXED, "matrix": 0.5, "scale": 1.3},
        False,
    ),
    "shown, half A, spelling .5, pieces .3, alone .5, scale 1.3, attention 3": (
        "shown",
        "A",
        {**MIXED, "matrix": 0.5, "scale": 1.3, "attention": 3.0},
        False,
    ),
    "shown, half A, spelling .5, pieces .3, alone .5, scale 1.3, attention 8": (
        "shown",
        "A",
        {**MIXED, "matrix": 0.5, "scale": 1.3, "attention": 8.0},
        False,
    ),
    "shown, half A, spelling .5, pieces .3, alone .5, scale 1.3, condensed 30": (
        "shown",
        "A",
        {**MIXED, "matrix": 0.5, "scale": 1.3, "condense": 30},
        False,
    ),
    "both, A, spelling .5, alone .5, attention 3": (
        "both",
        "A",
        {"spelling": 0.5, "pieces_alone": 0.5, "attention": 3.0},
        False,
    ),
    "both, A split, spelling .5, alone .5": (
        "both",
        "split",
        {"spelling": 0.5, "pieces_alone": 0.5},
        False,
    ),
    "both, A, spelling .5, alone .5, condensed 50": (
        "both",
        "A",
        {"spelling": 0.5, "pieces_alone": 0.5, "condense": 50},
        False,
    ),
    "both, A split, spelling .5, alone .5, condensed 30": (
        "both",
        "split",
        {"spelling": 0.5, "pieces_alone": 0.5, "condense": 30},
        False,
    ),
    "both, A split, spelling .5, alone .5, condensed 50": (
        "both",
        "split",
        {"spelling": 0.5, "pieces_alone": 0.5, "condense": 50},
        False,
    ),
    "both, A split, spelling .5, alone .5, condensed 100": (
        "both",
        "split",
        {"spelling": 0.5, "pieces_alone": 0.5, "condense": 100},
        False,
    ),
    "both, joint": ("both", "joint", {}, False),
    "both, joint, scale 1.15": ("both", "joint", {"scale": 1.15}, False),
    "slash masked": ("masked", "", {}, True),
    "slash masked, A": ("masked", "A", {}, True),
    "slash shown, A": ("shown", "A", {}, True),
    "slash both, A": ("both", "A", {}, True),
    "slash both, A, spelling .5": ("both", "A", {"spelling": 0.5}, True),
    "slash both, A split, spelling .5": ("both", "split", {"spelling": 0.5}, True),
    "slash masked, A, spelling .5": ("masked", "A", {"spelling": 0.5}, True),
    "slash both, A, spelling .5, scale .85": ("both", "A", {"spelling": 0.5, "scale": 0.85}, True),
}
