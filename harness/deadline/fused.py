"""Fuse an abort signal with a deadline: the first of the two wins and its reason stays."""

from collections.abc import Generator
from contextlib import contextmanager
from math import isnan

from harness.deadline.errors import InvalidTimeoutError
from harness.deadline.reason import TimeoutReason
from vendor_shims.cordis import AbortController, AbortSignal, Clock, LoopClock


@contextmanager
def deadline(
    upstream: AbortSignal | None, seconds: float, code: str, *, clock: Clock | None = None
) -> Generator[AbortSignal]:
    """Yield a signal that aborts with `upstream`, or after `seconds` with a `TimeoutReason`.

    Leaving the block removes the timer and the listener; the signal then stays as it is. Needs a
    running event loop unless a clock is given. Nothing is cancelled by itself: pass the signal on.

    Args:
        upstream: the abort to follow; when it has happened already, no timer is made.
        seconds: from now; zero or less means no timer.
        code: tells this deadline from others, see `timeout_of`.
        clock: the time source, the loop's by default.
    """
    if isnan(seconds):
        raise InvalidTimeoutError(f"the deadline {code} needs a number of seconds, got {seconds!r}")
    controller: AbortController[AbortSignal] = AbortController()
    if upstream is not None and upstream.aborted:
        controller.abort(upstream.reason)
        yield controller.signal
        return
    remove = (
        None
        if upstream is None
        else upstream.add_callback(lambda source: controller.abort(source.reason))
    )
    timer = (
        (clock or LoopClock()).call_later(
            seconds, lambda: controller.abort(TimeoutReason(code, seconds))
        )
        if seconds > 0
        else None
    )
    try:
        yield controller.signal
    finally:
        if timer is not None:
            timer.cancel()
        if remove is not None:
            remove()
