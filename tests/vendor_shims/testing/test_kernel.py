"""The kernel fixture: a virtual clock, the log in reach, and nothing left behind."""

from __future__ import annotations

import asyncio

import pytest

from vendor_shims.cordis import Context, ListenerEffect
from vendor_shims.testing import Kernel, LeakError, VirtualClock, kernel, snapshot


async def test_a_clean_test_passes() -> None:
    seen: list[str] = []

    async def slow() -> None:
        await k.clock.sleep(30)
        seen.append("cleaned up")

    async with kernel() as k:
        assert isinstance(k.clock, VirtualClock)
        assert k.root.kernel.clock is k.clock
        k.root.effect(lambda: slow, dispose_timeout=None)
        k.root.provide("foo", 1)
        k.root.accessor("acc", lambda ctx: 1)
        await k.advance(5)
        assert k.clock.time() == 5
    assert seen == ["cleaned up"]
    assert k.clock.time() == 35


async def test_the_root_may_be_of_another_class() -> None:
    class Mine(Context):
        pass

    async with kernel(root_type=Mine, debug=True, dispose_timeout_s=3) as k:
        assert type(k.root) is Mine
        assert k.root.kernel.debug
        assert k.root.fiber.dispose_timeout_s == 3


async def test_the_log_is_readable() -> None:
    def failing(ctx: Context) -> None:
        raise ValueError("boom")

    async with kernel() as k:
        k.root.plugin(failing)
        await k.settle()
        k.root.logger.warn("%s of %o", "text", [1])
        k.root.logger.info("plain")
        assert k.logged() == ["failing: ValueError: boom"]
        assert k.logged("warn") == ["root: text of [1]"]
        assert k.logged("info") == ["root: plain"]


async def test_its_own_error_comes_out_of_a_failing_block() -> None:
    undone: list[int] = []

    async def fail() -> None:
        async with kernel() as k:
            k.root.defer(undone.append, 1)
            k.clock.call_later(1, lambda: None)
            _ = 1 / 0

    with pytest.raises(ZeroDivisionError):
        await fail()
    assert undone == [1]


async def test_left_tasks_timers_and_exceptions_are_leaks() -> None:
    async def forever() -> None:
        await asyncio.get_running_loop().create_future()

    tasks: list[asyncio.Task[None]] = []

    async def leak() -> None:
        async with kernel() as k:
            tasks.append(asyncio.ensure_future(forever()))
            k.clock.call_later(1000, lambda: None)
            asyncio.get_running_loop().call_exception_handler(
                {"message": "dropped", "exception": ValueError("boom")}
            )

    with pytest.raises(LeakError) as caught:
        await leak()
    text = str(caught.value)
    assert "task: <Task pending" in text
    assert "timers: 1 still to run" in text
    assert "dropped on the loop: dropped: ValueError('boom')" in text
    tasks[0].cancel()


async def test_a_tree_that_does_not_close_is_a_leak() -> None:
    release = asyncio.Event()

    async def deaf() -> None:
        await release.wait()

    made: list[Kernel] = []

    async def hang() -> None:
        async with kernel(dispose_timeout_s=None) as k:
            made.append(k)
            k.root.effect(lambda: deaf)

    with pytest.raises(LeakError, match="did not close within 300 s: root is ACTIVE"):
        await hang()
    release.set()
    await made[0].settle()
    await made[0].root.close()


async def test_what_is_registered_behind_the_kernels_back_is_a_leak() -> None:
    async def leak() -> None:
        async with kernel() as k:
            slot = k.root.kernel.bus.slot("x")
            stray = ListenerEffect(
                k.root, slot, print, once=False, unfiltered=False, accepts_serial=False
            )
            slot.add(stray, prepend=False)

    with pytest.raises(LeakError, match="listeners: left over: x: root"):
        await leak()


async def test_snapshots_name_every_difference() -> None:
    async with kernel() as k:
        k.root.on("a", print)
        k.root.provide("foo", 1)
        before = snapshot(k.root)
        before.require_same(snapshot(k.root))

        async def pending(ctx: Context) -> None:
            with ctx.group("together"):
                ctx.on("b", print)
            ctx.spawn(k.clock.sleep(1), name="named")
            ctx.spawn(k.clock.sleep(1), name="Task-1")
            await k.clock.sleep(1)

        k.root.plugin(pending)
        await k.settle()
        after = snapshot(k.root)
        assert after.fibers == ("root", "pending")
        assert 'pending: together > ctx.on("b")' in after.effects
        assert after.bindings == ("foo @ None: root",)
        assert after.tasks == ("pending: ", "pending: named", "pending: ")
        assert after.busy == ("pending",)
        assert after.registry == ("pending",)
        with pytest.raises(LeakError) as caught:
            before.require_same(after)
        assert "fibers: left over: pending" in str(caught.value)
        assert "listeners: left over: b: pending" in str(caught.value)
        with pytest.raises(LeakError, match="fibers: missing: pending"):
            after.require_same(before)


async def test_another_order_of_listeners_is_a_difference() -> None:
    async def one(ctx: Context) -> None:
        ctx.on("x", print)

    async def two(ctx: Context) -> None:
        ctx.on("x", print)

    async with kernel() as k:
        fiber = await k.root.plugin(one)
        await k.root.plugin(two)
        before = snapshot(k.root)
        await fiber.restart()
        with pytest.raises(LeakError, match="another order"):
            before.require_same(snapshot(k.root))
