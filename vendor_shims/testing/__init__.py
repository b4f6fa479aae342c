"""Test support for plugins: a kernel with a virtual clock and leak checks, probes and fakes.

Properties need hypothesis and are therefore imported from `vendor_shims.testing.strategies`.
"""

from vendor_shims.timer import VirtualClock, come_to_rest

from .events import EventLog, RecordedEvent, record_events
from .kernel import Kernel, kernel
from .probe import ProbeReport, plugin_probe
from .services import FakeCall, FakeService, fake_service
from .snapshot import LeakError, Snapshot, snapshot

__all__ = [
    "EventLog",
    "FakeCall",
    "FakeService",
    "Kernel",
    "LeakError",
    "ProbeReport",
    "RecordedEvent",
    "Snapshot",
    "VirtualClock",
    "come_to_rest",
    "fake_service",
    "kernel",
    "plugin_probe",
    "record_events",
    "snapshot",
]
