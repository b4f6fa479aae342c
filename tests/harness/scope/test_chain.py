"""Chains of scope keys: linking, re-linking, cycles, life times."""

import gc

import pytest

from harness.scope import (
    ScopeBoundError,
    ScopeCycleError,
    bind_scope_parent,
    iter_scope_chain,
    scope_chain_of,
    scope_parent_of,
)


class Key:
    """An object that is compared by identity."""


def test_chain_runs_from_the_key_to_its_farthest_ancestor() -> None:
    child, preset, top = Key(), Key(), Key()
    bind_scope_parent(child, preset)
    bind_scope_parent(preset, top)
    assert scope_chain_of(child) == (child, preset, top)
    assert list(iter_scope_chain(top)) == [top]
    assert scope_chain_of(None) == ()
    assert scope_parent_of(top) is None


@pytest.mark.spec("03-108")
def test_a_key_is_bound_once_and_relinked_only_through_its_binding() -> None:
    child, first, second = Key(), Key(), Key()
    binding = bind_scope_parent(child, first)
    with pytest.raises(ScopeBoundError, match="already has a parent"):
        bind_scope_parent(child, second)
    binding.rebind(second)
    assert scope_parent_of(child) is second
    binding.rebind(None)
    assert scope_chain_of(child) == (child,)


@pytest.mark.spec("03-108")
def test_cycles_are_refused_and_leave_the_links_as_they_were() -> None:
    low, middle, high = Key(), Key(), Key()
    bind_scope_parent(low, middle)
    bind_scope_parent(middle, high)
    top = bind_scope_parent(high, None)
    with pytest.raises(ScopeCycleError):
        top.rebind(low)
    with pytest.raises(ScopeCycleError):
        bind_scope_parent(lonely := Key(), lonely)
    assert scope_chain_of(low) == (low, middle, high)


def test_keys_are_told_apart_by_identity_even_when_they_compare_equal() -> None:
    class Same:
        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 1

    left, right, parent = Same(), Same(), Key()
    bind_scope_parent(left, parent)
    assert scope_parent_of(right) is None
    bind_scope_parent(right, left)
    assert scope_chain_of(right)[1] is left


def test_a_link_goes_with_its_key_and_keeps_the_parent_alive_until_then() -> None:
    child = Key()
    bind_scope_parent(child, Key())
    gc.collect()
    assert isinstance(scope_parent_of(child), Key)
    ident = id(child)
    del child
    gc.collect()
    fresh = [Key() for _ in range(1_000)]
    assert all(scope_parent_of(key) is None for key in fresh if id(key) == ident)


def test_a_key_must_support_weak_references() -> None:
    with pytest.raises(TypeError):
        bind_scope_parent("text", Key())
