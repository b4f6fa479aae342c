"""Read the launcher's own options, which may stand anywhere before a bare `--`."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

from harness_plugins.launcher.errors import UsageError

LayerName: TypeAlias = Literal["--patch", "--set", "--disable", "--enable"]
Dump: TypeAlias = Literal["--dump-config", "--dump-default-config", "--dump-config-schema"]


class LaunchOptions(NamedTuple):
    """Hold what the launcher was asked for; everything else belongs to a command or a surface.

    Attributes:
        profile: the profile to boot.
        from_default_profile: the profile to make anew from its template, and to boot.
        home: in the place of `DSH_HOME`.
        layers: `--patch`, `--set`, `--disable` and `--enable` with their texts, in order.
        no_user_config: without the patch files of profile and home.
        strict: what matches nothing, and a row that does not run, end the boot.
        is_offline: nothing may leave the machine.
        dump: what to print instead of running.
        dump_format: how to print it.
        log_level: the least level to log, and with `log_file` the file to log to.
        is_debug: print the log and tracebacks.
        wants_version: print the version.
        wants_help: print the help.
    """

    profile: str | None = None
    from_default_profile: str | None = None
    home: str | None = None
    layers: tuple[tuple[LayerName, str], ...] = ()
    no_user_config: bool = False
    strict: bool = False
    is_offline: bool = False
    dump: Dump | None = None
    dump_format: str = "yaml"
    log_level: str | None = None
    log_file: str | None = None
    is_debug: bool = False
    wants_version: bool = False
    wants_help: bool = False


class LaunchOption(NamedTuple):
    """Describe one launcher option.

    Attributes:
        names: its spellings, the one to show first.
        help: one line for people.
        take: puts it, with its text, into the options; `ValueError` says what was expected.
        metavar: what its value is called; empty for a switch.
    """

    names: tuple[str, ...]
    help: str
    take: Callable[[LaunchOptions, str, str], LaunchOptions]
    metavar: str = ""


def _set(field: str) -> Callable[[LaunchOptions, str, str], LaunchOptions]:
    def take(options: LaunchOptions, _: str, text: str) -> LaunchOptions:
        if not text.strip():
            raise ValueError("a text that is not empty")
        return options._replace(**{field: text})

    return take


def _switch(field: str) -> Callable[[LaunchOptions, str, str], LaunchOptions]:
    return lambda options, _, __: options._replace(**{field: True})


def _choice(field: str, *choices: str) -> Callable[[LaunchOptions, str, str], LaunchOptions]:
    def take(options: LaunchOptions, _: str, text: str) -> LaunchOptions:
        if text not in choices:
            raise ValueError(f"one of {', '.join(choices)}")
        return options._replace(**{field: text})

    return take


def _layer(name: LayerName) -> Callable[[LaunchOptions, str, str], LaunchOptions]:
    def take(options: LaunchOptions, _: str, text: str) -> LaunchOptions:
        if not text.strip():
            raise ValueError("a text that is not empty")
        return options._replace(layers=(*options.layers, (name, text)))

    return take


def _dump(options: LaunchOptions, name: str, _: str) -> LaunchOptions:
    if options.dump not in (None, name):
        raise UsageError(f"{options.dump} and {name} print two different things; choose one")
    return options._replace(dump=name)


LAUNCH_OPTIONS: Final = (
    LaunchOption(("--profile", "-p"), "the profile to boot", _set("profile"), "NAME"),
    LaunchOption(("--home",), "in the place of DSH_HOME (~/.dsh)", _set("home"), "DIR"),
    LaunchOption(("--patch",), "one more layer of patches", _layer("--patch"), "FILE"),
    LaunchOption(("--set",), "change one key of a row", _layer("--set"), "ID.KEY=VALUE"),
    LaunchOption(("--disable",), "switch a row off", _layer("--disable"), "ID"),
    LaunchOption(("--enable",), "switch a row on", _layer("--enable"), "ID"),
    LaunchOption(("--no-user-config",), "without the patch files of profile and home",
                 _switch("no_user_config")),
    LaunchOption(("--strict",), "what matches nothing or does not run is an error",
                 _switch("strict")),
    LaunchOption(("--offline",), "the built-in guide: no network, no model", _switch("is_offline")),
    LaunchOption(("--dump-config",), "print the composed rows and exit", _dump),
    LaunchOption(("--dump-default-config",), "the same without anything of the user", _dump),
    LaunchOption(("--dump-config-schema",), "print the JSON Schema of all rows and exit", _dump),
    LaunchOption(("--format",), "of what is printed: yaml or json",
                 _choice("dump_format", "yaml", "json"), "FORMAT"),
    LaunchOption(("--from-default-profile",), "make a profile anew from its template and boot it",
                 _set("from_default_profile"), "NAME"),
    LaunchOption(("--log-level",), "debug, info, warn or error",
                 _choice("log_level", "debug", "info", "warn", "error"), "LEVEL"),
    LaunchOption(("--log-file",), "append the log to a file", _set("log_file"), "FILE"),
    LaunchOption(("--debug",), "print the log and tracebacks, check invariants",
                 _switch("is_debug")),
    LaunchOption(("--version", "-V"), "print the version", _switch("wants_version")),
    LaunchOption(("--help", "-h"), "print the help", _switch("wants_help")),
)  # fmt: skip
"""Every launcher option, in the order of the help text."""

_BY_NAME = {name: option for option in LAUNCH_OPTIONS for name in option.names}


def read_launch_options(tokens: Sequence[str]) -> tuple[LaunchOptions, list[str]]:
    """Take the launcher's options out of a command line; return them and the rest, in order.

    Raises:
        UsageError: an option lacks its value, has a wrong one, or contradicts another.
    """
    options = LaunchOptions()
    rest: list[str] = []
    words = iter(tokens)
    for word in words:
        if word == "--":
            rest += [word, *words]
            break
        name, equals, text = word.partition("=")
        option = _BY_NAME.get(name)
        if option is None:
            rest.append(word)
            continue
        text = _text(option, name, text if equals else None, words)
        try:
            options = option.take(options, option.names[0], text)
        except ValueError as error:
            raise UsageError(f"{name} expects {error}, found {text!r}") from None
    if options.profile is not None and options.from_default_profile not in (None, options.profile):
        raise UsageError("--profile and --from-default-profile name two profiles; choose one")
    return options, rest


def _text(option: LaunchOption, name: str, given: str | None, words: Iterator[str]) -> str:
    """Return the value of an option, which may be the next word; empty for a switch."""
    if not option.metavar:
        if given is not None:
            raise UsageError(f"{name} takes no value, found {given!r}")
        return ""
    if given is None:
        given = next(words, "--")
        if given == "--" or given.partition("=")[0] in _BY_NAME:
            raise UsageError(f"{name} needs a value: {name} {option.metavar}")
    return given
