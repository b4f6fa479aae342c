"""Provide `ctx.spill_store` with owner-only files on this machine."""

from harness_plugins.spill_local.config import SpillLocalConfig
from harness_plugins.spill_local.store import SpillLocal

__all__ = ["SpillLocal", "SpillLocalConfig"]
