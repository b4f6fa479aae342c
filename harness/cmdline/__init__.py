"""Hand the command line to plugins, and take their wish to end the program."""

from harness.cmdline.app_exit import AppExit
from harness.cmdline.command_line import CommandLine
from harness.cmdline.limits import BOOT_S, SHUTDOWN_S, boot_limit_s, shutdown_limit_s
from harness.cmdline.shutdown import shut_down

__all__ = [
    "BOOT_S",
    "SHUTDOWN_S",
    "AppExit",
    "CommandLine",
    "boot_limit_s",
    "shut_down",
    "shutdown_limit_s",
]
