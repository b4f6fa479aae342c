"""Frozen copies of foreign JSON: what is refused, and that nothing can change afterwards."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.wire import (
    FrozenDict,
    NotJsonError,
    dumps,
    freeze_json,
    json_equal,
    loads,
    snapshot_json,
    thaw,
)

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False).map(lambda x: x + 0.0)
    | st.text(st.characters(exclude_categories=()), max_size=6),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=15,
)


@given(values)
def test_a_snapshot_is_equal_detached_and_written_like_its_source(value):
    for frozen in (snapshot_json(value), freeze_json(value)):
        assert json_equal(frozen, value)
        assert thaw(frozen) == value
        assert loads(dumps(frozen)) == value
    assert snapshot_json(snapshot_json(value)) == snapshot_json(value)


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (float("nan"), ""),
        ({"a": [1, float("inf")]}, "a[1]"),
        ({"a": {"b": -0.0}}, "a.b"),
        ([b"x"], "[0]"),
        ({"a": {1, 2}}, "a"),
        ({"a": 2**53}, "a"),
        ({"a": -(2**53)}, "a"),
        ([object()], "[0]"),
    ],
)
def test_what_is_no_lossless_json_is_refused_with_its_path(value, path):
    with pytest.raises(NotJsonError) as caught:
        snapshot_json(value)
    assert caught.value.path == path


def test_keys_cycles_and_sources_that_change_are_refused():
    with pytest.raises(NotJsonError, match="key that is no string"):
        snapshot_json({1: 2})
    cycle: list[object] = []
    cycle.append(cycle)
    with pytest.raises(NotJsonError, match="contains itself"):
        snapshot_json(cycle)
    shared: list[object] = [1]
    assert snapshot_json([shared, shared]) == ((1,), (1,))


def test_surrogates_are_accepted_unless_the_caller_says_no():
    assert snapshot_json({"a": "\ud800"}) == {"a": "\ud800"}
    for value in ({"a": "\ud800"}, {"\ud800": 1}):
        with pytest.raises(NotJsonError, match="surrogate"):
            snapshot_json(value, allow_surrogates=False)


def test_depth_has_no_limit_and_a_deep_offender_has_a_short_path():
    deep: object = float("nan")
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(NotJsonError) as caught:
        snapshot_json(deep)
    assert caught.value.path.endswith("…")


def test_a_frozen_object_refuses_every_change():
    frozen = snapshot_json({"a": 1})
    assert isinstance(frozen, FrozenDict)
    assert freeze_json(frozen) is frozen
    for change in (
        lambda: frozen.update(a=2),
        lambda: frozen.pop("a"),
        frozen.clear,
        lambda: frozen.setdefault("b", 1),
        lambda: frozen.__setitem__("a", 2),
        lambda: frozen.__delitem__("a"),
        frozen.popitem,
        lambda: frozen.__ior__({"a": 2}),
    ):
        with pytest.raises(TypeError, match="frozen"):
            change()


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [
        (1, 1.0, True),
        (True, 1, False),
        (0, False, False),
        ([1, (2,)], [1.0, [2]], True),
        ([1], [1, 2], False),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ({"a": [True]}, {"a": [1]}, False),
        ("1", 1, False),
        ([], {}, False),
    ],
)
def test_json_equality_is_strict_but_for_numbers(left, right, equal):
    assert json_equal(left, right) is equal
    assert json_equal(right, left) is equal
