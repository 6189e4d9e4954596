"""Dataclasses and the files they are read from: settings with bounds, and JSON checked against a schema.

A damaged file is an :class:`InputError` that names the field; any other error is a fault of the program.
"""

import math
import operator
from collections.abc import Mapping
from dataclasses import MISSING, field, fields, is_dataclass
from pathlib import Path
from types import NoneType
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from rarewords.errors import InputError

T = TypeVar("T")
# Of what an option or a setting may be; beyond it, libraries fail or run without end, each in its own way.
LARGEST_NUMBER = 2**31 - 1
_TESTS = {"at_least": operator.ge, "above": operator.gt, "at_most": operator.le, "below": operator.lt}


def bounded(default: Any, **bounds: float) -> Any:
    """A field with bounds: ``rate: float = bounded(0.1, above=0, at_most=1)``; None is not checked."""
    return field(default=default, metadata=bounds)


def check_bounds(settings: Any) -> None:
    """Refuse a number that is out of its bounds, or a word that is not one of its literals."""
    _check_settings(type(settings), vars(settings), "")


def checked_settings(cls: Any, values: Any, path: str | Path) -> dict[str, Any]:
    """The settings of a TOML or JSON file for a dataclass; unknown names and other types are refused, too."""
    hints, found = get_type_hints(cls), {}
    for name, value in values.items() if isinstance(values, dict) else [("its settings", values)]:
        if name not in hints:
            there = ", ".join(sorted(hints))
            raise InputError(f"{path}: unknown setting {name!r}; there are {there}", code="settings")
        try:
            found[name] = _parsed(hints[name], value, name)
        except _MismatchError as mismatch:
            raise InputError(f"{path}: {mismatch}", code="settings") from None
    _check_settings(cls, found, f"{path}: ")
    return found


def parse(kind: type[T], value: Any, source: str | Path, remedy: str) -> T:
    """The value of a type, usually a dataclass, from what JSON holds; a field that does not fit is refused.

    :param source: the file, for the message; ``remedy``: what to do about it.
    """
    try:
        parsed: T = _parsed(kind, value, "")
    except (_MismatchError, InputError) as mismatch:  # InputError: a number out of its bounds
        raise InputError(f"{source} is damaged: {mismatch}; {remedy}", code="damaged") from None
    return parsed


class _MismatchError(Exception):
    """A value does not have the type of its field."""


def _parsed(kind: Any, value: Any, place: str) -> Any:
    origin, inner = get_origin(kind) or kind, get_args(kind)
    if origin is Any:
        return value
    if NoneType in inner:  # X | None, which are the only unions
        return None if value is None else _parsed(inner[0], value, place)
    if origin is Literal and isinstance(value, str):  # which text is a matter of check_bounds
        return value
    if is_dataclass(origin) and isinstance(value, Mapping):
        hints, given = get_type_hints(origin), {}
        for one in fields(origin):
            if one.name in value:
                given[one.name] = _parsed(hints[one.name], value[one.name], f"{place}.{one.name}")
            elif one.default is MISSING and one.default_factory is MISSING:
                raise _MismatchError(f"{place.lstrip('.') or 'it'} has no {one.name}")
        return kind(**given)
    if origin in (tuple, list) and isinstance(value, list | tuple):
        return origin(_parsed(inner[0], one, f"{place}[{at}]") for at, one in enumerate(value))
    if origin in (dict, Mapping) and isinstance(value, Mapping):
        return {str(key): _parsed(inner[1], one, f"{place}.{key}") for key, one in value.items()}
    if origin is float and value is None:
        return math.nan  # JSON has no NaN
    if origin is float and type(value) in (int, float) and abs(value) <= LARGEST_NUMBER:
        return float(value)
    if origin in (str, bool, int) and type(value) is origin and (origin is not int or abs(value) <= 2**63):
        return value
    raise _MismatchError(f"{place.lstrip('.') or 'it'} cannot be {value!r:.40}")


def _check_settings(cls: Any, values: Mapping[str, Any], source: str) -> None:
    hints, bounds = get_type_hints(cls), {one.name: one.metadata for one in fields(cls)}
    for name, value in values.items():
        choices = get_args(hints[name]) if get_origin(hints[name]) is Literal else (value,)
        if value not in choices:
            allowed = f"one of {', '.join(filter(None, choices))}"
        elif value is not None and not all(_TESTS[bound](value, limit) for bound, limit in bounds[name].items()):
            allowed = " and ".join(f"{bound.replace('_', ' ')} {limit}" for bound, limit in bounds[name].items())
        else:
            continue
        raise InputError(f"{source}{name} must be {allowed}, not {value!r}", code="settings")
