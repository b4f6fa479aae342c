"""Latches, and the clock that the kernel runs on outside of tests."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from vendor_shims.cordis import CordisError, Latch, LoopClock
from vendor_shims.timer import come_to_rest


async def test_a_latch_opens_once_and_tells_everybody() -> None:
    log: list[Any] = []
    latch = Latch()
    latch.add(lambda: log.append("first"))
    waiting = asyncio.ensure_future(joined(latch))
    await come_to_rest()
    assert not latch.is_open
    latch.open()
    latch.open(ValueError("too late"))
    latch.add(lambda: log.append("late"))
    await waiting
    await latch
    assert log == ["first", "late"]


async def test_a_latch_hands_its_error_to_each_waiter() -> None:
    latch = Latch()
    waiting = [asyncio.ensure_future(joined(latch)) for _ in range(2)]
    await come_to_rest()
    waiting[0].cancel()
    latch.open(ValueError("no"))
    with pytest.raises(ValueError, match="no"):
        await waiting[1]
    with pytest.raises(ValueError, match="no"):
        await latch
    assert waiting[0].cancelled()


async def joined(latch: Latch) -> None:
    await latch


async def test_the_real_clock_is_the_loop() -> None:
    clock = LoopClock()
    before = clock.time()
    called = asyncio.Event()
    called_off = clock.call_later(0, pytest.fail)
    called_off.cancel()
    clock.call_later(0, called.set)
    await clock.sleep(0.001)
    await called.wait()
    assert clock.time() >= before


def test_an_error_may_carry_a_code_of_its_own() -> None:
    assert CordisError("what").code == "CORDIS"
    assert CordisError("what", code="MINE").code == "MINE"
