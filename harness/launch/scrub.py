"""Keep secrets and start-up hooks out of the processes that the harness starts."""

import re
from collections.abc import Collection, Mapping
from fnmatch import translate
from functools import lru_cache
from typing import Final

import attrs

from harness.launch.errors import InvalidEnvironmentError

_MIN_EMBEDDED_SECRET = 8  # a shorter secret inside a longer value is more likely chance


@attrs.frozen
class ScrubRules:
    """Which inherited variables a child does not get; patterns use `*` and ignore case."""

    secrets: tuple[str, ...] = (
        "*KEY*",
        "*PASSWORD*",
        "*SECRET*",
        "*TOKEN*",
        "*CREDENTIAL*",
        "*COOKIE*",
        "*_PAT",
        "AWS_*SESSION*",
        "DSH_*",
        "GPG_AGENT_INFO",
        "SSH_AUTH_SOCK",
    )
    """Names that hold secrets, or are ours."""
    startup: tuple[str, ...] = (
        "BASH_ENV",
        "ENV",
        "LD_PRELOAD",
        "PROMPT_COMMAND",
        "PYTHONSTARTUP",
    )
    """Names that make a shell or an interpreter run something before its command."""
    allow: tuple[str, ...] = ()
    """Names that pass although a pattern above matches them."""

    def removes(self, name: str) -> bool:
        """Return whether an inherited variable of this name is withheld."""
        return _matches(name, self.secrets + self.startup) and not _matches(name, self.allow)


DEFAULT_SCRUB: Final = ScrubRules()
"""The rules that hold unless a configuration replaces them."""


def scrub_environment(
    inherited: Mapping[str, str],
    explicit: Mapping[str, str | None] | None = None,
    *,
    rules: ScrubRules = DEFAULT_SCRUB,
    secret_values: Collection[str] = (),
) -> dict[str, str]:
    """Return the environment of a child process: what is inherited, without secrets.

    Args:
        inherited: usually the process layer of the launch environment.
        explicit: entries of this call, applied last: text sets a name whatever the rules say,
            None removes it.
        rules: the names to withhold.
        secret_values: secrets that the credential store knows; a variable that holds one is
            withheld whatever its name, and may still be set explicitly.

    Raises:
        InvalidEnvironmentError: an explicit name or value that no process can get.
    """
    secrets = [secret for secret in secret_values if secret]
    child = {
        name: value
        for name, value in inherited.items()
        if not rules.removes(name) and not _holds(value, secrets)
    }
    for name, value in (explicit or {}).items():
        if value is None:
            child.pop(name, None)
        else:
            check_environment({name: value})
            child[name] = value
    return child


def check_environment(values: Mapping[str, str]) -> None:
    """Refuse names and values that the operating system cannot pass to a process.

    Raises:
        InvalidEnvironmentError: an empty name, a name with `=` or NUL, or a value with NUL; the
            value is not shown.
    """
    for name, value in values.items():
        if not name or "=" in name or "\0" in name:
            raise InvalidEnvironmentError(
                f"{name!r} is no environment name: it must not be empty or hold '=' or NUL"
            )
        if "\0" in value:
            raise InvalidEnvironmentError(f"the value of {name} holds a NUL; remove it")


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return _compiled(patterns).match(name) is not None


@lru_cache(maxsize=64)
def _compiled(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """Return one expression that matches a whole name if any of the patterns does."""
    return re.compile("|".join(map(translate, patterns)) or r"(?!)", re.IGNORECASE)


def _holds(value: str, secrets: list[str]) -> bool:
    return any(
        value == secret or (len(secret) >= _MIN_EMBEDDED_SECRET and secret in value)
        for secret in secrets
    )
