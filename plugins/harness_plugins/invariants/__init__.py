"""A development guard against what must never happen; mount the package itself."""

from harness_plugins.invariants.plugin import Config, InvariantGuardConfig, apply, name

__all__ = ["Config", "InvariantGuardConfig", "apply", "name"]
