"""Say what a management command is, without loading any."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

from harness_plugins.launcher.launch_options import LaunchOptions

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from harness.launch import Home


class Surroundings(NamedTuple):
    """Hold what a command may know about the process and what the launcher's own options say.

    Attributes:
        environ: the process environment.
        cwd: the directory that relative paths start from.
        options: the launcher's options.
        is_json: whether one JSON document is wanted.
    """

    environ: Mapping[str, str]
    cwd: str
    options: LaunchOptions = LaunchOptions()
    is_json: bool = False

    def home(self) -> Home:
        """Return the home directory, which need not exist.

        Raises:
            HomeError: `~` is needed and this user has no home directory.
        """
        from harness.launch import resolve_home

        return resolve_home(self.options.home, self.environ)


class CommandModule(Protocol):
    """What the module of a command offers; importing it loads nothing heavy."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Say which words and options the command takes."""
        ...

    def run(self, arguments: Namespace, surroundings: Surroundings) -> int:
        """Carry the command out and return the exit code.

        Raises:
            CommandError: it could not be done; says why.
        """
        ...


class Command(NamedTuple):
    """Name a command; its module is loaded when it is needed.

    Attributes:
        name: the word on the command line.
        summary: one line for the help text.
        module: where its `add_arguments` and `run` are.
    """

    name: str
    summary: str
    module: str

    def load(self) -> CommandModule:
        """Return the module."""
        from importlib import import_module

        module: Any = import_module(self.module)
        return cast("CommandModule", module)

    def parser(self) -> ArgumentParser:
        """Return what reads the command's arguments, for help and completion as well."""
        from harness_plugins.launcher.commands.parser import CommandParser

        parser = CommandParser(prog=f"dsh {self.name}", description=self.summary)
        self.load().add_arguments(parser)
        return parser

    def run(self, arguments: Sequence[str], surroundings: Surroundings) -> int:
        """Read the arguments, carry the command out, and return the exit code.

        Raises:
            CommandError: the arguments do not fit, or it could not be done.
        """
        from harness_plugins.launcher.commands.parser import HelpShown

        try:
            namespace = self.parser().parse_args(list(arguments))
        except HelpShown:
            return 0
        return self.load().run(namespace, surroundings)
