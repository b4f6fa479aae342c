"""Config classes: declaration, their mistakes, special values."""

from __future__ import annotations

import copy
from typing import Annotated, Any, Literal

import attrs
import pytest

from vendor_shims.logger import LoggerCore, format_message
from vendor_shims.schema import (
    Ge,
    MinLen,
    Pattern,
    SchemaError,
    Secret,
    ValidationError,
    Volatile,
    config,
    field,
    json_schema,
    merge,
    simplify,
    structure,
    unstructure,
    update_volatile,
)


@config
class Login:
    user: str
    token: Annotated[Secret[str], MinLen(8)] | None = None
    pins: list[Secret[int]] = field(factory=list)
    both: Secret[str] | int = 0


@config
class Session:
    login: Login | None = None
    fallback: Secret[str] = field(default="hidden-default")
    key: Annotated[Secret[str], Pattern("^hid")] = field(default="hidden-default")


TOKEN = "sk-verysecret"


def test_records_are_frozen_keyword_only_and_comparable() -> None:
    login = Login(user="me")
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        login.user = "you"  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(TypeError):
        Login("me")  # pyright: ignore[reportCallIssue]
    assert login == Login(user="me")


@pytest.mark.spec("01-G15")
def test_a_secret_never_shows_its_value() -> None:
    login = structure(Login, {"user": "me", "token": TOKEN})
    assert login.token is not None
    assert login.token.reveal() == TOKEN
    record = LoggerCore().record("x", 2, ("%s %o %d", login.token, login, login.token), extra={})
    for text in (
        repr(login.token),
        str(login.token),
        f"{login.token:>10}",
        repr(login),
        str({"a": [login]}),
        format_message(record),
        repr(unstructure(login)),
    ):
        assert TOKEN not in text
    assert unstructure(login, reveal=True)["token"] == TOKEN
    assert json_schema(Secret[str]) == {**json_schema(str), "x-secret": True}
    assert simplify(Secret[str], TOKEN) == TOKEN


@pytest.mark.spec("01-G15")
@pytest.mark.parametrize(
    ("cls", "raw"),
    [
        (Login, {"user": "me", "token": [TOKEN]}),
        (Login, {"user": "me", "token": TOKEN[:7]}),
        (Login, {"user": "me", "pins": TOKEN}),
        (Login, {"user": "me", "pins": [TOKEN]}),
        (Login, {"user": "me", "both": [TOKEN]}),
        (Login, [TOKEN]),
        (Session, {"login": TOKEN}),
        (Session, {"login": {"user": "me", "token": {"x": TOKEN}}}),
    ],
)
def test_messages_never_contain_a_secret(cls: type, raw: object) -> None:
    with pytest.raises(ValidationError) as caught:
        structure(cls, raw)
    assert TOKEN[:7] not in str(caught.value)
    assert "******" in str(caught.value)


def test_secrets_compare_and_hash_by_value() -> None:
    assert Secret("a") == Secret("a")
    assert Secret("a") != Secret("b")
    assert Secret("a") != "a"
    assert len({Secret("a"), Secret("a")}) == 1


def test_plain_values_are_wrapped_by_the_constructor() -> None:
    session = Session()
    assert session.fallback == Secret("hidden-default")
    assert session.key == Secret("hidden-default")
    assert Login(user="me", token=TOKEN).token == Secret(TOKEN)  # pyright: ignore[reportArgumentType]
    assert Login(user="me", token=None).token is None
    kept = Secret("k")
    assert Session(fallback=kept).fallback is kept
    assert simplify(Session, Session()) == {}
    assert simplify(Session, Session(key=Secret("hid"))) == {"key": "hid"}


@config
class Wrapped:
    token: Secret[str] = field(default=Secret("a"))
    level: Volatile[list[int]] = field(default=Volatile([1]))


def test_defaults_may_be_wrapped_already() -> None:
    assert Wrapped() == structure(Wrapped, {"token": "a", "level": [1]})
    assert simplify(Wrapped, structure(Wrapped, {"token": "a", "level": [1]})) == {}
    assert simplify(Wrapped, Wrapped(level=Volatile([True]))) == {"level": [True]}


@config
class Inner:
    level: Volatile[int] = field(default=Volatile(3))
    fixed: int = 1


@config
class Running:
    levels: Volatile[dict[str, list[int]]] = field(factory=dict)
    maybe: Volatile[int | None] = field(default=None)
    inner: Inner = field(factory=Inner)
    name: str = "n"
    options: list[Any] = field(factory=list)


@pytest.mark.spec("01-G18")
def test_a_volatile_reference_gives_immutable_snapshots() -> None:
    made = structure(Running, {"levels": {"a": [1, 2]}, "maybe": 4})
    snapshot: Any = made.levels.get()
    assert snapshot["a"] == (1, 2)
    with pytest.raises(TypeError):
        snapshot["b"] = 1
    assert made.maybe.get() == 4
    assert structure(Running, {"maybe": None}).maybe.get() is None
    assert structure(Running, {"maybe": Volatile(5)}).maybe.get() == 5
    assert repr(made.maybe) == "Volatile(4)"
    with pytest.raises(TypeError):
        hash(made.maybe)
    assert made.maybe != 4


@pytest.mark.spec("01-G18")
def test_volatile_changes_reach_the_running_references() -> None:
    running = structure(Running, {"levels": {"a": [1]}})
    reference = running.levels
    candidate = structure(Running, {"levels": {"a": [2]}, "inner": {"level": 0}})
    assert update_volatile(running, candidate) == ("levels", "inner.level")
    assert reference.get() == {"a": (2,)}
    assert running.inner.level.get() == 0
    assert update_volatile(running, candidate) == ()


@pytest.mark.parametrize(
    "raw",
    [
        {"name": "other", "levels": {"x": [1]}},
        {"inner": {"fixed": 2}, "levels": {"x": [1]}},
        {"options": [True], "levels": {"x": [1]}},
        {"options": {"a": 1}, "levels": {"x": [1]}},
    ],
)
def test_an_ordinary_change_moves_nothing(raw: dict[str, Any]) -> None:
    running = structure(Running, {"options": [1]})
    candidate = Running(**{"options": [1], **structure_members(raw)})
    assert update_volatile(running, candidate) is None
    assert running.levels.get() == {}


def structure_members(raw: dict[str, Any]) -> dict[str, Any]:
    members = dict(raw)
    if "inner" in members:
        members["inner"] = structure(Inner, members["inner"])
    return members


def test_objects_of_different_classes_are_an_ordinary_change() -> None:
    assert update_volatile(Inner(), Running()) is None


@config
class Callback:
    hook: Volatile[Any] = field(default=None)
    names: Volatile[list[str]] = field(factory=list)


def test_a_volatile_setting_holds_plain_data_only() -> None:
    with pytest.raises(ValidationError, match=r"\$\.hook expected plain data but got <function>"):
        structure(Callback, {"hook": lambda: None})
    with pytest.raises(ValidationError, match=r"\$\.names\[0\] expected string but got 1"):
        structure(Callback, {"names": [1]})
    with pytest.raises(TypeError, match="plain data, not object"):
        Volatile(object())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"default": []}, "mutable default"),
        ({"default": {}}, "mutable default"),
        ({"default": 1, "factory": list}, "either default or factory"),
    ],
)
def test_mistakes_of_a_field_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        field(**arguments)


def test_names_that_the_class_needs_itself_are_refused() -> None:
    with pytest.raises(SchemaError, match=r"no field can be named \['validate'\]"):

        @config
        class _Wrong:
            validate: int = 1

    with pytest.raises(SchemaError, match='extra="allow" needs a field `extra`'):

        @config(extra="allow")
        class _AlsoWrong:
            a: int = 1


@config
class Custom:
    a: int = 1

    @classmethod
    def merge(cls, *layers: Any) -> dict[str, Any]:
        return {"a": sum(layer["a"] for layer in layers)}


def test_a_class_may_bring_its_own_merge() -> None:
    assert Custom.merge({"a": 1}, {"a": 2}) == {"a": 3}


Unknowable = Literal[b"bytes"]


def make(annotation: Any, default: Any = attrs.NOTHING) -> type:
    cls = type("Made", (), {"__annotations__": {"x": annotation}, "x": field(default=default)})
    return config(cls)


@pytest.mark.parametrize(
    ("annotation", "default", "message"),
    [
        (Unknowable, attrs.NOTHING, "a literal must be text, number, boolean or None"),
        (dict[int, str], attrs.NOTHING, "keys of a mapping must be str"),
        (list[Volatile[int]], attrs.NOTHING, "must be the whole type of a field"),
        (Volatile[int] | None, attrs.NOTHING, "must be the whole type of a field"),
        (Annotated[str, Ge(0)], attrs.NOTHING, "Ge does not fit a value of type string"),
        (Annotated[int, MinLen(0)], attrs.NOTHING, "MinLen does not fit a value of type integer"),
        (type[int], attrs.NOTHING, "has no raw form"),
        ("NoSuchName", attrs.NOTHING, "cannot resolve an annotation"),
        (5, attrs.NOTHING, "Forward references must evaluate to types|not a type"),
        (int, "five", "the default is not valid"),
        (str, None, "the default is not valid"),
        (Annotated[int, Ge(1)], 0, "expected number >= 1 but got 0"),
    ],
)
def test_a_class_that_cannot_work_is_refused_at_first_use(
    annotation: Any, default: Any, message: str
) -> None:
    cls = make(annotation, default)
    for _ in range(2):
        with pytest.raises(TypeError, match=message):
            structure(cls, {})


def test_unhashable_annotations_are_refused() -> None:
    with pytest.raises(SchemaError):
        structure(make(Literal[[]]), {})


def test_extra_must_be_a_mapping() -> None:
    @config(extra="allow")
    class Wrong:
        extra: list[int] = field(factory=list)

    with pytest.raises(SchemaError, match="must be a mapping"):
        structure(Wrong, {})


def test_bare_containers_hold_anything() -> None:
    for kind, raw in ((list, [1, "x"]), (dict, {"a": None}), (tuple, (1,)), (set, {1})):
        assert structure(kind, raw) == raw


def test_fields_without_annotation_take_anything() -> None:
    @attrs.define
    class Loose:
        x = attrs.field(default=1)  # pyright: ignore[reportGeneralTypeIssues]

    assert structure(Loose, {"x": [1]}).x == [1]


@config
class Layered:
    max_size: int = 1
    nested: Login | None = None
    plain: dict[str, Any] = field(factory=dict)


def test_merge_joins_mappings_and_replaces_everything_else() -> None:
    base = {"a": {"x": 1, "y": [1, 2]}, "b": 1}
    merged = merge(base, None, {"a": {"y": [3], "z": 2}}, {"b": None})
    assert merged == {"a": {"x": 1, "y": [3], "z": 2}, "b": None}
    assert base == {"a": {"x": 1, "y": [1, 2]}, "b": 1}
    assert merge() == {}


def test_merge_of_a_class_unites_the_spellings() -> None:
    merge_layers: Any = Layered.merge  # pyright: ignore[reportAttributeAccessIssue]
    merged = merge_layers(
        {"max_size": 1, "nested": {"user": "a", "other": 1}},
        None,
        {"maxSize": 2, "nested": {"user": "b"}, "unknown": 1, "plain": {"max_size": 1}},
        Layered(nested=Login(user="c", token=Secret(TOKEN))),
    )
    assert merged == {
        "maxSize": 2,
        "nested": {"user": "c", "other": 1, "token": TOKEN},
        "unknown": 1,
        "plain": {"max_size": 1},
    }
    assert merge_layers({"max_size": 1, "maxSize": 2}) == {"max_size": 1, "maxSize": 2}
    with pytest.raises(TypeError, match="a layer must be a mapping, not int"):
        merge_layers(5)


def test_merge_survives_bottomless_layers() -> None:
    deep: dict[str, Any] = {}
    for _ in range(50_000):
        deep = {"x": deep}
    assert list(merge(deep, {"x": {"x": {}}})) == ["x"]
    other: dict[str, Any] = {}
    for _ in range(50_000):
        other = {"x": other}
    merge(deep, other)


def test_configs_can_be_copied() -> None:
    login = Login(user="me", token=Secret(TOKEN))
    assert copy.deepcopy(login) == login
    assert simplify(Login, attrs.evolve(login, token=None)) == {"user": "me"}
