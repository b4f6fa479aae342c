"""Fibers: how they end, in which order, and what may not be awaited (01 section 15.C, rest)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

import pytest

from vendor_shims.cordis import (
    Context,
    CordisError,
    Fiber,
    FiberState,
    InactiveEffect,
    ReentrantAwait,
    current_fiber,
)
from vendor_shims.testing import Kernel, kernel

PENDING, LOADING, ACTIVE, FAILED, DISPOSED, UNLOADING = FiberState


def idle(ctx: Context) -> None:
    """Do nothing."""


def taking(k: Kernel, log: list[str], name: str, delay_s: float) -> Callable[[], Any]:
    """Return a disposer that logs its start and its end, `delay_s` apart."""

    async def undo() -> None:
        log.append(f"{name} start")
        await k.clock.sleep(delay_s)
        log.append(f"{name} end")

    return undo


# -- requests --------------------------------------------------------------------------------


@pytest.mark.spec("01-C25")
async def test_disposal_before_the_first_turn_skips_the_setup(k: Kernel) -> None:
    ran: list[int] = []
    fiber = k.root.plugin(lambda ctx: ran.append(1))
    ended = fiber.dispose()
    assert fiber.state is LOADING
    await ended
    assert fiber.state is DISPOSED
    assert ran == []


@pytest.mark.spec("01-C26")
async def test_disposal_interrupts_a_slow_setup(k: Kernel) -> None:
    async def slow(ctx: Context) -> None:
        await k.clock.sleep(10)

    fiber = k.root.plugin(slow)
    await k.settle()
    await fiber.dispose()
    assert k.clock.time() == 0
    assert fiber.state is DISPOSED


@pytest.mark.spec("01-C27")
async def test_every_disposal_joins_the_same_cleanup(k: Kernel) -> None:
    log: list[str] = []
    fiber = await k.root.plugin(lambda ctx: taking(k, log, "undo", 0.02))
    waits = [asyncio.ensure_future(_follow(fiber.dispose())) for _ in range(2)]
    await k.advance(0.01)
    assert not any(wait.done() for wait in waits)
    await k.advance(0.01)
    assert all(wait.done() for wait in waits)
    assert log == ["undo start", "undo end"]


async def _follow(awaitable: Any) -> None:
    await awaitable


@pytest.mark.spec("01-C28")
async def test_state_during_the_cleanup(k: Kernel) -> None:
    fiber = await k.root.plugin(lambda ctx: taking(k, [], "undo", 1))
    assert fiber.uid == 1
    ended = fiber.dispose()
    assert fiber.uid is None
    assert fiber.state is UNLOADING
    assert k.root.fiber.children() == []
    await k.advance(1)
    await ended
    assert fiber.state is DISPOSED


@pytest.mark.spec("01-C29")
async def test_awaiting_the_own_end_in_a_setup_is_interrupted(k: Kernel) -> None:
    log: list[str] = []

    async def apply(ctx: Context) -> None:
        log.append("before")
        await ctx.fiber.dispose()
        log.append("after")

    fiber = k.root.plugin(apply)
    await k.settle()
    assert fiber.state is DISPOSED
    assert log == ["before"]
    assert k.logged("error") == []


@pytest.mark.spec("01-C29")
async def test_awaiting_the_own_end_in_an_uncancelled_setup_raises(k: Kernel) -> None:
    caught: list[ReentrantAwait] = []

    async def apply(ctx: Context) -> None:
        try:
            await ctx.fiber.dispose()
        except ReentrantAwait as error:
            caught.append(error)

    apply.cancel_stale_load = False
    fiber = k.root.plugin(apply)
    await k.settle()
    assert fiber.state is DISPOSED
    assert caught[0].code == "REENTRANT_AWAIT"


async def test_awaiting_what_waits_for_the_setup_raises(k: Kernel) -> None:
    caught: list[str] = []

    async def waiter(ctx: Context) -> None:
        for what in (ctx.fiber.wait(), ctx.fiber.active(), ctx.settle(), ctx.settle(timeout=1)):
            try:
                await what
            except ReentrantAwait as error:
                caught.append(str(error))

    fiber = await k.root.plugin(waiter)
    assert fiber.state is ACTIVE
    assert len(caught) == 4
    assert "setup of 'waiter' awaits the transition of 'waiter'" in caught[0]
    assert "the whole tree" in caught[2]


async def test_awaiting_the_own_restart_in_a_setup_is_interrupted(k: Kernel) -> None:
    log: list[int] = []

    async def apply(ctx: Context) -> None:
        log.append(len(log))
        if len(log) == 1:
            await ctx.fiber.restart()
            log.append(-1)

    fiber = k.root.plugin(apply)
    await k.settle()
    assert fiber.state is ACTIVE
    assert log == [0, 1]


@pytest.mark.spec("01-C30")
async def test_requesting_the_own_end_in_a_setup(k: Kernel) -> None:
    log: list[str] = []

    def apply(ctx: Context) -> None:
        ctx.effect(lambda: lambda: log.append("undone"))
        ctx.fiber.dispose()
        with pytest.raises(InactiveEffect):
            ctx.effect(lambda: lambda: log.append("never"))

    fiber = k.root.plugin(apply)
    await k.settle()
    assert fiber.state is DISPOSED
    assert log == ["undone"]


@pytest.mark.spec("01-C30")
async def test_a_setup_that_goes_on_after_requesting_its_end_is_cancelled(k: Kernel) -> None:
    log: list[str] = []

    async def rest(log: list[str]) -> None:
        try:
            await k.clock.sleep(10)
        except asyncio.CancelledError:
            log.append("cancelled")
            raise

    def apply(ctx: Context) -> Coroutine[Any, Any, None]:
        ctx.fiber.dispose()
        return rest(log)

    fiber = k.root.plugin(apply)
    await k.settle()
    assert fiber.state is DISPOSED
    assert log == ["cancelled"]


@pytest.mark.spec("01-C31")
async def test_awaiting_the_own_end_in_a_disposer_raises(k: Kernel) -> None:
    caught: list[str] = []
    log: list[str] = []

    def child(ctx: Context) -> Any:
        async def undo() -> None:
            for fiber in (ctx.fiber, ctx.fiber.parent, ctx.root.fiber):
                assert fiber is not None
                for what in (fiber.dispose(), fiber):
                    try:
                        await what
                    except ReentrantAwait:
                        caught.append(fiber.name)
            with pytest.raises(ReentrantAwait):
                await ctx.settle()
            with pytest.raises(ReentrantAwait):
                await ctx.close()
            log.append("undone")

        return undo

    def parent(ctx: Context) -> None:
        ctx.plugin(child)

    fiber = k.root.plugin(parent)
    await k.settle()
    await fiber.dispose()
    await k.settle()
    assert caught == ["child", "child", "parent", "parent", "root", "root"]
    assert log == ["undone"]
    assert fiber.state is DISPOSED


async def test_a_spawned_task_does_not_count_as_setup(k: Kernel) -> None:
    log: list[str] = []

    async def worker(ctx: Context) -> None:
        assert current_fiber() is None
        await ctx.fiber
        log.append(ctx.fiber.state.name)

    async def apply(ctx: Context) -> None:
        assert current_fiber() is ctx.fiber
        ctx.spawn(worker(ctx))
        await k.clock.sleep(1)

    k.root.plugin(apply)
    await k.advance(2)
    assert log == ["ACTIVE"]


@pytest.mark.spec("01-C32")
async def test_a_listener_may_await_the_end_of_its_own_fiber(k: Kernel) -> None:
    def apply(ctx: Context) -> None:
        async def end() -> None:
            await ctx.fiber.dispose()

        ctx.on("x", end)

    fiber = await k.root.plugin(apply)
    await k.root.parallel("x")
    assert fiber.state is DISPOSED


@pytest.mark.spec("01-C33")
async def test_a_child_may_end_its_parent_in_its_setup(k: Kernel) -> None:
    fibers: list[Fiber] = []

    async def child(ctx: Context) -> None:
        assert ctx.fiber.parent is not None
        ctx.fiber.parent.dispose()
        await k.clock.sleep(1)

    def parent(ctx: Context) -> None:
        fibers.append(ctx.plugin(child))

    fibers.append(k.root.plugin(parent))
    await k.settle()
    assert [fiber.state for fiber in fibers] == [DISPOSED, DISPOSED]


@pytest.mark.spec("01-C51")
async def test_cancelling_who_awaits_a_disposal_does_not_stop_it(k: Kernel) -> None:
    log: list[str] = []
    fiber = await k.root.plugin(lambda ctx: taking(k, log, "undo", 1))
    waiting = asyncio.ensure_future(_follow(fiber.dispose()))
    await k.settle()
    waiting.cancel()
    await k.settle()
    assert waiting.cancelled()
    await k.advance(1)
    assert log == ["undo start", "undo end"]
    assert fiber.state is DISPOSED


@pytest.mark.spec("01-C52")
async def test_a_parent_may_be_active_before_its_child(k: Kernel) -> None:
    async def child(ctx: Context) -> None:
        await k.clock.sleep(1)

    fibers: list[Fiber] = []
    parent = await k.root.plugin(lambda ctx: fibers.append(ctx.plugin(child)))
    assert (parent.state, fibers[0].state) == (ACTIVE, LOADING)
    await parent.dispose()
    assert fibers[0].state is DISPOSED


# -- order -----------------------------------------------------------------------------------


@pytest.mark.spec("01-C34")
async def test_consumers_leave_before_anything_of_the_provider_goes(k: Kernel) -> None:
    log: list[str] = []

    def provider(ctx: Context) -> None:
        ctx.effect(lambda: lambda: log.append("A"))
        ctx.provide("db", 1)
        ctx.effect(lambda: lambda: log.append(f"B {ctx.root.get('db', strict=False)}"))

    fiber = k.root.plugin(provider)
    await k.root.inject(["db"], lambda ctx: taking(k, log, "consumer", 0.005)).active()
    k.root.on("internal/service", lambda name, value: log.append(f"{name}={value}"))
    ended = fiber.dispose()
    await k.advance(0.005)
    await ended
    assert log == ["db=1", "consumer start", "consumer end", "B 1", "db=None", "A"]


@pytest.mark.spec("01-C35")
async def test_a_consumer_that_never_leaves_is_given_up(k: Kernel) -> None:
    log: list[str] = []

    def provider(ctx: Context) -> None:
        ctx.provide("a", 1)
        ctx.provide("b", 1)
        ctx.effect(lambda: lambda: log.append("undone"))

    def stuck(ctx: Context) -> None:
        ctx.effect(lambda: taking(k, log, "stuck", 25), dispose_timeout=None)

    fiber = k.root.plugin(provider)
    using = await k.root.inject(["a", "b"], stuck).active()
    ended = fiber.dispose()
    await k.advance(9.9)
    assert log == ["stuck start"]
    await k.advance(0.1)
    assert log == ["stuck start", "undone"]
    await ended
    assert fiber.state is DISPOSED
    warnings = k.logged("warn")
    assert len(warnings) == 1
    assert "gave up waiting for 'stuck' to unload before provider after 10" in warnings[0]
    await k.advance(15)
    assert using.state is PENDING


@pytest.mark.spec("01-C35")
async def test_progress_of_a_consumer_renews_the_patience(k: Kernel) -> None:
    log: list[str] = []

    def consumer(ctx: Context) -> None:
        for number in range(3):
            ctx.effect(lambda number=number: taking(k, log, str(number), 9))

    fiber = k.root.plugin(_provider)
    await k.root.inject(["foo"], consumer).active()
    ended = fiber.dispose()
    await k.advance(26.9)
    assert not ended.is_open
    await k.advance(0.1)
    await ended
    assert log == ["2 start", "2 end", "1 start", "1 end", "0 start", "0 end"]
    assert k.logged("warn") == []


@pytest.mark.spec("01-C35")
async def test_without_a_limit_consumers_are_waited_for() -> None:
    async with kernel(dispose_timeout_s=None) as k:
        fiber = k.root.plugin(_provider)
        await k.root.inject(["foo"], lambda ctx: taking(k, [], "slow", 90)).active()
        ended = fiber.dispose()
        await k.advance(89)
        assert not ended.is_open
        await k.advance(1)
        await ended


def _provider(ctx: Context) -> None:
    ctx.provide("foo", 1)


async def test_a_user_is_counted_once_however_many_ways_lead_to_it(k: Kernel) -> None:
    def plugin(needs: list[str], provides: str) -> Any:
        def apply(ctx: Context) -> None:
            ctx.provide(provides, 1)

        apply.inject = needs
        return apply

    def last(ctx: Context) -> None:
        ctx.effect(lambda: taking(k, [], "slow", 12), dispose_timeout=None)

    last.inject = ["b", "c"]
    first = k.root.plugin(plugin([], "a"))
    for one in (plugin(["a"], "b"), plugin(["a"], "c"), last):
        k.root.plugin(one)
    await k.settle()
    ended = first.dispose()
    await k.advance(9.9)
    assert k.logged("warn") == []
    await k.advance(0.1)
    assert len(k.logged("warn")) == 3
    await k.advance(2)
    await ended


async def test_waiting_never_closes_a_circle(k: Kernel) -> None:
    """Two plugins that use each other's services unload without waiting for each other."""

    async def undo() -> None:
        await k.clock.sleep(1)

    def one(ctx: Context) -> Any:
        ctx.provide("a", 1)
        ctx.inject(["b"], lambda inner: undo)
        return undo

    def two(ctx: Context) -> Any:
        ctx.provide("b", 1)
        ctx.inject(["a"], lambda inner: undo)
        return undo

    fibers = [k.root.plugin(one), k.root.plugin(two)]
    await k.settle()
    assert all(fiber.state is ACTIVE for fiber in fibers)
    ends = [fiber.dispose() for fiber in fibers]
    await k.advance(8)
    assert all(end.is_open for end in ends)
    assert k.logged("warn") == []


@pytest.mark.spec("01-C36")
async def test_disposers_run_one_after_another_in_reverse(k: Kernel) -> None:
    log: list[str] = []

    def apply(ctx: Context) -> None:
        ctx.effect(lambda: taking(k, log, "A", 0.010))
        ctx.effect(lambda: taking(k, log, "B", 0.005))
        ctx.effect(lambda: lambda: log.append("C"))

    fiber = await k.root.plugin(apply)
    ended = fiber.dispose()
    await k.advance(0.015)
    await ended
    assert log == ["C", "B start", "B end", "A start", "A end"]


@pytest.mark.spec("01-C37")
async def test_children_have_their_place_in_the_order(k: Kernel) -> None:
    log: list[str] = []

    def child(ctx: Context) -> Callable[[], None]:
        ctx.effect(lambda: lambda: log.append("child effect"))
        return lambda: log.append("child returned")

    def parent(ctx: Context) -> Callable[[], None]:
        ctx.effect(lambda: lambda: log.append("e1"))
        ctx.plugin(child)
        ctx.effect(lambda: lambda: log.append("e2"))
        return lambda: log.append("returned")

    fiber = k.root.plugin(parent)
    await k.settle()
    await fiber.dispose()
    assert log == ["returned", "e2", "child returned", "child effect", "e1"]


@pytest.mark.spec("01-C38")
async def test_errors_of_disposers_are_kept_and_do_not_stop_the_rest(k: Kernel) -> None:
    log: list[str] = []

    def fail() -> None:
        raise ValueError("boom")

    async def fail_later() -> None:
        await k.clock.sleep(1)
        raise OSError("later")

    def cancelled() -> None:
        raise asyncio.CancelledError

    def clumsy(ctx: Context) -> list[Callable[[], Any]]:
        ctx.effect(lambda: lambda: log.append("first"))
        ctx.effect(lambda: fail, "failing")
        return [fail_later, cancelled, lambda: log.append("last")]

    fiber = await k.root.plugin(clumsy)
    ended = fiber.dispose()
    await k.advance(1)
    await ended
    assert log == ["last", "first"]
    kinds = [type(error) for error in fiber.cleanup_errors]
    assert kinds == [asyncio.CancelledError, OSError, ValueError]
    errors = k.logged("error")
    assert len(errors) == 3
    assert "raised while undoing failing of 'clumsy'" in errors[2]
    assert "raised while undoing a disposer of 'clumsy'" in errors[1]


@pytest.mark.spec("01-C40")
async def test_effects_on_pending_and_failed_fibers(k: Kernel) -> None:
    log: list[str] = []

    def failing(ctx: Context) -> None:
        raise ValueError("boom")

    pending, failed = k.root.inject(["foo"], idle), k.root.plugin(failing)
    await k.settle()
    for fiber in (pending, failed):
        fiber.ctx.effect(lambda fiber=fiber: lambda: log.append(fiber.name), "extra")
        assert fiber.effects() == [("extra", [])]
        await fiber.dispose()
    assert log == ["idle", "failing"]


@pytest.mark.spec("01-C41")
async def test_nothing_can_be_registered_in_a_disposer(k: Kernel) -> None:
    codes: list[str] = []

    async def never() -> None:
        raise AssertionError

    def apply(ctx: Context) -> Callable[[], None]:
        attempts: list[Callable[[], object]] = [
            lambda: ctx.plugin(idle),
            lambda: ctx.effect(lambda: None),
            lambda: ctx.effect(never()),
            lambda: ctx.on("x", lambda: None),
            lambda: ctx.once("x", lambda: None),
            lambda: ctx.provide("foo", 1),
            lambda: ctx.inject(["foo"], idle),
            lambda: ctx.spawn(never()),
            lambda: ctx.accessor("acc", lambda ctx: 1),
            lambda: ctx.defer(print),
        ]

        def undo() -> None:
            for attempt in attempts:
                try:
                    attempt()
                except CordisError as error:
                    codes.append(error.code)

        return undo

    fiber = await k.root.plugin(apply)
    await fiber.dispose()
    assert codes == ["INACTIVE_EFFECT"] * 10


# -- tasks -----------------------------------------------------------------------------------


@pytest.mark.spec("01-C50")
async def test_a_spawned_task_ends_at_its_turn(k: Kernel) -> None:
    log: list[str] = []

    async def work() -> None:
        try:
            await k.clock.sleep(100)
        finally:
            await k.clock.sleep(1)
            log.append("task ended")

    def apply(ctx: Context) -> None:
        ctx.effect(lambda: lambda: log.append(f"earlier sees done: {task.done()}"))
        task = ctx.spawn(work(), name="worker")
        ctx.effect(lambda: lambda: log.append(f"later sees done: {task.done()}"))
        assert ctx.fiber.effects()[1].label == 'ctx.spawn("worker")'

    fiber = await k.root.plugin(apply)
    ended = fiber.dispose()
    await k.advance(1)
    await ended
    assert log == ["later sees done: False", "task ended", "earlier sees done: True"]


@pytest.mark.spec("01-C50")
async def test_a_finished_task_leaves_and_a_crashed_one_is_logged(k: Kernel) -> None:
    async def fine() -> int:
        return 7

    async def crash() -> None:
        raise ValueError("boom")

    fiber = await k.root.plugin(idle)
    done, crashed = fiber.ctx.spawn(fine), fiber.ctx.spawn(crash())
    assert [meta.label for meta in fiber.effects()] == ['ctx.spawn("fine")', 'ctx.spawn("crash")']
    await k.settle()
    assert done.result() == 7
    assert crashed.done()
    assert fiber.effects() == []
    assert fiber.state is ACTIVE
    errors = k.logged("error")
    assert len(errors) == 1
    assert errors[0].startswith("idle: ValueError: boom")
    await fiber.dispose()
    with pytest.raises(InactiveEffect):
        fiber.ctx.spawn(fine)


@pytest.mark.spec("01-C50")
async def test_a_shielded_task_is_only_awaited(k: Kernel) -> None:
    log: list[str] = []

    async def flush() -> None:
        await k.clock.sleep(20)
        log.append("flushed")

    fiber = await k.root.plugin(lambda ctx: ctx.spawn(flush(), shield=True) and None)
    ended = fiber.dispose()
    await k.advance(19)
    assert not ended.is_open
    await k.advance(1)
    await ended
    assert log == ["flushed"]


async def test_a_shielded_task_must_not_wait_for_what_waits_for_it(k: Kernel) -> None:
    caught: list[str] = []

    async def worker(ctx: Context) -> None:
        await ctx.fiber
        await ctx.settle()
        assert current_fiber() is None
        for what in (ctx.fiber.dispose(), ctx.fiber, ctx.settle()):
            try:
                await what
            except ReentrantAwait as error:
                caught.append(str(error))

    async def apply(ctx: Context) -> None:
        ctx.spawn(worker(ctx), shield=True)
        await k.clock.sleep(1)

    async def slower(ctx: Context) -> None:
        await k.clock.sleep(2)

    k.root.plugin(slower)
    fiber = k.root.plugin(apply)
    await k.advance(2)
    assert fiber.state is DISPOSED
    assert len(caught) == 3
    assert all("shielded task of 'root' awaits" in text for text in caught)


@pytest.mark.spec("01-C50")
async def test_a_deaf_task_is_left_behind_with_a_warning(k: Kernel) -> None:
    release = asyncio.Event()

    async def deaf() -> None:
        while not release.is_set():
            with suppress(asyncio.CancelledError):
                await release.wait()

    fiber = await k.root.plugin(lambda ctx: ctx.spawn(deaf) and None)
    ended = fiber.dispose()
    await k.advance(10)
    await ended
    release.set()
    await k.settle()
    assert 'ctx.spawn("deaf")' in k.logged("warn")[0]


@pytest.mark.spec("01-C50")
async def test_crash_policies(k: Kernel) -> None:
    log: list[str] = []

    async def twice() -> str:
        log.append("run")
        if len(log) < 3:
            raise ValueError("boom")
        return "done"

    async def fatal() -> None:
        await k.clock.sleep(1)
        raise OSError("fatal")

    fiber = await k.root.plugin(idle)
    task = fiber.ctx.spawn(twice, on_crash="restart")
    await k.settle()
    await k.advance(0.1)
    assert log == ["run", "run"]
    await k.advance(0.2)
    assert task.result() == "done"
    with pytest.raises(TypeError, match="coroutine function"):
        fiber.ctx.spawn(_closed(twice()), on_crash="restart")
    fiber.ctx.spawn(fatal, on_crash="fail")
    await k.advance(1)
    assert fiber.state is FAILED
    with pytest.raises(OSError, match="fatal"):
        await fiber
    await fiber.restart()
    assert fiber.state is ACTIVE


def _closed(coroutine: Coroutine[Any, Any, Any]) -> Coroutine[Any, Any, Any]:
    coroutine.close()
    return coroutine


@pytest.mark.spec("01-C50")
async def test_a_crash_during_the_setup_fails_the_load(k: Kernel) -> None:
    async def fatal() -> None:
        raise OSError("fatal")

    async def apply(ctx: Context) -> None:
        ctx.spawn(fatal, on_crash="fail")
        await k.clock.sleep(1)

    fiber = k.root.plugin(apply)
    await k.advance(1)
    assert fiber.state is FAILED
    assert isinstance(fiber.error, OSError)


async def test_a_crash_after_the_end_changes_nothing(k: Kernel) -> None:
    async def fatal() -> None:
        try:
            await k.clock.sleep(100)
        finally:
            raise OSError("fatal")

    fiber = await k.root.plugin(lambda ctx: ctx.spawn(fatal, on_crash="fail") and None)
    await fiber.dispose()
    assert fiber.state is DISPOSED
    assert fiber.error is None


async def test_spawn_takes_functions_of_any_kind(k: Kernel) -> None:
    log: list[str] = []

    async def work() -> None:
        log.append("coroutine")

    async def forever() -> None:
        await asyncio.get_running_loop().create_future()

    plain: Any = lambda: log.append("plain")  # noqa: E731 - the declared type hides it is not async
    k.root.spawn(plain)
    k.root.spawn(work)
    cancelled = k.root.spawn(forever())
    await k.settle()
    cancelled.cancel()
    await k.settle()
    assert log == ["plain", "coroutine"]
    assert k.root.fiber.effects() == []


async def test_running_deliveries_end_with_their_fiber(k: Kernel) -> None:
    log: list[str] = []

    def listening(ctx: Context, config: str) -> Callable[[], object]:
        async def hear(name: str) -> None:
            try:
                await k.clock.sleep(100)
            finally:
                await k.clock.sleep(1)
                log.append(f"{config} {name} ended")

        ctx.effect(lambda: lambda: log.append(f"{config} earlier"))
        removed = ctx.on("x", lambda name: hear(f"{name} removed"))
        (ctx.once if config == "once" else ctx.on)("x", hear)
        return removed

    fibers = [k.root.plugin(listening, config) for config in ("on", "once")]
    await k.settle()
    k.root.emit("x", "1")
    k.root.emit("x", "2")
    ends = [fiber.dispose() for fiber in fibers]
    await k.advance(0.5)
    assert not any(end.is_open for end in ends)
    await k.advance(2)
    assert all(end.is_open for end in ends)
    for config, n_deliveries in (("on", 4), ("once", 3)):
        lines = [line for line in log if line.startswith(f"{config} ")]
        assert len(lines) == n_deliveries + 1
        assert lines[-1] == f"{config} earlier"
    assert k.root.kernel.tasks == {}


async def test_a_deaf_delivery_is_left_behind_with_a_warning(k: Kernel) -> None:
    release = asyncio.Event()

    def listening(ctx: Context) -> None:
        async def deaf() -> None:
            while not release.is_set():
                with suppress(asyncio.CancelledError):
                    await release.wait()

        ctx.on("x", deaf)

    fiber = await k.root.plugin(listening)
    k.root.emit("x")
    await k.settle()
    ended = fiber.dispose()
    await k.advance(10)
    await ended
    release.set()
    await k.settle()
    assert 'ctx.on("x")' in k.logged("warn")[0]


# -- loops, threads and the end of the program -----------------------------------------------


async def test_call_threadsafe_is_the_way_in(k: Kernel) -> None:
    seen: list[int] = []
    k.root.plugin(idle)
    await asyncio.to_thread(k.root.call_threadsafe, seen.append, 1)
    await k.settle()
    assert seen == [1]


async def test_other_threads_are_told_so(k: Kernel) -> None:
    fiber = await k.root.plugin(idle)

    async def elsewhere() -> None:
        with pytest.raises(RuntimeError, match=r"belongs to .* was used from"):
            k.root.plugin(idle)

    def blocking() -> None:
        asyncio.run(elsewhere())
        with pytest.raises(RuntimeError, match="needs a running event loop"):
            k.root.plugin(idle)
        with pytest.raises(RuntimeError, match="needs a running event loop"):
            fiber.dispose()
        with pytest.raises(RuntimeError, match="needs a running event loop"):
            fiber.restart()
        with pytest.raises(RuntimeError, match="needs a running event loop"):
            k.root.provide("foo", 1)
        with pytest.raises(RuntimeError, match="needs a running event loop"):
            k.root.fiber.dispose()

    await asyncio.to_thread(blocking)
    assert fiber.state is ACTIVE
    assert fiber.uid == 1
    assert k.root.get("foo") is None
    await fiber.dispose()


def test_a_root_may_be_built_before_the_loop() -> None:
    root = Context()
    undone: list[int] = []
    root.provide("foo", 1)
    root.effect(lambda: lambda: undone.append(1))
    with pytest.raises(RuntimeError, match="needs a running event loop"):
        root.fiber.dispose()

    async def main() -> None:
        fiber = await root.inject(["foo"], idle).active()
        assert fiber.ctx.foo == 1
        await root.close()

    asyncio.run(main())
    assert undone == [1]


def test_an_empty_root_closes_without_anything() -> None:
    root = Context()
    asyncio.run(root.close())
    assert root.fiber.state is DISPOSED


@pytest.mark.parametrize("where", ["setup", "async setup", "disposer"])
def test_a_plugin_that_ends_the_program_does_not_block_the_cleanup(where: str) -> None:
    log: list[str] = []

    def leave(*_: Any) -> Any:
        raise SystemExit(3)

    async def leave_later(ctx: Context) -> None:
        leave()

    def well_behaved(ctx: Context) -> Callable[[], None]:
        return lambda: log.append("cleaned up")

    async def main() -> None:
        async with Context() as root:
            root.plugin(well_behaved)
            await root.settle()
            if where == "disposer":
                fiber = await root.plugin(lambda ctx: [lambda: log.append("earlier"), leave])
                fiber.dispose()
            else:
                root.plugin(leave if where == "setup" else leave_later)
            root.plugin(idle)
            await asyncio.sleep(60)

    with pytest.raises(SystemExit) as caught:
        asyncio.run(main())
    assert caught.value.code == 3
    assert log == (["earlier", "cleaned up"] if where == "disposer" else ["cleaned up"])
