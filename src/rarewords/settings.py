"""Settings: dataclasses that know the bounds of their numbers, made in Python or read from TOML and JSON."""

import operator
from collections.abc import Mapping
from dataclasses import field, fields
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from rarewords.errors import InputError

# Of what an option or a setting may be; beyond it, libraries fail or run without end, each in its own way.
LARGEST_NUMBER = 2**31 - 1
_TESTS = {"at least": operator.ge, "above": operator.gt, "at most": operator.le, "below": operator.lt}


def bounded(default: Any, **bounds: float) -> Any:
    """A field with bounds: ``rate: float = bounded(0.1, above=0, at_most=1)``; None is not checked."""
    return field(default=default, metadata={name.replace("_", " "): limit for name, limit in bounds.items()})


def check_bounds(settings: Any) -> None:
    """Refuse a number that is out of its bounds, or a word that is not one of its literals."""
    hints = get_type_hints(type(settings))
    for one in fields(settings):
        if problem := _problem(getattr(settings, one.name), hints[one.name], one.metadata):
            raise InputError(f"{one.name} {problem}")


def checked_settings(cls: Any, values: Any, path: str | Path) -> dict[str, Any]:
    """The settings of a TOML or JSON file for a dataclass; unknown names and other types are refused, too."""
    if not isinstance(values, dict):
        raise InputError(f"{path}: its settings are not named values")
    hints, bounds = get_type_hints(cls), {one.name: one.metadata for one in fields(cls)}
    found = {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
    for name, value in found.items():
        if name not in hints:
            raise InputError(f"{path}: unknown setting {name!r}; there are {', '.join(sorted(hints))}")
        if not _fits(value, hints[name]):
            raise InputError(f"{path}: {name} cannot be {values[name]!r:.80}")
        if problem := _problem(value, hints[name], bounds[name]):
            raise InputError(f"{path}: {name} {problem}")
    return found


def _problem(value: Any, hint: Any, bounds: Mapping[str, float]) -> str:
    choices = get_args(hint) if get_origin(hint) is Literal else (value,)
    if value not in choices:
        return f"must be one of {', '.join(filter(None, choices))}, not {value!r}"
    if value is None or all(_TESTS[name](value, limit) for name, limit in bounds.items()):
        return ""
    return f"must be {' and '.join(f'{name} {limit}' for name, limit in bounds.items())}, not {value}"


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value has the type of a field: ``3 -> float: True``, ``"3" -> int: False``."""
    kind, inner = get_origin(hint) or hint, get_args(hint)
    if kind in (Union, UnionType):
        return any(_fits(value, one) for one in inner)
    if kind is Literal:
        return isinstance(value, str)
    if kind is tuple:
        return isinstance(value, tuple) and all(_fits(one, inner[0]) for one in value)
    if kind in (int, float) and isinstance(value, int | float) and not abs(value) <= LARGEST_NUMBER:
        return False  # NaN, too
    return isinstance(value, (int, float) if kind is float else kind) and isinstance(value, bool) == (
        kind is bool
    )
