"""Fused deadlines and checked durations, on a virtual clock."""

import math

import pytest

from harness.deadline import (
    MAX_TIMEOUT_MS,
    InvalidTimeoutError,
    TimeoutReason,
    check_timeout_ms,
    clamp_timeout,
    deadline,
    timeout_of,
)
from vendor_shims.cordis import AbortController, AbortSignal


@pytest.mark.spec("07-1")
async def test_expiry_aborts_with_the_code_and_the_seconds(clock):
    with deadline(None, 0.05, "A", clock=clock) as signal:
        await clock.advance(0.049)
        assert not signal.aborted
        await clock.advance(0.001)
        assert signal.reason == TimeoutReason("A", 0.05)
    assert timeout_of(signal, "A") == TimeoutReason("A", 0.05)
    assert timeout_of(signal, "B") is None


@pytest.mark.spec("07-1")
async def test_without_a_clock_the_loop_keeps_the_time():
    with deadline(None, 0.001, "A") as signal:
        await signal.wait()
    assert timeout_of(signal, "A") == TimeoutReason("A", 0.001)


@pytest.mark.spec("07-2")
def test_an_upstream_abort_before_the_block_is_taken_over_without_a_timer(clock):
    upstream = AbortController()
    upstream.abort("why")
    with deadline(upstream.signal, 1, "A", clock=clock) as signal:
        assert (signal.aborted, signal.reason) == (True, "why")
        assert clock.n_pending == 0


@pytest.mark.spec("07-3")
async def test_the_first_reason_stays(clock):
    upstream = AbortController()
    with deadline(upstream.signal, 1, "A", clock=clock) as signal:
        await clock.advance(0.99)
        upstream.abort("upstream")
        await clock.advance(1)
        assert signal.reason == "upstream"
    with deadline(AbortSignal.never(), 1, "A", clock=clock) as signal:
        await clock.advance(1)
        assert timeout_of(signal, "A") is not None


@pytest.mark.spec("07-4")
async def test_an_outer_deadline_is_an_ordinary_abort_to_the_inner_one(clock):
    with (
        deadline(None, 0.02, "A", clock=clock) as outer,
        deadline(outer, 1, "B", clock=clock) as inner,
    ):
        await clock.advance(0.02)
        assert inner.aborted
        assert timeout_of(inner, "B") is None
        assert timeout_of(inner, "A") == TimeoutReason("A", 0.02)


@pytest.mark.spec("07-5")
@pytest.mark.parametrize("seconds", [0, -1, -math.inf])
async def test_no_seconds_mean_no_timer(clock, seconds):
    with deadline(None, seconds, "A", clock=clock) as signal:
        assert clock.n_pending == 0
        await clock.advance(1_000_000)
        assert not signal.aborted


@pytest.mark.spec("07-6")
async def test_leaving_the_block_removes_timer_and_listener(clock):
    upstream = AbortController()
    with deadline(upstream.signal, 1, "A", clock=clock) as signal:
        pass
    assert clock.n_pending == 0
    await clock.advance(2)
    upstream.abort()
    assert not signal.aborted


def test_no_number_of_seconds_is_refused(clock):
    with (
        pytest.raises(InvalidTimeoutError, match="A needs a number"),
        deadline(None, math.nan, "A", clock=clock),
    ):
        pass


@pytest.mark.spec("07-7")
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 0, -1, "5", True, [], 0.0])
def test_a_requested_duration_must_be_a_finite_positive_number(value):
    with pytest.raises(InvalidTimeoutError, match="timeoutMs") as caught:
        clamp_timeout(value, 120, 600, "timeoutMs")
    assert isinstance(caught.value, ValueError)
    with pytest.raises(InvalidTimeoutError, match="timeoutMs"):
        check_timeout_ms(value, "timeoutMs")


@pytest.mark.spec("07-8")
def test_the_default_fills_in_and_the_maximum_caps():
    assert clamp_timeout(None, 120, 600, "t") == 120
    assert clamp_timeout(900, 120, 600, "t") == 600
    assert clamp_timeout(0.5, 120, 600, "t") == 0.5


@pytest.mark.spec("07-9")
def test_a_configured_timeout_has_a_largest_value():
    assert check_timeout_ms(MAX_TIMEOUT_MS, "graceMs") == pytest.approx(2_147_483.647)
    with pytest.raises(InvalidTimeoutError, match="graceMs must be at most 2147483647"):
        check_timeout_ms(MAX_TIMEOUT_MS + 1, "graceMs")
