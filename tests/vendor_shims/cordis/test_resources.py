"""Foreign resources as effects (01 section 17.5)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import pytest

from vendor_shims.cordis import Context, FiberState, InvalidEffect
from vendor_shims.testing import Kernel


async def test_a_context_manager_ends_with_the_fiber(k: Kernel) -> None:
    log: list[str] = []

    @contextmanager
    def manager() -> Iterator[str]:
        log.append("enter")
        yield "value"
        log.append("exit")

    def apply(ctx: Context) -> None:
        assert ctx.enter(manager()) == "value"

    fiber = await k.root.plugin(apply)
    assert fiber.effects() == [("ctx.enter(_GeneratorContextManager)", [])]
    await fiber.dispose()
    assert log == ["enter", "exit"]


async def test_a_context_manager_that_cannot_be_entered_leaves_nothing(k: Kernel) -> None:
    @contextmanager
    def broken() -> Iterator[None]:
        raise OSError("no")
        yield

    @asynccontextmanager
    async def broken_later() -> AsyncIterator[None]:
        raise OSError("no")
        yield

    with pytest.raises(OSError, match="no"):
        k.root.enter(broken())
    with pytest.raises(OSError, match="no"):
        await k.root.aenter(broken_later())
    assert k.root.fiber.effects() == []


async def test_an_asynchronous_context_manager_ends_with_the_fiber(k: Kernel) -> None:
    log: list[str] = []

    @asynccontextmanager
    async def manager() -> AsyncIterator[str]:
        log.append("enter")
        await k.clock.sleep(1)
        yield "value"
        await k.clock.sleep(1)
        log.append("exit")

    async def apply(ctx: Context) -> None:
        log.append(await ctx.aenter(manager()))

    fiber = k.root.plugin(apply)
    await k.advance(1)
    assert fiber.state is FiberState.ACTIVE
    ended = fiber.dispose()
    await k.advance(1)
    await ended
    assert log == ["enter", "value", "exit"]


async def test_closables_are_adopted(k: Kernel) -> None:
    log: list[str] = []

    class File:
        def close(self) -> None:
            log.append("close")

    class Stream:
        async def aclose(self) -> None:
            log.append("aclose")

        def close(self) -> None:
            raise AssertionError

    def apply(ctx: Context) -> None:
        file = File()
        assert ctx.adopt(file) is file
        ctx.adopt(Stream())

    fiber = await k.root.plugin(apply)
    assert [meta.label for meta in fiber.effects()] == ["ctx.adopt(File)", "ctx.adopt(Stream)"]
    await fiber.dispose()
    assert log == ["aclose", "close"]
    with pytest.raises(InvalidEffect, match="int has neither"):
        k.root.adopt(5)


async def test_calls_are_deferred(k: Kernel) -> None:
    log: list[Any] = []
    fiber = await k.root.plugin(lambda ctx: ctx.defer(log.append, 1) and None)
    early = k.root.defer(log.append, 2)
    early()
    await fiber.dispose()
    assert log == [2, 1]
    assert early.label == "ctx.defer(append)"


async def test_a_group_is_undone_as_a_unit(k: Kernel) -> None:
    log: list[str] = []
    k.root.defer(log.append, "before")
    with k.root.group("together") as group:
        k.root.defer(log.append, "1")
        with k.root.group("inner"):
            k.root.on("x", lambda: None)
        k.root.defer(log.append, "2")
    k.root.defer(log.append, "after")
    labels = [meta.label for meta in k.root.fiber.effects()]
    assert labels == ["ctx.defer(append)", "together", "ctx.defer(append)"]
    together = k.root.fiber.effects()[1]
    assert [meta.label for meta in together.children] == [
        "ctx.defer(append)",
        "inner",
        "ctx.defer(append)",
    ]
    assert together.children[1].children == [('ctx.on("x")', [])]
    group()
    assert log == ["2", "1"]
    assert len(k.root.fiber.effects()) == 2


async def test_a_group_keeps_what_was_registered_before_an_error(k: Kernel) -> None:
    log: list[str] = []

    def fail_half_way() -> None:
        with k.root.group("partial"):
            k.root.defer(log.append, "1")
            raise ValueError("boom")

    with pytest.raises(ValueError, match="boom"):
        fail_half_way()
    (group,) = k.root.fiber.table
    assert group.label == "partial"
    group.undo()
    assert log == ["1"]


async def test_a_group_that_is_undone_inside_its_block_collects_nothing(k: Kernel) -> None:
    log: list[str] = []
    with k.root.group("gone") as group:
        k.root.defer(log.append, "1")
        group()
        k.root.defer(log.append, "2")
    assert log == []
    assert len(k.root.fiber.effects()) == 2


async def test_tasks_of_a_group_belong_to_the_fiber(k: Kernel) -> None:
    log: list[str] = []

    async def work(name: str, delay_s: float) -> None:
        try:
            await k.clock.sleep(delay_s)
            log.append(name)
        except asyncio.CancelledError:
            log.append(f"{name} cancelled")
            raise

    async def crash() -> None:
        raise ValueError("boom")

    fiber = await k.root.plugin(lambda ctx: None)
    tasks = fiber.ctx.task_group()
    await tasks.wait()
    tasks.start_soon(work, "a", 1)
    tasks.start_soon(work, "b", 5, name="named")
    tasks.start_soon(crash)
    assert [meta.label for meta in fiber.effects()] == [
        'ctx.spawn("work")',
        'ctx.spawn("named")',
        'ctx.spawn("crash")',
    ]
    waiting = asyncio.ensure_future(tasks.wait())
    await k.advance(1)
    assert log == ["a"]
    assert not waiting.done()
    tasks.cancel()
    await waiting
    assert log == ["a", "b cancelled"]
    assert "ValueError: boom" in k.logged("error")[0]
    tasks.start_soon(work, "c", 5)
    await k.settle()
    await fiber.dispose()
    assert log[-1] == "c cancelled"
