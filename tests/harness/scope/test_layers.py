"""Layered registrations: order, shadowing, vetoes, folds."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.scope import (
    AnonymousEntries,
    LayerFold,
    NamedEntries,
    ScopedLayers,
    bind_scope_parent,
    create_scope,
)
from vendor_shims.cordis import Context


class Key:
    """A scope key."""


class Taken(Exception):
    """A name is taken."""


class Names:
    """A layer with named and anonymous entries."""

    def __init__(self) -> None:
        self.named: NamedEntries[str] = NamedEntries(Taken)
        self.loose: AnonymousEntries[str] = AnonymousEntries()

    def is_empty(self) -> bool:
        return not (self.named or self.loose)


def put(name: str, value: str) -> Callable[[Names], Callable[[], None]]:
    return lambda layer: layer.named.add(name, value)


def broken(_layer: Names) -> Callable[[], None]:
    raise ZeroDivisionError


async def test_unscoped_registrations_are_global_and_scoped_ones_have_their_own_layer() -> None:
    async with Context() as root:
        layers = ScopedLayers(Names, lambda: None)
        key = Key()
        scope = create_scope(root, key)
        layers.effect(root, put("a", "global"), "a")
        assert layers.layer_of(key) is None
        effect = layers.effect(scope.ctx, put("a", "scoped"), "a")
        layer = layers.layer_of(key)
        assert layer is not None
        assert layer.named.get("a") == "scoped"
        assert layers.layer_of(None) is layers.global_layer
        assert layers.global_layer.named.get("a") == "global"
        assert layers.global_layer.named.get("b") is None
        effect()
        assert layers.layer_of(key) is None


async def test_merge_lets_the_nearest_win_and_keeps_the_first_position() -> None:
    async with Context() as root:
        layers = ScopedLayers(Names, lambda: None)
        near, far = Key(), Key()
        bind_scope_parent(near, far)
        layers.effect(root, put("a", "global"), "a")
        layers.effect(root, put("b", "global"), "b")
        layers.effect(create_scope(root, near).ctx, put("a", "near"), "a")
        layers.effect(create_scope(root, far).ctx, put("a", "far"), "a")
        layers.effect(create_scope(root, far).ctx, put("c", "far"), "c")
        merged = layers.merge(near, lambda layer: layer.named.as_dict())
        assert list(merged.items()) == [("a", "near"), ("b", "global"), ("c", "far")]
        values = [layer.named.get("a") for layer in layers.chain_layers(near)]
        assert values == ["far", "near"]
        assert layers.chain_layers(Key()) == []


async def test_an_intermediate_key_without_a_layer_is_skipped() -> None:
    async with Context() as root:
        layers = ScopedLayers(Names, lambda: None)
        near, middle, far = Key(), Key(), Key()
        bind_scope_parent(near, middle)
        bind_scope_parent(middle, far)
        layers.effect(create_scope(root, far).ctx, put("a", "far"), "a")
        assert layers.merge(near, lambda layer: layer.named.as_dict()) == {"a": "far"}


async def test_a_duplicate_name_is_refused_with_the_error_of_the_owner() -> None:
    async with Context() as root:
        calls: list[None] = []
        layers = ScopedLayers(Names, lambda: calls.append(None))
        key = Key()
        scope = create_scope(root, key)
        layers.effect(scope.ctx, put("a", "1"), "a")
        with pytest.raises(Taken, match="a"):
            layers.effect(scope.ctx, put("a", "2"), "a")
        layer = layers.layer_of(key)
        assert layer is not None
        assert layer.named.as_dict() == {"a": "1"}
        assert len(calls) == 1
        other = Key()
        with pytest.raises(ZeroDivisionError):
            layers.effect(create_scope(root, other).ctx, broken, "broken")
        assert layers.layer_of(other) is None


@pytest.mark.spec("03-110")
async def test_a_veto_rolls_the_registration_back_and_reaches_the_caller() -> None:
    async with Context() as root:
        is_refusing = False
        seen: list[dict[str, str]] = []

        def on_change() -> None:
            seen.append(layers.global_layer.named.as_dict())
            if is_refusing:
                raise PermissionError("not now")

        layers = ScopedLayers(Names, on_change)
        layers.effect(root, put("a", "1"), "a")
        is_refusing = True
        with pytest.raises(PermissionError, match="not now"):
            layers.effect(root, put("b", "2"), "b")
        assert layers.global_layer.named.as_dict() == {"a": "1"}
        # The change was announced, and so was its roll-back.
        assert seen == [{"a": "1"}, {"a": "1", "b": "2"}, {"a": "1"}]
        assert [meta.label for meta in root.fiber.effects()] == ["a"]


async def test_quiet_effects_notify_nobody() -> None:
    async with Context() as root:
        calls: list[None] = []
        layers = ScopedLayers(Names, lambda: calls.append(None))
        effect = layers.effect(root, put("a", "1"), "a", notify=False)
        effect()
        assert calls == []
        effect = layers.effect(root, put("a", "1"), "a")
        effect()
        assert len(calls) == 2


@pytest.mark.spec("03-109")
async def test_an_iteration_never_meets_entries_of_the_next_generation() -> None:
    async with Context() as root:
        layers = ScopedLayers(Names, lambda: None)
        key = Key()
        scope = create_scope(root, key)
        layers.effect(scope.ctx, put("a", "1"), "a")
        layers.effect(scope.ctx, put("b", "1"), "b")
        layers.effect(scope.ctx, lambda layer: layer.loose.add("x"), "x")
        layer = layers.layer_of(key)
        assert layer is not None
        names, loose = iter(layer.named), iter(layer.loose)
        assert next(names) == "a"
        await scope.dispose()
        again = create_scope(root, key)
        layers.effect(again.ctx, put("c", "2"), "c")
        layers.effect(again.ctx, lambda layer: layer.loose.add("y"), "y")
        assert list(names) == ["b"]
        assert list(loose) == ["x"]
        fresh = layers.layer_of(key)
        assert fresh is not None
        assert list(fresh.named) == ["c"]


def test_an_undo_removes_only_its_own_registration_and_only_once() -> None:
    named: NamedEntries[str] = NamedEntries(Taken)
    first = named.add("a", "1")
    first()
    second = named.add("a", "2")
    first()
    assert named.get("a") == "2"
    second()
    assert len(named) == 0
    loose: AnonymousEntries[str] = AnonymousEntries()
    undo = loose.add("x")
    loose.add("x")
    undo()
    undo()
    assert list(loose) == ["x"]
    assert len(loose) == 1


async def test_a_fold_is_computed_once_per_content_and_shared_by_bare_keys() -> None:
    async with Context() as root:
        layers = ScopedLayers(Names, lambda: None)
        built: list[int] = []

        def build(chain: list[Names]) -> dict[str, str]:
            built.append(len(chain))
            merged: dict[str, str] = {}
            for layer in chain:
                merged.update(layer.named.as_dict())
            return merged

        fold = LayerFold(layers, build)
        key, bare = Key(), Key()
        layers.effect(root, put("a", "global"), "a")
        assert fold.of(bare) is fold.of(None)
        scope = create_scope(root, key)
        effect = layers.effect(scope.ctx, put("a", "near"), "a")
        assert fold.of(key) == {"a": "near"}
        assert fold.of(key) is fold.of(key)
        assert fold.of(None) is fold.of(bare)
        assert built == [1, 2]
        layers.effect(root, put("b", "global"), "b")
        assert fold.of(key) == {"a": "near", "b": "global"}
        effect()
        assert fold.of(key) == {"a": "global", "b": "global"}


async def test_relinking_a_key_changes_its_fold() -> None:
    async with Context() as root:
        layers = ScopedLayers(Names, lambda: None)
        fold = LayerFold(layers, lambda chain: [list(layer.named) for layer in chain])
        child, first, second = Key(), Key(), Key()
        binding = bind_scope_parent(child, first)
        layers.effect(create_scope(root, first).ctx, put("one", ""), "one")
        layers.effect(create_scope(root, second).ctx, put("two", ""), "two")
        layers.effect(create_scope(root, child).ctx, put("own", ""), "own")
        assert fold.of(child) == [[], ["one"], ["own"]]
        binding.rebind(second)
        assert fold.of(child) == [[], ["two"], ["own"]]


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.sampled_from("abc"), st.booleans()),
        max_size=25,
    )
)
async def test_folds_equal_a_plain_model_for_any_order_of_changes(
    steps: list[tuple[int, str, bool]],
) -> None:
    async with Context() as root:
        layers = ScopedLayers(Names, lambda: None)
        fold = LayerFold(layers, lambda chain: [layer.named.as_dict() for layer in chain])
        keys: list[Key | None] = [None, Key(), Key(), Key()]
        bind_scope_parent(keys[2], keys[1])
        bind_scope_parent(keys[3], keys[2])
        contexts = [root, *[create_scope(root, key).ctx for key in keys[1:]]]
        model: dict[tuple[int, str], Callable[[], object]] = {}
        for depth, name, is_adding in steps:
            known = model.pop((depth, name), None)
            if known is not None:
                known()
            elif is_adding:
                model[depth, name] = layers.effect(contexts[depth], put(name, str(depth)), "x")
            merged: dict[str, str] = {}
            for level in range(4):
                merged.update({key[1]: str(level) for key in model if key[0] == level})
                found: dict[str, str] = {}
                for layer in fold.of(keys[level]):
                    found.update(layer)
                assert found == merged
