"""Dispatch carriers: which listeners a scoped dispatch reaches."""

import pytest

from harness.scope import UNSCOPED, bind_scope_parent, create_scope, scope_target
from vendor_shims.cordis import Context, Emit

PING = Emit[[list[str]]]("test-target/ping")


class Key:
    """A scope key."""


@pytest.mark.spec("03-107")
async def test_listeners_of_the_key_and_its_ancestors_and_untagged_ones_are_admitted() -> None:
    async with Context() as root:
        child, parent, stranger = Key(), Key(), Key()
        bind_scope_parent(child, parent)
        root.on(PING, lambda out: out.append("untagged"))
        for name, key in (("child", child), ("parent", parent), ("stranger", stranger)):
            create_scope(root, key).ctx.on(PING, lambda out, name=name: out.append(name))

        def heard(target: object) -> list[str]:
            out: list[str] = []
            root.emit(PING, out, target=target)
            return out

        assert heard(scope_target(None, child)) == ["untagged", "child", "parent"]
        assert heard(scope_target(None, parent)) == ["untagged", "parent"]
        assert heard(scope_target(None, stranger)) == ["untagged", "stranger"]
        assert heard(UNSCOPED) == ["untagged"]


async def test_the_filter_of_the_base_object_applies_as_well() -> None:
    class Base:
        is_open = True

        def __event_filter__(self, ctx: Context) -> bool:
            return self.is_open

    async with Context() as root:
        base, key = Base(), Key()
        create_scope(root, key).ctx.on(PING, lambda out: out.append("scoped"))
        carrier = scope_target(base, key)
        assert (carrier.base, carrier.key) == (base, key)
        out: list[str] = []
        root.emit(PING, out, target=carrier)
        base.is_open = False
        root.emit(PING, out, target=carrier)
        assert out == ["scoped"]


async def test_relinking_a_key_changes_what_its_next_dispatch_reaches() -> None:
    async with Context() as root:
        child, first, second = Key(), Key(), Key()
        binding = bind_scope_parent(child, first)
        create_scope(root, first).ctx.on(PING, lambda out: out.append("first"))
        create_scope(root, second).ctx.on(PING, lambda out: out.append("second"))
        out: list[str] = []
        root.emit(PING, out, target=scope_target(None, child))
        binding.rebind(second)
        root.emit(PING, out, target=scope_target(None, child))
        assert out == ["first", "second"]
