"""The timer service on a virtual clock."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from vendor_shims.cordis import Context, ContextDisposed, Dep, Fiber, InactiveEffect
from vendor_shims.logger import format_message
from vendor_shims.timer import TimerService, VirtualClock, come_to_rest


class Bench:
    """A tree with a timer, one plugin that uses it, and a record of what happened when."""

    def __init__(self, root: Context, clock: VirtualClock) -> None:
        self.root = root
        self.clock = clock
        self.log: list[Any] = []
        self.unhandled: list[dict[str, Any]] = []
        self.ctx: Context = root
        self.fiber: Fiber = root.fiber

    def note(self, *what: object) -> None:
        self.log.append((round(self.clock.time(), 6), *what))

    @property
    def labels(self) -> list[str]:
        return [effect.label for effect in self.fiber.effects()]

    @property
    def errors(self) -> list[str]:
        records = self.root.logger.buffer.records()
        return [f"{r.name}: {format_message(r)}" for r in records if r.level == 0]


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    clock = VirtualClock()
    asyncio.get_running_loop().set_exception_handler(
        lambda _, context: made.unhandled.append(context)
    )
    async with Context(clock=clock) as root:
        made = Bench(root, clock)
        root.plugin(TimerService)

        def user(ctx: Context) -> None:
            made.ctx = ctx

        made.fiber = root.inject(["timer"], user)
        await root.settle()
        yield made
    assert made.unhandled == []
    assert clock.n_pending == 0


@pytest.mark.spec("01-L01")
async def test_a_timeout_fires_once_and_leaves(bench: Bench) -> None:
    def callback() -> None:
        bench.note("labels", *bench.labels)

    bench.ctx.timeout(1, callback)
    assert bench.labels == ["ctx.timeout()"]
    await bench.clock.advance(0.999)
    assert bench.log == []
    await bench.clock.advance(5)
    assert bench.log == [(1, "labels")]


@pytest.mark.spec("01-L01")
async def test_disposing_a_timeout_prevents_it(bench: Bench) -> None:
    dispose = bench.ctx.timeout(1, lambda: bench.note("never"))
    dispose()
    assert bench.labels == []
    bench.ctx.timeout(1, lambda: bench.note("never"))
    await bench.fiber.dispose()
    await bench.clock.advance(5)
    assert bench.log == []


async def test_an_asynchronous_timeout_is_a_task_of_the_fiber(bench: Bench) -> None:
    async def callback() -> None:
        try:
            await bench.clock.sleep(1)
            bench.note("slept")
            await bench.clock.sleep(100)
        finally:
            bench.note("left")

    bench.ctx.timeout(1, callback)
    await bench.clock.advance(2)
    assert bench.labels == ['ctx.spawn("timer callback")']
    await bench.fiber.dispose()
    assert bench.log == [(2, "slept"), (2, "left")]


@pytest.mark.spec("01-L09")
async def test_a_raising_timeout_is_logged_under_its_owner(bench: Bench) -> None:
    async def fail_later() -> None:
        raise ValueError("asynchronous")

    bench.ctx.timeout(1, lambda: int("no number"))
    bench.ctx.timeout(1, fail_later)
    bench.ctx.timeout(1, lambda: bench.note("after"))
    await bench.clock.advance(1)
    assert bench.log == [(1, "after")]
    first, second = bench.errors
    assert first.startswith("user: Traceback")
    assert first.endswith("ValueError: invalid literal for int() with base 10: 'no number'")
    assert second.startswith("user: Traceback")
    assert second.endswith("ValueError: asynchronous")


@pytest.mark.spec("01-L09")
async def test_on_the_real_clock_errors_stay_away_from_the_loop() -> None:
    unhandled: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: unhandled.append(context))
    async with Context() as root:
        root.plugin(TimerService)
        await root.settle()
        fired = asyncio.Event()

        def fail() -> None:
            fired.set()
            raise ValueError("real")

        root.timeout(0, fail)
        await asyncio.wait_for(fired.wait(), 10)
        await root.sleep(0.001)
        records = root.logger.buffer.records()
    assert [record.level for record in records] == [0]
    assert unhandled == []


@pytest.mark.spec("01-L02")
async def test_a_sleep_ends_in_time_and_leaves_nothing(bench: Bench) -> None:
    async def sleeper() -> None:
        await bench.ctx.sleep(1)
        bench.note("awake", *bench.labels)

    task = bench.root.spawn(sleeper)
    await bench.clock.advance(0.5)
    assert bench.labels == ["ctx.sleep()"]
    await bench.clock.advance(0.5)
    assert bench.log == [(1, "awake")]
    await bench.fiber.dispose()
    await task


@pytest.mark.spec("01-L02")
async def test_unloading_wakes_a_sleeper_with_an_error(bench: Bench) -> None:
    async def sleeper() -> None:
        try:
            await bench.ctx.sleep(1)
        except ContextDisposed as error:
            bench.note(str(error))

    task = bench.root.spawn(sleeper)
    await bench.clock.advance(0.5)
    await bench.fiber.dispose()
    await task
    assert bench.log == [(0.5, "Context has been disposed")]
    with pytest.raises((InactiveEffect, AttributeError)):
        await bench.ctx.sleep(1)


async def test_cancelling_a_sleeper_removes_the_timer(bench: Bench) -> None:
    task = bench.root.spawn(lambda: bench.ctx.sleep(1))
    await come_to_rest()
    task.cancel()
    await come_to_rest()
    assert bench.labels == []
    assert bench.clock.n_pending == 0


@pytest.mark.spec("01-L03")
async def test_an_interval_repeats_until_disposed(bench: Bench) -> None:
    dispose = bench.ctx.interval(1, lambda: bench.note("tick"))
    assert bench.labels == ["ctx.interval()"]
    await bench.clock.advance(2.5)
    dispose()
    await bench.clock.advance(5)
    assert bench.log == [(1, "tick"), (2, "tick")]
    assert bench.labels == []


async def test_an_interval_may_end_itself_and_survives_errors(bench: Bench) -> None:
    def callback() -> None:
        bench.note("tick")
        if len(bench.log) == 3:
            dispose()
        raise ValueError("each time")

    dispose = bench.ctx.interval(1, callback)
    await bench.clock.advance(10)
    assert bench.log == [(1, "tick"), (2, "tick"), (3, "tick")]
    assert len(bench.errors) == 3


@pytest.mark.spec("01-L10")
async def test_asynchronous_calls_of_an_interval_never_overlap(bench: Bench) -> None:
    async def callback() -> None:
        bench.note("in")
        await bench.clock.sleep(2.5)
        bench.note("out")

    ctx = bench.ctx.intercept("logger", {"level": 3})
    ctx.interval(1, callback)
    await bench.clock.advance(7.5)
    assert bench.log == [(1, "in"), (3.5, "out"), (4, "in"), (6.5, "out"), (7, "in")]
    dropped = [format_message(r) for r in bench.root.logger.buffer.records()]
    assert dropped == ["interval dropped 2 ticks while a call was running"] * 2


@pytest.mark.parametrize("delay_s", [0, -1, float("nan")])
async def test_an_interval_needs_a_positive_delay(bench: Bench, delay_s: float) -> None:
    with pytest.raises(ValueError, match="positive delay"):
        bench.ctx.interval(delay_s)
    with pytest.raises(ValueError, match="positive delay"):
        bench.ctx.interval(delay_s, print)
    assert bench.labels == []


async def iterate(bench: Bench, *, stop_after: int = 100) -> None:
    try:
        async for _ in bench.ctx.interval(1):
            bench.note("tick")
            if len(bench.log) == stop_after:
                break
    except ContextDisposed:
        bench.note("disposed")
    else:
        bench.note("end")


@pytest.mark.spec("01-L04")
async def test_iteration_ticks_and_ends_with_break(bench: Bench) -> None:
    task = bench.root.spawn(iterate(bench, stop_after=3))
    await bench.clock.advance(2.5)
    assert bench.labels == ["ctx.interval()"]
    await bench.clock.advance(10)
    assert bench.log == [(1, "tick"), (2, "tick"), (3, "tick"), (3, "end")]
    assert bench.labels == []
    await task


@pytest.mark.spec("01-L04")
async def test_an_exception_inside_the_loop_stops_it_and_propagates(bench: Bench) -> None:
    async def run() -> None:
        async for _ in bench.ctx.interval(1):
            raise KeyError("inside")

    task = bench.root.spawn(run)
    await bench.clock.advance(5)
    with pytest.raises(KeyError, match="inside"):
        await task
    assert bench.labels == []
    assert bench.clock.n_pending == 0


@pytest.mark.spec("01-L04")
async def test_aclose_from_outside_ends_the_loop_normally(bench: Bench) -> None:
    ticks = bench.ctx.interval(1)

    async def run() -> None:
        async for _ in ticks:
            bench.note("tick")
        bench.note("end")

    task = bench.root.spawn(run)
    await bench.clock.advance(1.5)
    await ticks.aclose()
    await ticks.aclose()
    await come_to_rest()
    assert bench.log == [(1, "tick"), (1.5, "end")]
    assert bench.labels == []
    with pytest.raises(StopAsyncIteration):
        await anext(ticks)
    await task


@pytest.mark.spec("01-L04")
async def test_unloading_raises_in_the_waiting_consumer(bench: Bench) -> None:
    task = bench.root.spawn(iterate(bench))
    await bench.clock.advance(1.5)
    await bench.fiber.dispose()
    await task
    assert bench.log == [(1, "tick"), (1.5, "disposed")]


@pytest.mark.spec("01-L04")
async def test_unloading_reaches_a_busy_consumer_at_its_next_turn(bench: Bench) -> None:
    ticks = bench.ctx.interval(1)
    task = bench.root.spawn(anext(ticks))
    await bench.clock.advance(1)
    await task
    await bench.fiber.dispose()
    with pytest.raises(ContextDisposed):
        await anext(ticks)


@pytest.mark.spec("01-L05")
async def test_missed_ticks_become_one_immediate_tick(bench: Bench) -> None:
    async def run() -> None:
        async for _ in bench.ctx.interval(1):
            bench.note("tick")
            if len(bench.log) == 1:
                await bench.clock.sleep(2.5)

    bench.ctx.spawn(run)
    await bench.clock.advance(5.5)
    assert bench.log == [(1, "tick"), (3.5, "tick"), (4, "tick"), (5, "tick")]


@pytest.mark.spec("01-L05")
async def test_two_consumers_at_once_are_refused(bench: Bench) -> None:
    ticks = bench.ctx.interval(1)
    task = bench.root.spawn(anext(ticks))
    await come_to_rest()
    with pytest.raises(RuntimeError, match="another task is already waiting"):
        await anext(ticks)
    await bench.clock.advance(1)
    await task
    assert bench.clock.time() == 1


async def at(bench: Bench, *calls: tuple[float, Callable[[], object]]) -> None:
    for time_s, call in calls:
        await bench.clock.advance(time_s - bench.clock.time())
        call()


@pytest.mark.spec("01-L06")
async def test_throttle_runs_leading_and_trailing(bench: Bench) -> None:
    run = bench.ctx.throttle(bench.note, 1)
    assert bench.labels == ["ctx.throttle()"]
    await at(bench, (0, lambda: run("a")), (0.6, lambda: run("b")), (1.2, lambda: run("c")))
    await bench.clock.advance(5)
    assert bench.log == [(0, "a"), (1, "b"), (2, "c")]


@pytest.mark.spec("01-L06")
async def test_throttle_runs_the_latest_call_of_a_window_once(bench: Bench) -> None:
    run = bench.ctx.throttle(bench.note, 1)
    await at(bench, (0, lambda: run("a")), (0.3, lambda: run("lost")), (0.5, lambda: run("b")))
    await bench.clock.advance(5)
    assert bench.log == [(0, "a"), (1, "b")]
    run("again")
    assert bench.log[2:] == [(5.5, "again")]


@pytest.mark.spec("01-L07")
async def test_throttle_without_trailing_drops(bench: Bench) -> None:
    run = bench.ctx.throttle(bench.note, 1, trailing=False)
    await at(bench, (0, lambda: run("a")), (0.5, lambda: run("b")), (1.5, lambda: run("c")))
    await bench.clock.advance(5)
    assert bench.log == [(0, "a"), (1.5, "c")]


@pytest.mark.spec("01-L07")
@pytest.mark.parametrize("by_fiber", [True, False])
async def test_a_disposed_throttle_is_silent(bench: Bench, *, by_fiber: bool) -> None:
    run = bench.ctx.throttle(bench.note, 1)
    fresh = bench.ctx.throttle(bench.note, 1)
    await at(bench, (0, lambda: run("a")), (0.5, lambda: run("b")))
    if by_fiber:
        await bench.fiber.dispose()
    else:
        run.dispose()
        fresh.dispose()
        assert bench.labels == []
    run("c")
    fresh("d")
    await bench.clock.advance(5)
    run("e")
    assert bench.log == [(0, "a")]


async def test_errors_of_throttled_calls(bench: Bench) -> None:
    def fail(what: str) -> None:
        raise ValueError(what)

    run = bench.ctx.throttle(fail, 1)
    with pytest.raises(ValueError, match="leading"):
        run("leading")
    run("trailing")
    await bench.clock.advance(1)
    (error,) = bench.errors
    assert error.endswith("ValueError: trailing")


async def test_throttled_and_debounced_coroutines_run_as_tasks(bench: Bench) -> None:
    async def work(what: str, *, also: str = "") -> None:
        await bench.clock.sleep(0.1)
        bench.note(what, also)

    throttled = bench.ctx.throttle(work, 1)
    debounced = bench.ctx.debounce(work, 1)
    throttled("leading")
    throttled("trailing", also="kept")
    debounced("debounced", also="x")
    await bench.clock.advance(2)
    assert bench.log == [
        (0.1, "leading", ""),
        (1.1, "trailing", "kept"),
        (1.1, "debounced", "x"),
    ]


@pytest.mark.spec("01-L08")
async def test_debounce_runs_once_after_the_last_call(bench: Bench) -> None:
    run = bench.ctx.debounce(bench.note, 1)
    assert bench.labels == ["ctx.debounce()"]
    assert not run.pending
    await at(bench, (0, lambda: run("a")), (0.4, lambda: run("b")), (0.8, lambda: run("c")))
    assert run.pending
    await bench.clock.advance(5)
    assert bench.log == [(1.8, "c")]
    assert not run.pending


@pytest.mark.spec("01-L08")
async def test_debounce_can_be_flushed_and_cancelled(bench: Bench) -> None:
    run = bench.ctx.debounce(bench.note, 1)
    run.flush()
    run("a")
    run.flush()
    run.flush()
    run("b")
    run.cancel()
    run.cancel()
    assert not run.pending
    await bench.clock.advance(5)
    assert bench.log == [(0, "a")]
    run("c")
    await bench.clock.advance(1)
    assert bench.log == [(0, "a"), (6, "c")]


@pytest.mark.spec("01-L08")
@pytest.mark.parametrize("by_fiber", [True, False])
async def test_a_disposed_debounce_is_silent(bench: Bench, *, by_fiber: bool) -> None:
    run = bench.ctx.debounce(bench.note, 1)
    run("a")
    if by_fiber:
        await bench.fiber.dispose()
    else:
        run.dispose()
        assert bench.labels == []
    run("b")
    assert not run.pending
    run.flush()
    await bench.clock.advance(5)
    assert bench.log == []


async def test_a_debounced_failure_is_logged(bench: Bench) -> None:
    run = bench.ctx.debounce(lambda: int("no number"), 1)
    run()
    await bench.clock.advance(1)
    (error,) = bench.errors
    assert error.startswith("user: ")


async def test_work_that_starts_while_unloading_is_closed(bench: Bench) -> None:
    async def work() -> None:
        bench.note("never")

    def flush_while_unloading() -> None:
        run.flush()
        future_run.flush()

    run = bench.ctx.debounce(work, 1)
    future_run = bench.ctx.debounce(asyncio.get_running_loop().create_future, 1)
    bench.ctx.effect(lambda: flush_while_unloading, "flush")
    run()
    future_run()
    await bench.fiber.dispose()
    assert bench.log == []


async def test_timers_are_reached_through_an_injected_service_too(bench: Bench) -> None:
    class Plugin:
        timer = Dep(TimerService)

        def __init__(self, ctx: Context) -> None:
            self.ctx = ctx

        def start(self) -> None:
            self.timer.timeout(1, lambda: bench.note("fired"))

    fiber = bench.root.plugin(Plugin)
    await bench.root.settle()
    assert [effect.label for effect in fiber.effects()] == ["ctx.timeout()"]
    await bench.clock.advance(1)
    assert bench.log == [(1, "fired")]


async def test_a_clock_of_its_own(bench: Bench) -> None:
    own = VirtualClock()
    assert bench.root.require("timer").clock is bench.clock
    async with Context() as other:

        def timers(ctx: Context) -> None:
            TimerService(ctx, clock=own)

        other.plugin(timers)
        await other.settle()
        other.timeout(1, lambda: bench.note("own"))
        await own.advance(1)
    assert bench.log == [(0, "own")]


async def test_second_service_in_a_realm_of_its_own_has_its_own_clock(bench: Bench) -> None:
    root, clock = bench.root, VirtualClock()
    inner = root.isolate("timer")

    def provide(ctx: Context) -> None:
        TimerService(ctx, clock=clock)

    second = await inner.plugin(provide)

    def within(ctx: Context) -> None:
        ctx.timeout(1, lambda: bench.note("inner"))

    await inner.inject(["timer"], within).active()
    bench.ctx.timeout(2, lambda: bench.note("outer"))
    await bench.clock.advance(5)
    assert bench.log == [(2, "outer")]
    await clock.advance(5)
    assert bench.log == [(2, "outer"), (5, "inner")]
    await second.dispose()
    assert "timeout" in root
