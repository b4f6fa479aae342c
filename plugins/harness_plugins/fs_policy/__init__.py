"""Guard files by what a session has read: read before edit, and never over unseen changes."""

from harness_plugins.fs_policy.config import FsPolicyConfig
from harness_plugins.fs_policy.plugin import FsPolicy

__all__ = ["FsPolicy", "FsPolicyConfig"]
