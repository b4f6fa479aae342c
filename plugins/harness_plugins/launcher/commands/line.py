"""Recognise a management command on a command line, wherever the launcher's options stand."""

import os
from collections.abc import Sequence
from typing import NamedTuple

from harness_plugins.launcher.commands.command import Command, Surroundings
from harness_plugins.launcher.commands.table import COMMANDS
from harness_plugins.launcher.errors import UsageError
from harness_plugins.launcher.launch_options import LAUNCH_OPTIONS, read_launch_options

_TAKES_VALUE = {name: bool(option.metavar) for option in LAUNCH_OPTIONS for name in option.names}
_JSON = "--json"


class ManagementLine(NamedTuple):
    """Hold a command, the arguments that are its own, and what the launcher's options say."""

    command: Command
    arguments: tuple[str, ...]
    surroundings: Surroundings

    def run(self) -> int:
        """Carry the command out and return the exit code.

        Raises:
            CommandError: it could not be done.
        """
        return self.command.run(self.arguments, self.surroundings)


def management_line(tokens: Sequence[str]) -> ManagementLine | None:
    """Return the management command that a command line names; None when it names none.

    The launcher's options and `--json` may stand anywhere before a bare `--`.

    Raises:
        UsageError: a launcher option of a management command lacks its value or has a wrong one.
    """
    at = _command_index(tokens)
    if at is None:
        return None
    words = [*tokens[:at], *tokens[at + 1 :]]
    end = words.index("--") if "--" in words else len(words)
    is_json = _JSON in words[:end]
    words[:end] = [word for word in words[:end] if word != _JSON]
    options, own = read_launch_options(words)
    if options.dump is not None:
        raise UsageError(f"{options.dump} prints the rows of a profile; it goes without a command")
    if options.wants_help:
        own.insert(0, "--help")
    try:
        cwd = os.getcwd()
    except FileNotFoundError:
        raise UsageError("the current directory does not exist any more; go elsewhere") from None
    surroundings = Surroundings(os.environ, cwd, options, is_json=is_json)
    return ManagementLine(COMMANDS[tokens[at]], tuple(own), surroundings)


def _command_index(tokens: Sequence[str]) -> int | None:
    """Return where the command stands, if nothing but launcher options stands before it."""
    is_value = False
    for index, word in enumerate(tokens):
        name, equals, _ = word.partition("=")
        if is_value:
            is_value = False
        elif name in _TAKES_VALUE:
            is_value = _TAKES_VALUE[name] and not equals
        elif word != _JSON:
            return index if word in COMMANDS else None
    return None
