"""End a run early, once, for the first reason: a signal, the time limit, a reader that left."""

import asyncio
import os
import signal
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any, NamedTuple


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


class Interruption:
    """Pass the first reason to end on to whatever runs now.

    Invariants: `cause` never changes once it is set; the second signal ends the process at once,
    whatever it does, also while it waits for a reader of its output.
    """

    def __init__(self) -> None:
        """Begin undisturbed."""
        self.cause: Cause | None = None
        self._stop: Callable[[Cause], object] | None = None
        self._n_signals = 0

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
    def listening(self, time_left_s: float | None) -> Generator[None]:
        """Turn signals and the end of the time into requests; signals that are ignored stay so."""
        loop = asyncio.get_running_loop()

        def received(number: int, _frame: FrameType | None) -> None:
            # Runs between two instructions of the main thread, also during a blocking call.
            self._n_signals += 1
            if self._n_signals > 1:
                os._exit(SIGNALS[signal.Signals(number)].exit_code)
            loop.call_soon_threadsafe(self.request, SIGNALS[signal.Signals(number)])

        before = {number: signal.getsignal(number) for number in SIGNALS}
        for number, handler in before.items():
            if handler is not signal.SIG_IGN:
                signal.signal(number, received)
        timer = None
        if time_left_s is not None:
            timer = loop.call_later(max(0.0, time_left_s), self.request, TIMEOUT)
        try:
            yield
        finally:
            if timer is not None:
                timer.cancel()
            for number, handler in before.items():
                signal.signal(number, signal.SIG_DFL if handler is None else handler)
