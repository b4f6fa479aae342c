"""Provide `ctx.fs` from the machine's own file system."""

from harness_plugins.fs_local.config import FsLocalConfig
from harness_plugins.fs_local.service import FsLocal

__all__ = ["FsLocal", "FsLocalConfig"]
