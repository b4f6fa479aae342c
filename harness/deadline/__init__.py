"""Bound work in time and keep the reason: fused deadlines, idle watchdogs, checked durations."""

from harness.deadline.errors import InvalidTimeoutError
from harness.deadline.fused import deadline
from harness.deadline.limits import MAX_TIMEOUT_MS, check_timeout_ms, clamp_timeout
from harness.deadline.read_guard import ReadGuard
from harness.deadline.reason import TimeoutReason, timeout_of
from harness.deadline.watchdog import IdleWatchdog, idle_watchdog

__all__ = [
    "MAX_TIMEOUT_MS",
    "IdleWatchdog",
    "InvalidTimeoutError",
    "ReadGuard",
    "TimeoutReason",
    "check_timeout_ms",
    "clamp_timeout",
    "deadline",
    "idle_watchdog",
    "timeout_of",
]
