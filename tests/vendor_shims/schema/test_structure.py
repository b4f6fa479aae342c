"""Raw data becomes config objects, or a list of everything that is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, NewType

import attrs
import pytest

from vendor_shims.cordis import CordisError
from vendor_shims.schema import (
    Ge,
    Gt,
    Issue,
    Le,
    Lt,
    MaxLen,
    MinLen,
    OneOf,
    Pattern,
    Secret,
    ValidationError,
    config,
    field,
    structure,
)

SessionId = NewType("SessionId", str)


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


@config
class Target:
    url: str
    max_tries: Annotated[int, Ge(0), Le(5)] = 3
    mode: Literal["a", "b"] = "a"


@config
class Everything:
    name: str
    targets: list[Target] = field(factory=list)
    weights: dict[str, float] = field(factory=dict)
    tags: frozenset[str] = frozenset()
    pair: tuple[int, str] | None = None
    many: tuple[int, ...] = ()
    path: Path | None = None
    colour: Colour = Colour.RED
    flag: bool = False
    session: SessionId | None = None
    anything: Any = None
    nothing: None = None
    best: Target | None = None
    mapping: Mapping[str, int] = field(factory=dict)
    sequence: Sequence[int] = ()


def issues_of(cls: Any, raw: object) -> list[str]:
    with pytest.raises(ValidationError) as caught:
        structure(cls, raw)
    return [issue.render() for issue in caught.value.issues]


@pytest.mark.spec("01-G01")
def test_absent_keys_get_their_defaults() -> None:
    made = structure(Target, {"url": "x"})
    assert made == Target(url="x", max_tries=3, mode="a")


def test_every_supported_type_takes_its_raw_form() -> None:
    raw = {
        "name": "n",
        "targets": [{"url": "u"}],
        "weights": {"a": 1},
        "tags": ["x", "y"],
        "pair": [1, "one"],
        "many": [1, 2],
        "path": "/tmp/x",
        "colour": "blue",
        "flag": True,
        "session": "s1",
        "anything": {"k": [None]},
        "nothing": None,
        "best": {"url": "b"},
        "mapping": {"m": 1},
        "sequence": [1],
    }
    made = structure(Everything, raw)
    assert made.targets == [Target(url="u")]
    assert made.weights == {"a": 1.0}
    assert isinstance(made.weights["a"], float)
    assert made.tags == frozenset({"x", "y"})
    assert made.pair == (1, "one")
    assert made.many == (1, 2)
    assert made.path == Path("/tmp/x")
    assert made.colour is Colour.BLUE
    assert made.session == "s1"
    assert made.anything == {"k": [None]}
    assert made.best == Target(url="b")
    assert made.mapping == {"m": 1}
    assert made.sequence == [1]


def test_lists_and_mappings_are_copied() -> None:
    raw = {"name": "n", "weights": {"a": 1.0}}
    made = structure(Everything, raw)
    raw["weights"]["b"] = 2.0
    assert made.weights == {"a": 1.0}


def test_values_that_are_in_their_python_form_already_are_taken() -> None:
    target = Target(url="u")
    raw = {"name": "n", "best": target, "path": Path("p"), "colour": Colour.BLUE, "tags": {"x"}}
    made = structure(Everything, raw)
    assert made.best is target
    assert made.colour is Colour.BLUE


@pytest.mark.spec("01-G02", "01-G03")
def test_all_problems_are_reported_at_once() -> None:
    with pytest.raises(ValidationError) as caught:
        structure(Target, {"maxTries": 9, "mode": "c"})
    error = caught.value
    assert isinstance(error, CordisError)
    assert isinstance(error, TypeError)
    assert isinstance(error, ValueError)
    assert error.code == "VALIDATION_ERROR"
    assert str(error).split("\n") == [
        "invalid config:",
        "  - $.url missing required value",
        "  - $.maxTries expected number <= 5 but got 9",
        '  - $.mode expected "a" | "b" but got "c"',
    ]
    assert error.issues[1] == Issue("expected number <= 5 but got 9", ("maxTries",))


@pytest.mark.spec("01-G04")
@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ({"targets": "no"}, '$.targets expected list but got "no"'),
        ({"targets": [{"url": 1}]}, "$.targets[0].url expected string but got 1"),
        ({"targets": [{}]}, "$.targets[0].url missing required value"),
        ({"weights": {"a": "x"}}, '$.weights.a expected number but got "x"'),
        ({"weights": {"a": float("nan")}}, "$.weights.a expected finite number but got nan"),
        ({"weights": {"a": 10**400}}, "floating point range but got <huge integer>"),
        ({"weights": []}, "$.weights expected object but got []"),
        ({"weights": {1: 2}}, "$.weights expected string as key but got 1"),
        ({"best": 5}, "$.best expected object but got 5"),
        ({"pair": [1]}, "$.pair expected list of 2 items but got [1]"),
        ({"pair": [1, 2]}, "$.pair[1] expected string but got 2"),
        ({"tags": ["x", "x"]}, '$.tags expected items that all differ but got ["x", "x"]'),
        ({"path": 3}, "$.path expected string but got 3"),
        ({"path": "a\0b"}, '$.path expected path without NUL but got "a\\u0000b"'),
        ({"colour": "pink"}, '$.colour expected "red" | "blue" but got "pink"'),
        ({"colour": ["red"]}, '$.colour expected "red" | "blue" but got ["red"]'),
        ({"flag": 1}, "$.flag expected boolean but got 1"),
        ({"flag": "yes"}, '$.flag expected boolean but got "yes"'),
        ({"nothing": 1}, "$.nothing expected null but got 1"),
    ],
)
def test_messages_say_where_what_was_expected_and_what_came(raw: Any, expected: str) -> None:
    (line,) = issues_of(Everything, {"name": "n", **raw})
    assert line.endswith(expected)


@pytest.mark.parametrize(
    ("rule", "value", "expected"),
    [
        (Annotated[float, Gt(0)], 0, "expected number > 0 but got 0"),
        (Annotated[float, Ge(1)], 0, "expected number >= 1 but got 0"),
        (Annotated[int, Lt(3)], 3, "expected number < 3 but got 3"),
        (Annotated[str, MinLen(2)], "a", 'expected string of length >= 2 but got "a"'),
        (Annotated[list[int], MaxLen(1)], [1, 2], "expected list of length <= 1 but got [1, 2]"),
        (Annotated[dict[str, int], MinLen(1)], {}, "expected object of length >= 1 but got {}"),
        (Annotated[str, Pattern("^a+$")], "b", 'expected string matching /^a+$/ but got "b"'),
        (Annotated[str, OneOf("x", "y")], "z", 'expected "x" | "y" but got "z"'),
        (Annotated[int | None, Ge(0)], -1, "expected number >= 0 but got -1"),
        (Annotated[int, Ge(0)], "x", 'expected integer but got "x"'),
    ],
)
def test_constraints(rule: Any, value: object, expected: str) -> None:
    assert issues_of(rule, value) == [f"$ {expected}"]


@pytest.mark.parametrize(
    ("rule", "value"),
    [
        (Annotated[float, Gt(0), Lt(1)], 0.5),
        (Annotated[str, MinLen(1), MaxLen(2), Pattern("b")], "ab"),
        (Annotated[str, OneOf("x")], "x"),
        (Annotated[int | None, Ge(0)], None),
        (Annotated[str, "a remark that is no rule"], "x"),
    ],
)
def test_constraints_that_hold(rule: Any, value: object) -> None:
    assert structure(rule, value) == value


@pytest.mark.spec("01-G05")
def test_unknown_keys_are_refused_with_a_suggestion() -> None:
    lines = issues_of(Target, {"url": "u", "maxTrys": 1, "zzz": 2})
    assert lines == ['$.maxTrys unknown key, did you mean "maxTries"?', "$.zzz unknown key"]


@config(extra="allow")
class Open:
    known: int = 1
    extra: dict[str, Any] = field(factory=dict)


@config(extra="allow")
class OpenNumbers:
    extra: dict[str, int] = field(factory=dict)


@pytest.mark.spec("01-G05")
def test_extra_allow_passes_unknown_keys_through() -> None:
    assert structure(Open, {"known": 2, "more": [1], "extra": 3}) == Open(
        known=2, extra={"more": [1], "extra": 3}
    )
    assert structure(Open, {}) == Open()
    assert issues_of(OpenNumbers, {"a": 1, "b": "x"}) == ['$.b expected integer but got "x"']


@config
class Nullable:
    required: str
    with_default: int = 7
    nullable_default: str | None = "a"
    required_nullable: str | None


@pytest.mark.spec("01-G06")
def test_null_means_absent_unless_the_type_has_null() -> None:
    made = structure(
        Nullable,
        {"required": "x", "withDefault": None, "nullableDefault": None, "requiredNullable": None},
    )
    assert made.with_default == 7
    assert made.nullable_default is None
    assert made.required_nullable is None
    assert issues_of(Nullable, {"required": None}) == [
        "$.required missing required value",
        "$.requiredNullable missing required value",
    ]


@pytest.mark.spec("01-G07")
@pytest.mark.parametrize(
    ("kind", "value"),
    [(int, "5"), (str, 5), (int, True), (float, True), (float, "1"), (int, 1.5), (bool, 0)],
)
def test_nothing_is_coerced(kind: type, value: object) -> None:
    assert issues_of(kind, value)


@pytest.mark.spec("01-G07")
def test_numbers_that_are_equal_in_json_are_accepted() -> None:
    assert structure(float, 3) == 3.0
    assert isinstance(structure(float, 3), float)
    assert structure(int, 3.0) == 3
    assert isinstance(structure(int, 3.0), int)
    assert structure(Literal[1, "x"], 1.0) == 1


def test_literals_compare_types() -> None:
    assert issues_of(Literal[1], True) == ["$ expected 1 but got true"]
    assert structure(Literal[True, None], None) is None  # noqa: PYI061  # the spelling under test


@pytest.mark.spec("01-G16")
def test_both_spellings_are_accepted_but_not_together() -> None:
    assert structure(Target, {"url": "u", "max_tries": 1}).max_tries == 1
    assert structure(Target, {"url": "u", "maxTries": 1}).max_tries == 1
    lines = issues_of(Target, {"url": "u", "maxTries": 1, "max_tries": 2})
    assert lines == ['$.max_tries given twice, also as "maxTries"']
    assert issues_of(Target, {"url": "u", "max_tries": "x"}) == [
        '$.max_tries expected integer but got "x"'
    ]


@config
class Aliased:
    api_key_ref: str = field(default="", alias="apiKey$ref")


def test_an_alias_is_the_key_in_files() -> None:
    assert structure(Aliased, {"apiKey$ref": "x"}).api_key_ref == "x"


@config
class Cat:
    kind: Literal["cat"]
    lives: int = 9


@config
class Dog:
    kind: Literal["dog", "puppy"] = "dog"
    tricks: list[str] = field(factory=list)


@config
class Owner:
    pet: Cat | Dog
    others: list[Cat | Dog] = field(factory=list)


@pytest.mark.spec("01-G17")
def test_a_tagged_union_reports_only_the_chosen_branch() -> None:
    assert structure(Owner, {"pet": {"kind": "puppy"}}).pet == Dog(kind="puppy")
    assert issues_of(Owner, {"pet": {"kind": "cat", "lives": "x", "tricks": []}}) == [
        '$.pet.lives expected integer but got "x"',
        "$.pet.tricks unknown key",
    ]
    assert issues_of(Owner, {"pet": {"kind": "cow"}}) == [
        '$.pet.kind expected "cat" | "dog" | "puppy" but got "cow"'
    ]
    assert issues_of(Owner, {"pet": {"kind": ["cat"]}}) == [
        '$.pet.kind expected "cat" | "dog" | "puppy" but got ["cat"]'
    ]
    assert issues_of(Owner, {"pet": {"lives": 1}}) == ["$.pet.kind missing required value"]
    assert issues_of(Owner, {"pet": 5}) == ["$.pet expected object but got 5"]
    assert structure(Owner, {"pet": Cat(kind="cat")}).pet == Cat(kind="cat")


@config
class Train:
    move_kind: Literal["train"]


@config
class Bus:
    move_kind: Literal["bus"]
    seats: int


def test_a_tag_is_found_in_either_spelling() -> None:
    assert structure(Train | Bus, {"move_kind": "train"}) == Train(move_kind="train")
    assert issues_of(Train | Bus, {"moveKind": "bus"}) == ["$.seats missing required value"]


@config
class Left:
    left: int


@config
class Right:
    right: int
    also: str = ""


@pytest.mark.spec("01-G17")
def test_a_union_without_tag_reports_the_closest_branch() -> None:
    assert structure(Left | Right, {"right": 1}) == Right(right=1)
    assert issues_of(Left | Right, {"right": "x", "also": "y"}) == [
        '$.right expected integer but got "x"'
    ]
    assert issues_of(Left | str, {"left": "x"}) == ['$.left expected integer but got "x"']
    assert issues_of(int | str | list[int], None) == [
        "$ expected integer | string | list but got null"
    ]
    assert issues_of(Annotated[int, Ge(0)] | str, -1) == ["$ expected number >= 0 but got -1"]
    assert structure(dict[str, int] | Left | Right, {"left": 1}) == {"left": 1}


@config
class Tagless:
    kind: str = "x"


@config
class OtherCat:
    kind: Literal["cat"]


@config
class Numbered:
    kind: Literal[1]


@pytest.mark.parametrize("other", [Tagless, Numbered, Left])
def test_classes_without_a_common_text_tag_are_tried_in_order(other: type) -> None:
    assert structure(Cat | other, {"kind": "cat"}) == Cat(kind="cat")


def test_two_classes_with_the_same_tag_are_tried_in_order() -> None:
    assert structure(OtherCat | Cat, {"kind": "cat", "lives": 1}) == Cat(kind="cat", lives=1)


@config
class Window:
    low: int
    high: int

    def __attrs_post_init__(self) -> None:
        if self.low > self.high:
            raise ValueError("low must not be above high")


@config
class House:
    window: Window

    def __attrs_post_init__(self) -> None:
        if self.window.high > 100:
            raise ValidationError([Issue("expected at most 100", ("window", "high"))])


@config
class Street:
    houses: list[House]


def test_rules_across_fields_become_issues() -> None:
    assert issues_of(House, {"window": {"low": 2, "high": 1}}) == [
        "$.window low must not be above high"
    ]
    assert issues_of(Street, {"houses": [{"window": {"low": 1, "high": 101}}]}) == [
        "$.houses[0].window.high expected at most 100"
    ]


@attrs.frozen
class Plain:
    a: int
    _hidden: str = "h"
    computed: int = attrs.field(init=False, default=1)


def test_plain_attrs_classes_work_too() -> None:
    assert structure(Plain, {"a": 1, "hidden": "x"}) == Plain(1, "x")


def test_a_class_validates_itself() -> None:
    made = Target.validate({"url": "u"})  # pyright: ignore[reportAttributeAccessIssue]
    assert made == Target(url="u")
    assert Target.validate(made) is made  # pyright: ignore[reportAttributeAccessIssue]
    assert Open.validate(None) == Open()  # pyright: ignore[reportAttributeAccessIssue]


def test_the_title_can_name_what_was_invalid() -> None:
    with pytest.raises(ValidationError, match=r"^invalid arguments:"):
        structure(Target, {}, title="invalid arguments:")


def test_long_and_hostile_values_stay_short_in_messages() -> None:
    (line,) = issues_of(int, "x" * 10_000_000)
    assert len(line) < 120
    (line,) = issues_of(int, [[[[[["deep"]]]]]])
    assert line == "$ expected integer but got [[[[...]]]]"
    (line,) = issues_of(int, {"a": [object(), 1.5, None]})
    assert line == '$ expected integer but got {"a": [<object>, 1.5, null]}'
    (line,) = issues_of(Target, {"url": "u", "k" * 1000: 1})
    assert len(line) < 120
    (line,) = issues_of(int, list(range(10_000_000)))
    assert len(line) < 120


def test_strings_in_messages_are_escaped() -> None:
    (line,) = issues_of(int, 'say "hi"\n\ud800\x1b[31m\\')
    assert line == '$ expected integer but got "say \\"hi\\"\\u000a\\ud800\\u001b[31m\\\\"'


def test_a_flood_of_issues_is_capped() -> None:
    lines = issues_of(list[int], ["x"] * 5000)
    assert len(lines) == 101
    assert lines[-1] == "$ has 4900 more issues"


@config
class Tree:
    children: list[Tree] = field(factory=list)
    named: dict[str, Tree] = field(factory=dict)
    next: Tree | None = None
    shape: tuple[Tree, ...] = ()
    twin: tuple[Tree, Tree] | None = None


@pytest.mark.parametrize(
    "wrap",
    [
        lambda inner: {"children": [inner]},
        lambda inner: {"named": {"x": inner}},
        lambda inner: {"next": inner},
        lambda inner: {"twin": [{}, inner]},
    ],
)
def test_values_nested_too_deeply_are_refused_not_fatal(wrap: Any) -> None:
    raw: object = {}
    for _ in range(40):
        raw = wrap(raw)
    structure(Tree, raw)
    for _ in range(50_000):
        raw = wrap(raw)
    lines = issues_of(Tree, raw)
    assert lines[-1].endswith("nested deeper than 100 levels")


@config
class Vague:
    x: list[Vague | Fuzzy] = field(factory=list)


@config
class Fuzzy:
    x: list[Vague | Fuzzy] = field(factory=list)
    y: int = 0


def test_ambiguity_cannot_explode() -> None:
    raw: object = {"wrong": 1}
    for _ in range(45):
        raw = {"x": [raw]}
    lines = issues_of(Vague, raw)
    assert any("too many alternatives" in line for line in lines)


def test_keys_that_are_no_text_are_refused() -> None:
    assert issues_of(Target, {"url": "u", 5: 1}) == ["$ expected string as key but got 5"]


class Device:
    """Stands for an object that only code can hand over."""


@config
class Wired:
    device: Device | None = None


def test_objects_can_be_handed_over_by_code() -> None:
    device = Device()
    assert structure(Wired, {"device": device}).device is device
    assert issues_of(Wired, {"device": "x"}) == ['$.device expected instance of Device but got "x"']


def test_secrets_given_by_code_are_taken() -> None:
    assert structure(Secret[str], Secret("x")) == Secret("x")


def test_recursion_in_a_deep_caller_is_reported() -> None:
    raw: object = {}
    for _ in range(40):
        raw = {"next": raw}

    def dive(depth: int) -> list[str]:
        try:
            return dive(depth + 1)
        except RecursionError:
            return []

    def at_the_edge(n_left: int) -> list[str]:
        return issues_of(Tree, raw) if n_left == 0 else at_the_edge(n_left - 1)

    import inspect
    import sys

    room = sys.getrecursionlimit() - len(inspect.stack())
    assert at_the_edge(room - 60) == ["$ nested deeper than 100 levels"]
    assert dive(0) == []
