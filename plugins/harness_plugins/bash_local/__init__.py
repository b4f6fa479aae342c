"""Provide `ctx.bash` with the bash of this machine."""

from harness_plugins.bash_local.config import BashLocalConfig
from harness_plugins.bash_local.executor import BashLocal

__all__ = ["BashLocal", "BashLocalConfig"]
