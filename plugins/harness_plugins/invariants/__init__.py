"""A development guard: refuses what must never happen, before it reaches the log."""

from harness_plugins.invariants.plugin import InvariantGuardConfig, apply

__all__ = ["InvariantGuardConfig", "apply"]
