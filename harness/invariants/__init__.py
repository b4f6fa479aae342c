"""Own what must never happen: the log oracle, and the registry of checking companions."""

from harness.invariants.config import InvariantsConfig
from harness.invariants.errors import InvariantError
from harness.invariants.log import LogChecker, Violation, check_log
from harness.invariants.service import Installer, Invariants

__all__ = [
    "Installer",
    "InvariantError",
    "Invariants",
    "InvariantsConfig",
    "LogChecker",
    "Violation",
    "check_log",
]
