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


@pytest.mark.spec("03-P13")
@given(values)
def test_a_snapshot_is_equal_detached_and_written_like_its_source(value):
    for frozen in (snapshot_json(value), freeze_json(value)):
        assert json_equal(frozen, value)
        assert thaw(frozen) == value
        assert loads(dumps(frozen)) == value
    assert snapshot_json(snapshot_json(value)) == snapshot_json(value)


@pytest.mark.spec("03-P13")
@given(values)
def test_a_snapshot_does_not_follow_its_source(value):
    source = thaw(value)
    frozen = [snapshot_json(source), freeze_json(source)]
    pending = [source]
    while pending:
        one = pending.pop()
        if isinstance(one, list):
            pending += one
            one.append("more")
        elif isinstance(one, dict):
            pending += one.values()
            one["more"] = 1
    assert [thaw(one) for one in frozen] == [value, value]


def cyclic() -> list[object]:
    cycle: list[object] = [1]
    cycle.append({"again": cycle})
    return cycle


bad_values = st.one_of(
    st.sampled_from([float("nan"), float("inf"), -float("inf"), -0.0, 2**53, -(2**60)]),
    st.binary(max_size=3),
    st.sets(st.integers(0, 3), max_size=2),
    st.dictionaries(st.integers() | st.none() | st.booleans(), st.none(), min_size=1, max_size=2),
    st.builds(object),
    st.builds(cyclic),
    st.builds(complex),
)


@pytest.mark.spec("03-P13")
@given(st.lists(values, max_size=2), bad_values, st.lists(st.booleans(), max_size=5))
def test_one_part_that_is_no_json_spoils_the_whole_wherever_it_lies(around, bad, way):
    whole = bad
    for is_object in way:
        whole = {"a": around, "b": whole} if is_object else (*around, whole)
    with pytest.raises(NotJsonError):
        snapshot_json(whole)


@given(values, st.booleans())
def test_a_value_that_lies_deep_is_copied_alike(value, allow_surrogates):
    deep = value
    for _ in range(120):
        deep = [deep]
    try:
        shallow = snapshot_json(value, allow_surrogates=allow_surrogates)
    except NotJsonError:
        with pytest.raises(NotJsonError, match="surrogate"):
            snapshot_json(deep, allow_surrogates=allow_surrogates)
        return
    frozen = snapshot_json(deep, allow_surrogates=allow_surrogates)
    for _ in range(120):
        (frozen,) = frozen
    assert (frozen, type(frozen)) == (shallow, type(shallow))


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


@pytest.mark.spec("03-8")
@pytest.mark.parametrize("wrap", [lambda v: [v], lambda v: {"a": v}, lambda v: [{"a": v}, 1]])
def test_any_depth_is_frozen_thawed_and_written(wrap):
    deep: object = 1
    for _ in range(20_000):
        deep = wrap(deep)
    text = dumps(deep)
    for frozen in (freeze_json(deep), snapshot_json(deep)):
        assert json_equal(frozen, deep)
        assert dumps(frozen) == text
        assert json_equal(snapshot_json(frozen), frozen)
        thawed = thaw(frozen)
        assert type(thawed) is type(deep)
        assert dumps(thawed) == text


@pytest.mark.parametrize("depth", [249, 250, 251, 252, 400, 2_000])
def test_a_frozen_value_is_written_the_same_on_both_sides_of_the_deep_limit(depth):
    deep: object = FrozenDict(a=(1,))
    for _ in range(depth):
        deep = (deep, "x")
    for frozen in (freeze_json([deep]), snapshot_json([deep])):
        assert dumps(frozen) == b"[" * (depth + 1) + b'{"a":[1]}' + b',"x"]' * depth + b"]"


def test_deep_cycles_are_refused_and_deep_shared_parts_are_not():
    cycle: list[object] = []
    cycle.append({"a": cycle})
    for copy in (freeze_json, thaw):
        with pytest.raises(ValueError, match="contain itself") as caught:
            copy(cycle)
        assert caught.value.__context__ is None
    part: object = ["end"]
    for _ in range(500):
        part = [part]
    assert json_equal(freeze_json([part, part, FrozenDict(a=1)]), [part, part, {"a": 1}])


@pytest.mark.spec("03-7")
def test_a_computed_member_is_read_once_and_kept_as_read():
    class Counting(dict[str, object]):
        reads = 0

        def __getitem__(self, key: str) -> object:
            self.reads += 1
            return self.reads

    source = Counting(a=0, b=0)
    assert snapshot_json(source) == {"a": 1, "b": 2}
    assert source.reads == 2


def test_a_source_that_changes_while_it_is_read_is_refused():
    class Growing(dict[str, object]):
        def __getitem__(self, key: str) -> object:
            self[key + "x"] = 1
            return 1

    with pytest.raises(NotJsonError, match="changed while it was read"):
        snapshot_json(Growing(a=0))


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
