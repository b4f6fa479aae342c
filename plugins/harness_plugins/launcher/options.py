"""List the options of commands, once: the parser and the help text read this table."""

from collections.abc import Callable
from typing import Final, Literal, NamedTuple, TypeAlias

Scope: TypeAlias = Literal["run", "sessions list", "sessions show"]


class Options(NamedTuple):
    """Hold the value of every option, under the name that the table gives it.

    `home`, `offline` and `debug` are the launcher's, for whoever needs nothing else of it.
    """

    home: str | None = None
    offline: bool = False
    debug: bool = False
    json: bool = False
    json_deltas: bool = False
    events: bool = False
    resume: str | None = None
    provider: str | None = None
    model: str | None = None
    base_url: str | None = None
    effort: str | None = None
    max_tokens: int | None = None
    max_steps: int | None = None
    timeout_s: float | None = None
    cwd: str | None = None
    show_reasoning: bool = False
    quiet: bool = False
    all: bool = False
    limit: int = 20
    tail: int | None = None
    raw: bool = False


class Option(NamedTuple):
    """Describe one option.

    Attributes:
        names: its spellings, the one to show first.
        field: the member of `Options` that it sets.
        help: one line for people.
        metavar: what its value is called; empty for a switch.
        read: turns the text of the value into the value; `ValueError` says what was expected.
        scopes: the commands that take it.
    """

    names: tuple[str, ...]
    field: str
    help: str
    metavar: str = ""
    read: Callable[[str], object] = str
    scopes: tuple[Scope, ...] = ("run",)


def _text(value: str) -> str:
    if not value.strip():
        raise ValueError("a text that is not empty")
    return value


def _count(value: str) -> int:
    if not (value.isascii() and value.isdigit() and 0 < int(value) < 2**53):
        raise ValueError("a whole number above 0")
    return int(value)


def _seconds(value: str) -> float:
    try:
        seconds = float(value)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 10**9:
        raise ValueError("a number of seconds above 0")
    return seconds


_DOCUMENTS: tuple[Scope, ...] = ("run", "sessions list", "sessions show")

OPTIONS: Final = (
    Option(("--resume", "--session-id"), "resume", "continue a stored session", "ID", _text),
    Option(("--provider",), "provider", "who answers; any name together with --base-url", "NAME",
           _text),
    Option(("--model",), "model", "which of the provider's models", "NAME", _text),
    Option(("--base-url",), "base_url", "an OpenAI-compatible server, such as"
           " http://127.0.0.1:8080/v1", "URL", _text),
    Option(("--effort",), "effort", "how much the model reasons", "LEVEL", _text),
    Option(("--max-tokens",), "max_tokens", "longest answer of one request", "N", _count),
    Option(("--max-steps",), "max_steps", "most requests of the turn", "N", _count),
    Option(("--timeout",), "timeout_s", "most time for the whole run", "SECONDS", _seconds),
    Option(("--cwd",), "cwd", "directory to work in", "DIR", _text, ("run", "sessions list")),
    Option(("--json",), "json", "one JSON object per line, or one document", scopes=_DOCUMENTS),
    Option(("--json-deltas",), "json_deltas", "the same, with the text while it streams"),
    Option(("--events",), "events", "the raw events of the session, one per line"),
    Option(("--show-reasoning",), "show_reasoning", "print the model's reasoning to stderr"),
    Option(("--quiet",), "quiet", "no tool lines and no notes, only errors"),
    Option(("--all",), "all", "sessions of every directory", scopes=("sessions list",)),
    Option(("--limit",), "limit", "how many, newest first (20)", "N", _count, ("sessions list",)),
    Option(("--tail",), "tail", "the last events only", "N", _count, ("sessions show",)),
    Option(("--raw",), "raw", "the stored lines as they are", scopes=("sessions show",)),
)  # fmt: skip
"""Every option, in the order of the help text."""
