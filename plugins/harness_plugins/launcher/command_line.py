"""Read the command line: options anywhere, words in order, everything after `--` taken as it is."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from harness_plugins.launcher.commands import COMMANDS as MANAGEMENT
from harness_plugins.launcher.errors import UsageError
from harness_plugins.launcher.launch_options import (
    LAUNCH_OPTIONS,
    LaunchOptions,
    read_launch_options,
)
from harness_plugins.launcher.options import OPTIONS, Option, Options, Scope

COMMANDS: Final = {
    "run": "run",
    "headless": "run",
    "sessions": "sessions",
    "help": "help",
    "version": "version",
}
"""Each command word with the command it means."""

SESSIONS_ACTIONS: Final[dict[str, Scope]] = {"list": "sessions list", "show": "sessions show"}

_BY_NAME = {name: option for option in OPTIONS for name in option.names}
_PROFILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


class CommandLine(NamedTuple):
    """Hold what was asked for.

    Attributes:
        command: `run`, `sessions`, `help`, or empty when no word was given.
        scope: the options that apply.
        words: the words after the command, in order.
        reads_stdin: whether a lone `-` asked for standard input.
        options: the value of every option of the command.
        launch: what the launcher itself was asked for.
    """

    command: str
    scope: Scope
    words: tuple[str, ...]
    reads_stdin: bool
    options: Options
    launch: LaunchOptions


class _Given(NamedTuple):
    name: str
    option: Option
    value: object


def read_command_line(tokens: Sequence[str]) -> CommandLine:
    """Return what the arguments of the process ask for; of a repeated option the last one counts.

    Raises:
        UsageError: names the token that cannot be understood, and the nearest that can.
    """
    launch, rest = read_launch_options(tokens)
    given, words, literal = _split(rest)
    options = Options(home=launch.home, offline=launch.is_offline, debug=launch.is_debug)
    options = options._replace(**{each.option.field: each.value for each in given})
    launch = _with_named_profile(launch, words)
    command, scope = _command(words, is_asking=launch.wants_help)
    for each in given:
        if scope not in each.option.scopes:
            raise UsageError(f"{each.name} is no option of dsh {scope}", f"see: dsh {scope} --help")
    if options.json_deltas:
        options = options._replace(json=True)
    if options.json and options.events:
        raise UsageError("--json and --events are two forms of the output; choose one")
    kept = [word for word in words if word != "-"]
    reads_stdin = len(kept) < len(words)
    return CommandLine(command, scope, (*kept, *literal), reads_stdin, options, launch)


def is_set(tokens: Iterable[str], *names: str) -> bool:
    """Return whether a switch is among tokens that may not be readable as a whole."""
    for word in tokens:
        if word == "--":
            return False
        if word in names:
            return True
    return False


def _split(tokens: Sequence[str]) -> tuple[list[_Given], list[str], list[str]]:
    """Return the options with their values, the words, and what stands behind `--`."""
    given: list[_Given] = []
    words: list[str] = []
    rest = iter(tokens)
    for word in rest:
        if word == "--":
            break
        if word.startswith("-") and word != "-":
            given.append(_read_option(word, rest))
        else:
            words.append(word)
    return given, words, list(rest)


def _read_option(word: str, rest: Iterator[str]) -> _Given:
    """Return an option with its value, which may be the next token."""
    name, equals, text = word.partition("=")
    option = _BY_NAME.get(name)
    if option is None:
        raise _unknown_option(name)
    if not option.metavar:
        if equals:
            raise UsageError(f"{name} takes no value, found {text!r}")
        return _Given(name, option, value=True)
    if not equals:
        text = next(rest, "--")
        if text == "--" or text.partition("=")[0] in _BY_NAME:
            raise UsageError(f"{name} needs a value: {name} {option.metavar}")
    try:
        return _Given(name, option, option.read(text))
    except ValueError as error:
        raise UsageError(f"{name} expects {error}, found {text!r}") from None


def _with_named_profile(launch: LaunchOptions, words: list[str]) -> LaunchOptions:
    """Take a first word that is no command for the name of a profile, which need not exist."""
    is_named = launch.profile is not None or launch.from_default_profile is not None
    if not words or words[0] in COMMANDS or words[0] == "-" or is_named:
        return launch
    if not _PROFILE_NAME.fullmatch(words[0]) or _nearest(words[0], [*COMMANDS, *MANAGEMENT]):
        raise _unknown_command(words[0])
    return launch._replace(profile=words.pop(0))


def _command(words: list[str], *, is_asking: bool) -> tuple[str, Scope]:
    """Take the command off the words; a missing one is a run of what comes through a pipe."""
    if not words or words == ["-"]:
        return "", "run"
    command = COMMANDS.get(words[0])
    if command is None:  # a profile is named, so all words are the task
        return "run", "run"
    del words[0]
    if command != "sessions":
        return command, "run"
    scope = SESSIONS_ACTIONS.get(words[0]) if words else None
    if scope is not None:
        del words[0]
        return command, scope
    if is_asking:
        return command, "sessions list"
    if not words:
        raise UsageError("dsh sessions needs an action: list or show")
    near = _nearest(words[0], SESSIONS_ACTIONS) or "list or show"
    raise UsageError(f"dsh sessions has no action {words[0]!r}; did you mean {near}?")


def _unknown_option(name: str) -> UsageError:
    launchers = [spelling for option in LAUNCH_OPTIONS for spelling in option.names]
    near = _nearest(name, [*_BY_NAME, *launchers])
    tail = f"; did you mean {near}?" if near else ""
    return UsageError(
        f"unknown option {name}{tail}", "a task that begins with a dash goes behind: dsh run -- …"
    )


def _unknown_command(word: str) -> UsageError:
    near = _nearest(word, [*COMMANDS, *MANAGEMENT])
    if near:
        return UsageError(f"unknown command {word!r}; did you mean {near}?")
    return UsageError(f"unknown command {word!r}", 'to run a task: dsh run "what to do"')


def _nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the most similar known word, if any is similar."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(word, list(known), n=1, cutoff=0.6)), None)
