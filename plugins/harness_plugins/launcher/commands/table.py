"""List the management commands, once: dispatch, help and completion read this table."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from harness_plugins.launcher.commands.command import Command

_PACKAGE = "harness_plugins.launcher.commands"


def _command(name: str, summary: str) -> Command:
    return Command(name, summary, f"{_PACKAGE}.{name}")


_ALL = (
    _command("auth", "keep keys for model providers, and try them"),
    _command("models", "list the models that can be chosen, or find servers on this machine"),
    _command("tools", "list the tools that a session would see, and what they cost"),
    _command("config", "show, change and check settings and composition"),
    _command("profile", "list, make, reset and remove profiles"),
    _command("plugin", "add packages to a profile, and remove them"),
    _command("doctor", "check this machine and this home, and say how to mend them"),
    _command("completion", "print a completion script for a shell"),
    _command("version", "print the version"),
)

COMMANDS: Final[Mapping[str, Command]] = MappingProxyType({each.name: each for each in _ALL})
"""Each management command by its word, in the order of the help text."""
