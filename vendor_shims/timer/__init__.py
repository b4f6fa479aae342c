"""Timers owned by fibers: timeouts, sleeps, intervals, throttled and debounced functions."""

from vendor_shims.timer.clock import VirtualClock, VirtualTimer, come_to_rest
from vendor_shims.timer.interval import Ticks
from vendor_shims.timer.pacing import Debounced, Throttled
from vendor_shims.timer.service import TimerService

__all__ = [
    "Debounced",
    "Throttled",
    "Ticks",
    "TimerService",
    "VirtualClock",
    "VirtualTimer",
    "come_to_rest",
]
