"""Dataclasses and the files they are read from: settings with bounds, and JSON checked against a schema.

The schema of a file is a dataclass. :func:`parse` checks every value against the type of its field, so a
damaged file is an :class:`InputError` that names the field, and any other error is a fault of the program.
"""

import math
import operator
from collections.abc import Mapping
from dataclasses import MISSING, field, fields, is_dataclass
from pathlib import Path
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from rarewords.errors import InputError

T = TypeVar("T")
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
            raise InputError(f"{one.name} {problem}", code="settings")


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
        bounds = next(one.metadata for one in fields(cls) if one.name == name)
        if problem := _problem(found[name], hints[name], bounds):
            raise InputError(f"{path}: {name} {problem}", code="settings")
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


def to_json(value: Any) -> Any:
    """A dataclass and everything in it as JSON holds it; NaN becomes null."""
    if is_dataclass(value):
        return {one.name: to_json(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, dict):
        return {key: to_json(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(one) for one in value]
    return None if isinstance(value, float) and math.isnan(value) else value


class _MismatchError(Exception):
    """A value does not have the type of its field."""


def _parsed(kind: Any, value: Any, place: str) -> Any:
    origin, inner = get_origin(kind) or kind, get_args(kind)
    if origin is Any:
        return value
    if origin in (Union, UnionType):
        if value is None and type(None) in inner:  # which a float would take for NaN
            return None
        for one in inner:
            try:
                return _parsed(one, value, place)
            except _MismatchError as mismatch:
                last = mismatch
        raise last
    if origin is type(None) and value is None:
        return None
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
        return math.nan  # as to_json writes it
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if origin is float and number and abs(value) <= LARGEST_NUMBER:
        return float(value)
    if origin is int and number and isinstance(value, int) and abs(value) <= 2**63:
        return value
    if origin in (str, bool) and isinstance(value, origin):
        return value
    raise _MismatchError(f"{place.lstrip('.') or 'it'} cannot be {value!r:.40}")


def _problem(value: Any, hint: Any, bounds: Mapping[str, float]) -> str:
    choices = get_args(hint) if get_origin(hint) is Literal else (value,)
    if value not in choices:
        return f"must be one of {', '.join(filter(None, choices))}, not {value!r}"
    if value is None or all(_TESTS[name](value, limit) for name, limit in bounds.items()):
        return ""
    return f"must be {' and '.join(f'{name} {limit}' for name, limit in bounds.items())}, not {value}"
