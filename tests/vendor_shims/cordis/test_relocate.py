"""Moving a context of a running tree, with the services and fibers below it."""

from __future__ import annotations

from typing import Any

import pytest

from vendor_shims.cordis import (
    Context,
    Fiber,
    FiberState,
    InactiveEffect,
    Realm,
    ServiceConflict,
    relocate,
)
from vendor_shims.testing import Kernel


class Pair:
    """A movable context with a provider of `db`, and a consumer that stands elsewhere."""

    def __init__(self, k: Kernel) -> None:
        self.log: list[str] = []
        self.root = k.root
        self.place = k.root.place({"row": 1}, realms={})

    def provider(self, ctx: Context, value: str = "one") -> Fiber:
        def provide(ctx: Context) -> Any:
            ctx.provide("db", value)
            return lambda: self.log.append(f"-{value}")

        return ctx.plugin(provide)

    def consumer(self, ctx: Context, name: str = "user") -> Fiber:
        def use(ctx: Context) -> Any:
            self.log.append(f"+{name} {ctx.db}")
            return lambda: self.log.append(f"-{name} {ctx.db}")

        return ctx.inject(["db"], use)


async def test_binding_moves_and_only_those_who_lose_it_reload(k):
    pair = Pair(k)
    pair.provider(pair.place)
    outside = pair.consumer(pair.root, "outside")
    inside = pair.consumer(pair.place, "inside")
    await k.settle()
    assert pair.log == ["+outside one", "+inside one"]
    relocate(pair.place, realms={"db": Realm("db")}, layers=())
    await k.settle()
    assert pair.log[2:] == ["-outside one"]
    assert outside.state is FiberState.PENDING
    assert inside.ctx.db == "one"
    assert pair.root.get("db") is None
    relocate(pair.place, realms={}, layers=(("conf", 1),))
    await k.settle()
    assert pair.log[3:] == ["+outside one"]
    assert inside.ctx.intercept_layers("conf") == [1]
    assert pair.place.row == 1


async def test_conflict_changes_nothing(k):
    pair = Pair(k)
    realm = Realm("db")
    relocate(pair.place, realms={"db": realm}, layers=())
    pair.provider(pair.place)
    pair.provider(pair.root, "two")
    inside = pair.consumer(pair.place)
    await k.settle()
    with pytest.raises(ServiceConflict, match="would meet"):
        relocate(pair.place, realms={}, layers=(("conf", 1),))
    assert inside.ctx.db == "one"
    assert inside.ctx.realm("db") is realm
    assert inside.ctx.intercept_layers("conf") == []


async def test_two_providers_below_one_context_cannot_come_together(k):
    pair = Pair(k)
    inner = pair.place.place({}, realms={"db": Realm("db")})
    pair.provider(pair.place)
    pair.provider(inner, "two")
    await k.settle()
    with pytest.raises(ServiceConflict):
        relocate(inner, realms={}, layers=())
    outer = pair.root.place({}, realms={})
    a = outer.place({}, realms={})
    b = outer.place({}, realms={"db": Realm("db")})
    with pytest.raises(ServiceConflict):
        pair.root.provide("db", 1)
    relocate(pair.place, realms={"db": Realm("db")}, layers=())
    pair.provider(a, "three")
    pair.provider(b, "four")
    await k.settle()
    relocate(outer, realms={"db": Realm("db")}, layers=())
    await k.settle()
    assert pair.root.get("db") is None


async def test_provider_that_is_ending_makes_room(k):
    pair = Pair(k)
    pair.consumer(pair.root, "slow")
    relocate(pair.place, realms={"db": Realm("db")}, layers=())
    ending = pair.provider(pair.root, "old")
    pair.provider(pair.place, "new")
    await k.settle()
    pair.log.clear()
    ending.dispose()
    relocate(pair.place, realms={}, layers=())
    await k.settle()
    assert pair.log == ["-slow old", "-old", "+slow new"]


async def test_service_that_a_plugin_isolates_itself_stays(k):
    pair = Pair(k)

    def provide(ctx: Context) -> None:
        ctx.isolate("db").provide("db", "own")

    fiber = pair.place.plugin(provide)
    await k.settle()
    [realm] = fiber.bindings
    relocate(pair.place, realms={"db": Realm("db")}, layers=())
    assert list(fiber.bindings) == [realm]


async def test_other_parent_becomes_the_owner(k):
    pair = Pair(k)
    other = k.root.plugin(lambda ctx: None)
    await k.settle()
    user = pair.provider(pair.place)
    beside = pair.provider(k.root.place({}, realms={"db": Realm("db")}), "beside")
    await k.settle()
    relocate(pair.place, realms={}, layers=(), parent=other.ctx)
    assert user.parent is other
    assert beside.parent is k.root.fiber
    assert pair.place.parent is other.ctx
    await other.dispose()
    assert pair.log == ["-one"]
    with pytest.raises(InactiveEffect):
        relocate(k.root.place({}, realms={}), realms={}, layers=(), parent=other.ctx)
