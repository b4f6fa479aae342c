"""What is written back is minimal and reads as the same object again."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vendor_shims.schema import (
    Ge,
    JsonSchema,
    Secret,
    Volatile,
    config,
    field,
    json_schema,
    simplify,
    structure,
    unstructure,
)


class Size(Enum):
    SMALL = 1
    BIG = 2


@config
class Square:
    shape: Literal["square"] = "square"
    side: int = 1


@config
class Circle:
    shape: Literal["circle"] = "circle"
    radius: float = 1.0


@config(extra="allow")
class Part:
    label: str | None = "part"
    size: Size = Size.SMALL
    drawn: Square | Circle = field(factory=Square)
    extra: dict[str, Any] = field(factory=dict)


@config
class Machine:
    name: str
    is_on: bool = False
    count: Annotated[int, Ge(0)] = 0
    ratio: float = 0.5
    either: int | bool | str = 1
    token: Secret[str] | None = None
    limit: Volatile[list[int]] = field(factory=list)
    path: Path = Path("out")
    pair: tuple[int, str] = (1, "a")
    tags: frozenset[str] = frozenset()
    parts: list[Part] = field(factory=list)
    main: Part = field(factory=Part)
    spare: Part | None = None
    named: dict[str, Part] = field(factory=dict)
    mixed: list[Square | Circle | int] = field(factory=list)
    anything: Any = None


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)
floats = st.floats(allow_nan=False, allow_infinity=False)
shapes = st.builds(Square, side=st.integers(0, 3)) | st.builds(Circle, radius=floats)
unknown_keys = st.text(min_size=1, max_size=5).filter(
    lambda key: key not in {"label", "size", "drawn"}
)
parts = st.builds(
    Part,
    label=st.none() | st.text(max_size=5) | st.just("part"),
    size=st.sampled_from(Size),
    drawn=shapes,
    extra=st.dictionaries(unknown_keys, plain, max_size=2),
)
machines = st.builds(
    Machine,
    name=st.text(max_size=5),
    is_on=st.booleans(),
    count=st.integers(0, 3),
    ratio=floats | st.just(0.5),
    either=st.integers(0, 2) | st.booleans() | st.text(max_size=2),
    token=st.none() | st.builds(Secret, st.text(max_size=5)),
    limit=st.builds(Volatile, st.lists(st.integers(), max_size=2)),
    path=st.sampled_from([Path("out"), Path("a/b")]),
    pair=st.tuples(st.integers(0, 1), st.sampled_from("ab")),
    tags=st.frozensets(st.text(max_size=2), max_size=3),
    parts=st.lists(parts, max_size=2),
    main=parts | st.just(Part()),
    spare=st.none() | parts,
    named=st.dictionaries(st.text(max_size=3), parts, max_size=2),
    mixed=st.lists(shapes | st.integers(), max_size=3),
    anything=plain,
)


@pytest.mark.spec("01-G14")
@given(machines)
def test_what_is_simplified_reads_as_the_same_object(machine: Machine) -> None:
    lean = simplify(Machine, machine)
    again = structure(Machine, lean)
    assert again == machine
    assert type(again.either) is type(machine.either)
    assert simplify(Machine, again) == lean


@given(machines)
def test_the_full_dump_reads_as_the_same_object_and_fits_the_schema(machine: Machine) -> None:
    raw = unstructure(machine, reveal=True)
    assert structure(Machine, raw) == machine
    assert JsonSchema(json_schema(Machine)).issues(raw) == []


@pytest.mark.spec("01-G14")
def test_defaults_are_dropped_at_every_depth() -> None:
    assert simplify(Machine, Machine(name="m")) == {"name": "m"}
    machine = Machine(name="m", main=Part(drawn=Circle()), parts=[Part()], spare=Part(label=None))
    assert simplify(Machine, machine) == {
        "name": "m",
        "main": {"drawn": {"shape": "circle"}},
        "parts": [{}],
        "spare": {"label": None},
    }


def test_equal_values_of_other_types_are_no_defaults() -> None:
    assert simplify(Machine, Machine(name="m", either=True)) == {"name": "m", "either": True}
    assert simplify(Machine, Machine(name="m", anything={})) == {"name": "m", "anything": {}}


@config
class Lists:
    numbers: list[Any] = field(factory=lambda: [1, {"a": 2}])


@pytest.mark.parametrize(
    ("value", "is_default"),
    [
        ([1, {"a": 2}], True),
        ([True, {"a": 2}], False),
        ([1, {"a": 2.0}], False),
        ([1, {"b": 2}], False),
        ([1], False),
    ],
)
def test_lists_and_mappings_are_compared_member_by_member(
    value: list[Any], is_default: bool
) -> None:
    assert (simplify(Lists, Lists(numbers=value)) == {}) is is_default


@config
class Loose:
    anything: Any


@attrs.frozen
class Point:
    x_pos: int = 0


def test_values_of_unknown_type_are_dumped_by_what_they_are() -> None:
    value = {
        "point": Point(x_pos=1),
        "secret": Secret("s"),
        "volatile": Volatile({"a": [1]}),
        "enum": Size.BIG,
        "path": Path("p"),
        "set": {2, 1},
        "tuple": (1, None),
        "device": ...,
    }
    assert unstructure(Loose(anything=value)) == {
        "anything": {
            "point": {"xPos": 1},
            "secret": "******",
            "volatile": {"a": [1]},
            "enum": 2,
            "path": "p",
            "set": [1, 2],
            "tuple": [1, None],
            "device": ...,
        }
    }
    assert unstructure([Secret("s")], reveal=True) == ["s"]
