"""Read the arguments of a command, and complain in the words of every other complaint."""

import re
from argparse import ArgumentParser
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NoReturn

from harness_plugins.launcher.descriptors import STDOUT, write_all
from harness_plugins.launcher.errors import UsageError
from harness_plugins.launcher.launch_options import LAUNCH_OPTIONS, LaunchOption

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

_COMMON = frozenset(
    ("--profile", "--home", "--patch", "--set", "--disable", "--enable", "--no-user-config",
     "--strict", "--offline", "--debug")
)  # fmt: skip
_CHOICE = re.compile(r"invalid choice: '(?P<word>.*)' \(choose from (?P<known>.*)\)")
_QUOTED = re.compile(r"'([^']+)'|([\w-]+)")


class HelpShown(Exception):
    """End the reading of arguments because help was asked for and has been printed."""


class CommandParser(ArgumentParser):
    """Read arguments without prefixes of options, without exits, and with our complaints."""

    def __init__(self, **options: object) -> None:
        options |= {"allow_abbrev": False, "epilog": options.get("epilog") or _epilog()}
        super().__init__(**options)  # pyright: ignore[reportArgumentType] - handed on as they are

    def error(self, message: str) -> NoReturn:
        """Refuse the arguments.

        Raises:
            UsageError: always.
        """
        hint = f"see: {self.prog} --help"
        choice = _CHOICE.search(message)
        if choice is not None:
            word = choice["word"]
            known = [first or second for first, second in _QUOTED.findall(choice["known"])]
            near = nearest(word, known)
            tail = f"did you mean {near}?" if near else f"there are: {', '.join(known)}"
            raise UsageError(f"{self.prog} has no {word!r}; {tail}", hint)
        stray = message.partition("unrecognized arguments: ")[2]
        if stray:
            near = nearest(stray.partition(" ")[0], self._option_string_actions)
            tail = f"; did you mean {near}?" if near else ""
            raise UsageError(f"{self.prog} does not take {stray}{tail}", hint)
        raise UsageError(f"{self.prog}: {message}", hint)

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:  # noqa: ARG002 - theirs
        """End the reading.

        Raises:
            HelpShown: always; nothing but help ends it.
        """
        raise HelpShown

    def print_help(self, file: "SupportsWrite[str] | None" = None) -> None:  # noqa: ARG002 - theirs
        """Print the help on standard output."""
        write_all(STDOUT, self.format_help().encode())


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the most similar known word, if any is similar."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(word, list(known), n=1, cutoff=0.6)), None)


def _epilog() -> str:
    names = (f"{each.names[0]} {each.metavar}".strip() for each in common_options())
    return f"options everywhere: --json, {', '.join(names)}"


def common_options() -> tuple[LaunchOption, ...]:
    """Return the launcher's options that mean something to management commands."""
    return tuple(each for each in LAUNCH_OPTIONS if each.names[0] in _COMMON)


def add_actions(parser: ArgumentParser) -> Callable[[str, str], ArgumentParser]:
    """Give a command actions, of which one must be named; it arrives as `action`.

    Returns:
        What adds one: its word and its summary, to the parser of its arguments.
    """
    actions = parser.add_subparsers(
        dest="action", metavar="ACTION", required=True, parser_class=CommandParser
    )

    def add(name: str, summary: str) -> ArgumentParser:
        return actions.add_parser(name, help=summary, description=summary)

    return add
