"""Collect every word that the command line knows, by the words that stand before it."""

from argparse import Action, ArgumentParser
from collections.abc import Iterator, Mapping
from typing import NamedTuple, TypeAlias, cast

from harness_plugins.launcher.command_line import SESSIONS_ACTIONS
from harness_plugins.launcher.commands.parser import common_options
from harness_plugins.launcher.commands.table import COMMANDS
from harness_plugins.launcher.options import OPTIONS, Scope


class Word(NamedTuple):
    """A word that can stand at a place, and what it means; the meaning may be empty."""

    text: str
    meaning: str

    @property
    def is_option(self) -> bool:
        """Return whether it is an option rather than a command, an action or a choice."""
        return self.text.startswith("-")


Vocabulary: TypeAlias = Mapping[tuple[str, ...], tuple[Word, ...]]
"""The words of each place; a place is named by the command and action before it."""


def vocabulary() -> Vocabulary:
    """Return the words of every place, from the tables that the commands themselves use."""
    common = [Word("--json", "one JSON document")]
    common += [Word(each.names[0], each.help) for each in common_options()]
    places: dict[tuple[str, ...], tuple[Word, ...]] = {
        (): (
            Word("run", "run one task and print the answer"),
            Word("sessions", "what was run here"),
            *(Word(each.name, each.summary) for each in COMMANDS.values()),
            Word("help", "list the commands"),
            Word("--help", "list the commands"),
            Word("--version", "print the version"),
        ),
        ("run",): (*_options("run"), *common),
        ("sessions",): tuple(Word(action, "") for action in SESSIONS_ACTIONS),
    }
    for action, scope in SESSIONS_ACTIONS.items():
        places["sessions", action] = (*_options(scope), *common)
    for command in COMMANDS.values():
        for place, words in _places((command.name,), command.parser()):
            places[place] = (*words, *common)
    return places


def _options(scope: Scope) -> Iterator[Word]:
    for option in OPTIONS:
        if scope in option.scopes:
            yield Word(option.names[0], option.help)


def _places(
    place: tuple[str, ...], parser: ArgumentParser
) -> Iterator[tuple[tuple[str, ...], tuple[Word, ...]]]:
    words: list[Word] = []
    for action in _actions(parser):
        if action.option_strings:
            words.append(Word(action.option_strings[-1], action.help or ""))
        elif isinstance(action.choices, dict):
            inner = cast("dict[str, ArgumentParser]", action.choices)
            for name, child in inner.items():
                words.append(Word(name, child.description or ""))
                yield from _places((*place, name), child)
        elif action.choices is not None:
            words += [Word(str(choice), "") for choice in action.choices]
    yield place, tuple(words)


def _actions(parser: ArgumentParser) -> list[Action]:
    return parser._actions
