"""End a run early, once, for the first reason: a signal, the time limit, a reader that left."""

import asyncio
import os
import signal
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any, NamedTuple, NoReturn


class Cause(NamedTuple):
    """Say why a run ends early.

    Attributes:
        sentence: what people read.
        exit_code: what the process ends with.
        cancel: what the log keeps, as `Agent.cancel` takes it.
    """

    sentence: str
    exit_code: int
    cancel: Mapping[str, Any]


def _hook(reason: str) -> Mapping[str, Any]:
    return {"kind": "hook", "reason": reason}


SIGNALS = {
    signal.SIGINT: Cause("stopped by SIGINT", 130, {"kind": "user"}),
    signal.SIGTERM: Cause("stopped by SIGTERM", 143, _hook("SIGTERM")),
    signal.SIGHUP: Cause("stopped by SIGHUP", 129, _hook("SIGHUP")),
}
TIMEOUT = Cause("the run took longer than --timeout", 124, _hook("timeout"))
READER_GONE = Cause("nobody reads standard output any more", 141, _hook("nobody reads the output"))
STORAGE = Cause("the session cannot be stored", 3, _hook("the session cannot be stored"))


def asked_for(exit_code: int) -> Cause:
    """Return why a run ends that a plugin asked to end with an exit code."""
    reason = f"a plugin asked for the end with exit code {exit_code}"
    return Cause(reason, exit_code, _hook(reason))


class Interruption:
    """Pass the first reason to end on to whatever runs now.

    Invariants: `cause` never changes once it is set; the second signal ends the process at once,
    whatever it does, also while it waits for a reader of its output.
    """

    def __init__(self, leave_early: Callable[[Cause], NoReturn]) -> None:
        """Begin undisturbed; `leave_early(cause)` ends a process that has begun nothing yet."""
        self.cause: Cause | None = None
        self._leave_early = leave_early
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: Callable[[Cause], object] | None = None
        self._has_heard = False

    def request(self, cause: Cause) -> None:
        """Ask for the end; later requests change nothing."""
        if self.cause is None:
            self.cause = cause
            if self._stop is not None:
                self._stop(cause)

    @contextmanager
    def stage(self, stop: Callable[[Cause], object]) -> Generator[None]:
        """Let `stop(cause)` end what runs in the block; at once when the end was asked for."""
        self._stop = stop
        if self.cause is not None:
            stop(self.cause)
        try:
            yield
        finally:
            self._stop = None

    @contextmanager
    def hearing_signals(self) -> Generator[None]:
        """Answer signals in the block; those that were ignored before stay ignored."""
        before = {number: signal.getsignal(number) for number in SIGNALS}
        for number, handler in before.items():
            if handler is not signal.SIG_IGN:
                signal.signal(number, self._heard)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, signal.SIG_DFL if handler is None else handler)

    @contextmanager
    def in_loop(self, time_left_s: float | None) -> Generator[None]:
        """Turn the first signal, or the end of the time, into a request to this loop."""
        self._loop = loop = asyncio.get_running_loop()
        timer = None
        if time_left_s is not None:
            timer = loop.call_later(max(0.0, time_left_s), self.request, TIMEOUT)
        try:
            yield
        finally:
            if timer is not None:
                timer.cancel()

    def _heard(self, number: int, _frame: FrameType | None) -> None:
        # Runs between two instructions of the main thread, also during a blocking call.
        cause = SIGNALS[signal.Signals(number)]
        if self._has_heard or (self._loop is not None and self._loop.is_closed()):
            os._exit(cause.exit_code)
        self._has_heard = True
        if self._loop is None:
            self._leave_early(cause)
        self._loop.call_soon_threadsafe(self.request, cause)
