"""Provide `ctx.subprocess` with real processes of this machine."""

from harness_plugins.subprocess_local.config import SubprocessLocalConfig
from harness_plugins.subprocess_local.runtime import SubprocessLocal

__all__ = ["SubprocessLocal", "SubprocessLocalConfig"]
