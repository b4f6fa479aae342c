"""The command `dsh`: compose the harness, run a task, report how it ended."""

from harness_plugins.launcher.entry import main
from harness_plugins.launcher.version import VERSION

__all__ = ["VERSION", "main"]
