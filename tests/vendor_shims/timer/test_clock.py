"""The virtual clock."""

from __future__ import annotations

import asyncio

import anyio
import pytest

from vendor_shims.timer import VirtualClock, come_to_rest


async def test_callbacks_run_in_order_of_their_due_times() -> None:
    clock = VirtualClock(100.0)
    seen: list[tuple[str, float]] = []

    def note(name: str) -> None:
        seen.append((name, clock.time()))

    clock.call_later(2, lambda: note("c"))
    clock.call_later(1, lambda: note("a"))
    clock.call_later(1, lambda: note("b"))
    clock.call_later(-5, lambda: note("past"))
    cancelled = clock.call_later(1, lambda: note("never"))
    cancelled.cancel()
    cancelled.cancel()
    assert clock.n_pending == 4
    await clock.advance(1)
    assert seen == [("past", 100.0), ("a", 101.0), ("b", 101.0)]
    await clock.advance(5)
    assert seen[3:] == [("c", 102.0)]
    assert clock.time() == 106.0
    assert clock.n_pending == 0


async def test_timers_set_on_the_way_count() -> None:
    clock = VirtualClock()
    seen: list[float] = []

    async def sleeper() -> None:
        for _ in range(3):
            await clock.sleep(0.1)
            seen.append(round(clock.time(), 6))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(sleeper)
        for _ in range(10):
            await clock.advance(0.03)
    assert seen == [0.1, 0.2, 0.3]


async def test_sums_of_floating_point_delays_are_exact_enough() -> None:
    clock = VirtualClock()
    seen: list[str] = []
    clock.call_later(1.0, lambda: seen.append("x"))
    for _ in range(10):
        await clock.advance(0.1)
    assert seen == ["x"]


async def test_cancelling_a_sleep_removes_its_timer() -> None:
    clock = VirtualClock()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(clock.sleep, 1)
        await come_to_rest()
        assert clock.n_pending == 1
        tasks.cancel_scope.cancel()
    assert clock.n_pending == 0
    await clock.advance(2)


async def test_a_failing_callback_shows_where_time_moves() -> None:
    clock = VirtualClock()

    def fail() -> None:
        raise ValueError("in a callback")

    clock.call_later(1, fail)
    with pytest.raises(ValueError, match="in a callback"):
        await clock.advance(2)


async def test_a_loop_that_never_rests_is_noticed() -> None:
    loop = asyncio.get_running_loop()
    is_over = False

    def again() -> None:
        if not is_over:
            loop.call_soon(again)

    again()
    with pytest.raises(RuntimeError, match="does not come to rest"):
        await come_to_rest()
    is_over = True
