"""The management commands of `dsh`: what looks after a home instead of running a task."""

from harness_plugins.launcher.commands.command import Command, Surroundings
from harness_plugins.launcher.commands.line import ManagementLine, management_line
from harness_plugins.launcher.commands.table import COMMANDS

__all__ = [
    "COMMANDS",
    "Command",
    "ManagementLine",
    "Surroundings",
    "management_line",
]
