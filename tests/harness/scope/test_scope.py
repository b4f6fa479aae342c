"""Scoped contexts: ownership, tags, disposal."""

import anyio
import pytest

from harness.scope import (
    SCOPE_TAG,
    ScopeBoundError,
    bind_scope_parent,
    create_scope,
    scope_chain_of,
    scope_of,
)
from vendor_shims.cordis import Context, Emit, InactiveEffect

PING = Emit[[list[str]]]("test-scope/ping")


class Key:
    """A scope key."""


async def test_a_scope_is_usable_at_once_and_marks_what_is_below_it() -> None:
    async with Context() as root:
        key = Key()
        scope = create_scope(root, key)
        assert scope.key is key
        assert scope_of(root) is None
        assert scope_of(scope.ctx) is key
        assert scope.ctx.tags[SCOPE_TAG] is key
        seen: list[object] = []
        fiber = scope.ctx.plugin(lambda ctx: seen.append(scope_of(ctx)))
        await fiber
        assert seen == [key]


async def test_an_inner_scope_hides_the_outer_one() -> None:
    async with Context() as root:
        outer, inner = Key(), Key()
        scope = create_scope(create_scope(root, outer).ctx, inner, outer)
        assert scope_of(scope.ctx) is inner
        assert scope_chain_of(inner) == (inner, outer)
        with pytest.raises(ScopeBoundError):
            create_scope(root, inner, Key())


async def test_disposing_undoes_every_registration_and_waits_for_asynchronous_teardown() -> None:
    async with Context() as root:
        scope = create_scope(root, Key())
        trace: list[str] = []

        async def slow() -> None:
            await anyio.lowlevel.checkpoint()
            trace.append("slow")

        scope.ctx.effect(lambda: slow)
        scope.ctx.on(PING, lambda out: out.append("scoped"))
        root.emit(PING, trace)
        await scope.dispose()
        await scope.dispose()
        root.emit(PING, trace)
        assert trace == ["scoped", "slow"]
        with pytest.raises(InactiveEffect):
            scope.ctx.effect(lambda: None)


async def test_raw_dispose_requests_at_once_and_can_be_awaited() -> None:
    async with Context() as root:
        scope = create_scope(root, Key())
        undone: list[str] = []
        scope.ctx.effect(lambda: lambda: undone.append("undone"))
        pending = scope.raw_dispose()
        with pytest.raises(InactiveEffect):
            scope.ctx.effect(lambda: None)
        await pending
        assert undone == ["undone"]


async def test_a_scope_dies_with_the_context_it_was_made_from() -> None:
    async with Context() as root:
        undone: list[str] = []

        def owner(ctx: Context) -> None:
            create_scope(ctx, Key()).ctx.effect(lambda: lambda: undone.append("undone"))

        fiber = root.plugin(owner)
        await fiber
        await fiber.dispose()
        assert undone == ["undone"]


async def test_the_chain_of_a_disposed_scope_still_answers() -> None:
    async with Context() as root:
        key, parent = Key(), Key()
        await create_scope(root, key, parent).dispose()
        assert scope_chain_of(key) == (key, parent)
        with pytest.raises(ScopeBoundError):
            bind_scope_parent(key, None)
