"""Hand the command line to plugins, and take their wish to end the program."""

from harness.cmdline.app_exit import AppExit
from harness.cmdline.command_line import CommandLine
from harness.cmdline.shutdown import SHUTDOWN_S, shut_down, shutdown_limit_s

__all__ = ["SHUTDOWN_S", "AppExit", "CommandLine", "shut_down", "shutdown_limit_s"]
