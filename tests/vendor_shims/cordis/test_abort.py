"""Abort signals: one reason, told once, to everybody (01 sections 13.1 and 15.O)."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import Callable
from typing import Any

import anyio
import pytest

import harness
from vendor_shims.cordis import AbortController, AbortError, AbortSignal, run_abortable
from vendor_shims.testing import VirtualClock, come_to_rest


class Named(AbortSignal):
    """A signal with a typed view of its reason."""

    @property
    def name(self) -> str:
        return str(self.reason)


async def until_aborted(signal: AbortSignal, log: list[Any]) -> str:
    try:
        await asyncio.Event().wait()
    finally:
        with anyio.CancelScope(shield=True):
            await asyncio.sleep(0)
            log.append("cleaned up")
    return "never"


@pytest.mark.spec("01-O01")
def test_the_first_reason_stays() -> None:
    controller = AbortController()
    signal = controller.signal
    assert (signal.aborted, signal.reason) == (False, None)
    assert controller.abort("x") is True
    assert (signal.aborted, signal.reason) == (True, "x")
    assert controller.abort("y") is False
    assert signal.reason == "x"


@pytest.mark.spec("01-O02")
def test_throwing_raises_the_reason_or_carries_it() -> None:
    controller = AbortController()
    controller.signal.throw_if_aborted()
    controller.abort("stop")
    with pytest.raises(AbortError, match="aborted: stop") as caught:
        controller.signal.throw_if_aborted()
    assert caught.value.reason == "stop"
    assert caught.value.code == "ABORTED"
    without = AbortController()
    without.abort()
    with pytest.raises(AbortError, match="aborted") as caught:
        without.signal.throw_if_aborted()
    assert caught.value.reason is None
    reason = ValueError("mine")
    typed = AbortController()
    typed.abort(reason)
    with pytest.raises(ValueError, match="mine") as raised:
        typed.signal.throw_if_aborted()
    assert raised.value is reason


@pytest.mark.spec("01-O03")
def test_callbacks_run_in_order_and_once(caplog: pytest.LogCaptureFixture) -> None:
    controller = AbortController()
    log: list[Any] = []

    def failing(signal: AbortSignal) -> None:
        log.append("failing")
        raise ValueError("broken callback")

    controller.signal.add_callback(lambda signal: log.append(signal.reason))
    controller.signal.add_callback(failing)
    controller.signal.add_callback(lambda _: log.append("last"))
    with caplog.at_level(logging.ERROR):
        controller.abort("x")
    controller.abort("y")
    assert log == ["x", "failing", "last"]
    assert "broken callback" in caplog.text
    late = controller.signal.add_callback(lambda signal: log.append(signal.reason))
    assert log[-1] == "x"
    late()
    assert len(log) == 4


@pytest.mark.spec("01-O03")
def test_a_callback_is_removed_before_during_and_after_the_abort() -> None:
    controller = AbortController()
    log: list[Any] = []
    removers: list[Callable[[], None]] = []
    before = controller.signal.add_callback(lambda _: log.append("before"))
    controller.signal.add_callback(lambda _: removers[0]())
    controller.signal.add_callback(
        lambda _: controller.signal.add_callback(lambda _: log.append("added"))
    )
    removers.append(controller.signal.add_callback(lambda _: log.append("during")))
    after = controller.signal.add_callback(lambda _: log.append("after"))
    before()
    before()
    controller.abort()
    after()
    after()
    assert log == ["added", "after"]


@pytest.mark.spec("01-O03")
def test_many_callbacks_cost_linear_time() -> None:
    controller = AbortController()
    log: list[int] = []
    for number in range(100_000):
        controller.signal.add_callback(lambda _, number=number: log.append(number))
    controller.abort()
    assert log == list(range(100_000))


@pytest.mark.spec("01-O03")
async def test_waiting_ends_at_the_abort() -> None:
    controller = AbortController()
    waiting = [asyncio.ensure_future(controller.signal.wait()) for _ in range(2)]
    await come_to_rest()
    waiting[0].cancel()
    await come_to_rest()
    controller.abort()
    await waiting[1]
    await controller.signal.wait()
    assert waiting[0].cancelled()


@pytest.mark.spec("01-O04")
def test_any_follows_the_first_source_to_abort() -> None:
    first, second = AbortController(), AbortController()
    combined = AbortSignal.any([first.signal, second.signal])
    assert not combined.aborted
    second.abort("second")
    first.abort("first")
    assert combined.reason == "second"
    assert AbortSignal.any([first.signal, second.signal]).reason == "first"
    assert not AbortSignal.any([]).aborted
    assert not AbortSignal.never().aborted


@pytest.mark.spec("01-O04")
def test_any_leaves_nothing_at_its_sources() -> None:
    first, second = AbortController(), AbortController()
    combined = AbortSignal.any([first.signal, second.signal])
    assert (n_callbacks(first.signal), n_callbacks(second.signal)) == (1, 1)
    second.abort()
    assert combined.aborted
    assert n_callbacks(first.signal) == 0
    dropped = AbortSignal.any([first.signal])
    assert n_callbacks(first.signal) == 1
    del dropped
    gc.collect()
    assert n_callbacks(first.signal) == 0


def n_callbacks(signal: AbortSignal) -> int:
    """Count what holds on to a signal; there is no public way to see that nothing is left."""
    return len(getattr(signal, "_callbacks") or ())  # noqa: B009 - private on purpose


@pytest.mark.spec("01-O05")
async def test_a_timeout_aborts_on_its_clock() -> None:
    clock = VirtualClock()
    signal = AbortSignal.timeout(0.05, clock=clock)
    mine = AbortSignal.timeout(0.05, "mine", clock=clock)
    await clock.advance(0.049)
    assert not signal.aborted
    await clock.advance(0.001)
    assert (signal.aborted, mine.reason) == (True, "mine")
    with pytest.raises(AbortError, match="timeout"):
        signal.throw_if_aborted()


@pytest.mark.spec("01-O05")
async def test_a_dropped_timeout_leaves_no_timer() -> None:
    clock = VirtualClock()
    signal = AbortSignal.timeout(5, clock=clock)
    assert clock.n_pending == 1
    del signal
    gc.collect()
    assert clock.n_pending == 0


@pytest.mark.spec("01-O05")
async def test_a_timeout_uses_the_loop_without_a_clock() -> None:
    signal = AbortSignal.timeout(0)
    await signal.wait()
    assert isinstance(signal.reason, AbortError)


@pytest.mark.spec("01-O06")
async def test_an_abort_ends_the_work_after_its_cleanup() -> None:
    log: list[Any] = []
    controller = AbortController()
    work = asyncio.ensure_future(
        run_abortable(controller.signal, until_aborted, controller.signal, log)
    )
    await come_to_rest()
    controller.abort("stop")
    with pytest.raises(AbortError, match="stop"):
        await work
    assert log == ["cleaned up"]
    with pytest.raises(AbortError, match="stop"):
        await run_abortable(controller.signal, until_aborted, controller.signal, log)
    assert log == ["cleaned up"]


@pytest.mark.spec("01-O06")
async def test_cancelling_the_caller_is_no_abort() -> None:
    log: list[Any] = []
    controller = AbortController()
    work = asyncio.ensure_future(
        run_abortable(controller.signal, until_aborted, controller.signal, log=log)
    )
    await come_to_rest()
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert log == ["cleaned up"]
    assert n_callbacks(controller.signal) == 0
    assert not controller.signal.aborted


@pytest.mark.spec("01-O06")
async def test_a_result_that_is_there_first_is_returned() -> None:
    controller = AbortController()

    async def quick(value: int) -> int:
        await asyncio.sleep(0)
        return value

    async def failing() -> None:
        raise ValueError("its own")

    assert await run_abortable(controller.signal, quick, 5) == 5
    with pytest.raises(ValueError, match="its own"):
        await run_abortable(controller.signal, failing)
    assert n_callbacks(controller.signal) == 0

    async def stubborn() -> str:
        controller.abort()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "a result all the same"
        return "never"

    assert await run_abortable(controller.signal, stubborn) == "a result all the same"


@pytest.mark.spec("01-O07")
def test_a_controller_makes_the_signal_it_is_given() -> None:
    controller = AbortController(Named)
    assert isinstance(controller.signal, Named)
    controller.abort("cause")
    assert controller.signal.name == "cause"
    assert harness.AbortSignal is AbortSignal
    assert harness.AbortController is AbortController
    assert harness.AbortError is AbortError
