"""Silence is noticed only while somebody waits for the next item."""

import asyncio
import math

import anyio
import pytest

from harness.deadline import InvalidTimeoutError, TimeoutReason, idle_watchdog, timeout_of
from vendor_shims.cordis import AbortController, AbortError, AbortSignal


async def items(gates):
    """Yield a number for each gate, once that gate is open."""
    for number, gate in enumerate(gates):
        await gate.wait()
        yield number


def opened():
    gate = asyncio.Event()
    gate.set()
    return gate


@pytest.mark.spec("07-10")
async def test_a_slow_consumer_never_trips_it(clock):
    with idle_watchdog(None, 1, "IDLE", clock=clock) as dog:
        seen = []
        async for number in dog.watch(items([opened(), opened(), opened()])):
            seen.append(number)
            await clock.advance(10)
        assert seen == [0, 1, 2]
        assert not dog.signal.aborted


@pytest.mark.spec("07-10")
async def test_a_silent_producer_trips_it_and_its_cleanup_runs(clock):
    cleaned = []

    async def silent():
        try:
            await asyncio.Event().wait()
            yield 1
        finally:
            cleaned.append(True)

    with idle_watchdog(None, 1, "IDLE", clock=clock) as dog:

        async def consume():
            with pytest.raises(AbortError):
                async for _ in dog.watch(silent()):
                    pass

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(consume)
            await clock.advance(0.9)
            assert not dog.signal.aborted
            await clock.advance(0.2)
        assert timeout_of(dog.signal, "IDLE") == TimeoutReason("IDLE", 1)
        assert cleaned == [True]


async def test_the_time_runs_anew_for_every_read_and_after_a_pulse(clock):
    gates = [asyncio.Event() for _ in range(3)]
    seen = []
    with idle_watchdog(None, 1, "IDLE", clock=clock) as dog:

        async def consume():
            seen.extend([number async for number in dog.watch(items(gates))])

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(consume)
            for gate in gates:
                await clock.advance(0.8)
                dog.pulse()
                await clock.advance(0.8)
                gate.set()
            await clock.advance(0)
    assert seen == [0, 1, 2]
    assert not dog.signal.aborted
    assert clock.n_pending == 0


async def test_a_timer_that_fires_between_reads_does_nothing(clock):
    with idle_watchdog(None, 1, "IDLE", clock=clock) as dog:
        dog.arm()
        dog.disarm()
        dog.pulse()
        await clock.advance(5)
        assert (dog.signal.aborted, clock.n_pending) == (False, 0)
        dog.arm()
        await clock.advance(0.5)
        dog.arm()
        await clock.advance(0.9)
        assert not dog.signal.aborted
        await clock.advance(0.1)
        assert dog.signal.aborted


async def test_upstream_aborts_the_read_with_its_own_reason(clock):
    upstream = AbortController()
    with idle_watchdog(upstream.signal, 1, "IDLE", clock=clock) as dog:

        async def consume():
            with pytest.raises(LookupError, match="stop"):
                await dog.read(asyncio.Event().wait)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(consume)
            await clock.advance(0.5)
            upstream.abort(LookupError("stop"))
        assert timeout_of(dog.signal, "IDLE") is None
        with pytest.raises(LookupError):
            await dog.read(opened().wait)


async def test_without_a_limit_no_timer_is_made_and_closing_twice_is_harmless(clock):
    with idle_watchdog(AbortSignal.never(), 0, "IDLE", clock=clock) as dog:
        assert await dog.read(opened().wait) is True
        dog.arm()
        assert clock.n_pending == 0
        dog.close()


def test_no_number_of_seconds_is_refused():
    with (
        pytest.raises(InvalidTimeoutError, match="IDLE needs a number"),
        idle_watchdog(None, math.nan, "IDLE"),
    ):
        pass
