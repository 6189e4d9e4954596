"""Files against dataclasses: what fits is read, each kind of mismatch is one line that names its place."""

import json
import math
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.paper.part import to_json
from rarewords import InputError
from rarewords._internal.schema import bounded, check_bounds, checked_settings, parse
from tests.errors import refused_with


@dataclass(frozen=True)
class Inner:
    name: str
    score: float = 0.5


@dataclass(frozen=True)
class Outer:
    number: int
    flag: bool
    rate: float
    kind: Literal["a", "b"]
    inner: Inner
    words: tuple[str, ...]
    scores: dict[str, list[float]]
    maybe: Inner | None = None
    anything: Any = None
    made: list[int] = field(default_factory=list)


GOOD = {
    "number": 3,
    "flag": True,
    "rate": 1,
    "kind": "a",
    "inner": {"name": "x"},
    "words": ["one", "two"],
    "scores": {"dev": [0.5, None], "test": []},
}


def parsed(value, kind=Outer):
    return parse(kind, value, "file.json", "make it again")


def test_what_fits_becomes_the_dataclass_with_its_types_and_defaults():
    found = parsed(GOOD)
    assert (found.number, found.flag, found.inner, found.words) == (3, True, Inner("x"), ("one", "two"))
    assert (found.maybe, found.anything, found.made) == (None, None, [])
    assert (found.rate, type(found.rate)) == (1.0, float)  # JSON writes 1.0 as 1


def test_null_is_nan_for_a_number_and_none_where_none_is_allowed():
    assert math.isnan(parsed(GOOD).scores["dev"][1])
    assert parsed({**GOOD, "maybe": None}).maybe is None
    assert parsed({**GOOD, "maybe": {"name": "y", "score": None}}).maybe.name == "y"
    assert parsed({"value": None}, dict[str, float | None]) == {"value": None}


def test_unknown_fields_are_left_out():
    assert parsed({**GOOD, "newer": 5}) == parsed(GOOD)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("number", "3"),
        ("number", 3.5),
        ("number", True),
        ("number", None),
        ("number", 2**64),
        ("flag", 1),
        ("flag", None),
        ("rate", "fast"),
        ("rate", True),
        ("rate", 1e300),
        ("kind", 5),
        ("inner", None),
        ("inner", []),
        ("inner", {}),
        ("inner.name", 5),
        ("inner.score", "high"),
        ("words", "one"),
        ("words", {"one": 1}),
        ("words[1]", 2),
        ("scores", []),
        ("scores.dev", 0.5),
        ("scores.dev[0]", "x"),
        ("maybe", "x"),
        ("made[0]", "x"),
    ],
)
def test_a_value_of_another_type_is_refused_with_its_place(place, value):
    changed = json.loads(json.dumps({**GOOD, "made": [1]}))
    *parents, last = place.replace("[", ".").replace("]", "").split(".")
    holder = changed
    for name in parents:
        holder = holder[int(name) if name.isdigit() else name]
    holder[int(last) if last.isdigit() else last] = value
    with refused_with("damaged") as caught:
        parsed(changed)
    assert f"{place} " in str(caught.value)


@pytest.mark.parametrize("name", ["number", "flag", "rate", "kind", "inner", "words", "scores"])
def test_a_missing_field_is_refused_by_name(name):
    with refused_with("damaged") as caught:
        parsed({key: value for key, value in GOOD.items() if key != name})
    assert f"has no {name}" in str(caught.value)


@pytest.mark.parametrize("value", [None, [], 5, "x", True, [GOOD]])
def test_what_is_no_object_at_all_is_refused(value):
    with refused_with("damaged"):
        parsed(value)


def test_the_message_names_the_file_the_value_and_the_remedy():
    with pytest.raises(InputError) as caught:
        parsed({**GOOD, "number": "x" * 1000})
    said = str(caught.value)
    assert said.startswith("file.json is damaged: number cannot be 'xxx")
    assert said.endswith("; make it again")
    assert len(said) < 120


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from([*GOOD, "name", "score"]), inner),
)


@settings(max_examples=200, deadline=None)
@given(JSON)
def test_anything_that_json_holds_is_parsed_or_refused(value):
    try:
        found = parsed(value)
    except InputError:
        return
    assert isinstance(found, Outer)


NUMBER = st.floats(-1e6, 1e6) | st.just(math.nan)
INNER = st.builds(Inner, score=NUMBER)


@settings(max_examples=50, deadline=None)
@given(
    st.builds(
        Outer,
        number=st.integers(-9, 9),
        rate=NUMBER,
        inner=INNER,
        maybe=INNER | st.none(),
        scores=st.dictionaries(st.text(), st.lists(NUMBER)),
        anything=st.none(),
        made=st.lists(st.integers(-9, 9)),
    )
)
def test_to_json_and_back(value):
    written = json.loads(json.dumps(to_json(value)))
    assert to_json(parsed(written)) == to_json(value)


def test_to_json_writes_nan_as_null_in_nested_values():
    assert to_json({"a": [Inner("x", math.nan)], "b": (1, math.nan)}) == {
        "a": [{"name": "x", "score": None}],
        "b": [1, None],
    }


# Settings


@dataclass(frozen=True, kw_only=True)
class Settings:
    steps: int = bounded(10, at_least=1, at_most=100)
    rate: float = bounded(0.5, above=0, below=1)
    mode: Literal["fast", "good"] = "fast"
    limit: int | None = bounded(None, at_least=1)

    def __post_init__(self):
        check_bounds(self)


@pytest.mark.parametrize(
    "values", [{"steps": 1}, {"steps": 100}, {"rate": 0.01}, {"mode": "good"}, {"limit": 1}, {"limit": None}]
)
def test_settings_within_their_bounds(values):
    assert Settings(**values)
    if None not in values.values():  # which TOML cannot hold
        assert checked_settings(Settings, values, "x.toml") == values


@pytest.mark.parametrize(
    "values", [{"steps": 0}, {"steps": 101}, {"rate": 0}, {"rate": 1}, {"mode": "bad"}, {"limit": 0}]
)
def test_settings_out_of_their_bounds_are_refused_in_python_and_in_a_file(values):
    ((name, _),) = values.items()
    for check in (lambda: Settings(**values), lambda: checked_settings(Settings, values, "x.toml")):
        with refused_with("settings") as caught:
            check()
        assert f"{name} must be " in str(caught.value)


@pytest.mark.parametrize(
    "values", [{"steps": "ten"}, {"steps": 1.5}, {"steps": True}, {"rate": []}, {"mode": 1}, {"speed": 1}, 5]
)
def test_a_file_with_other_settings_is_refused_by_name(values):
    with refused_with("settings") as caught:
        checked_settings(Settings, values, "x.toml")
    assert str(caught.value).startswith("x.toml: ")


def test_settings_out_of_bounds_inside_a_file_are_damage_to_it():
    with refused_with("damaged") as caught:
        parse(dict[str, Settings], {"settings": {"steps": 0}}, "file.json", "make it again")
    assert str(caught.value).startswith("file.json ")
