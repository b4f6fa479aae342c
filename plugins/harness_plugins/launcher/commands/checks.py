"""Say what one check of `dsh doctor` found."""

from typing import Literal, NamedTuple


class Finding(NamedTuple):
    """What a check found; `fix` says what to do and is empty when all is well."""

    state: Literal["ok", "warn", "fail"]
    name: str
    fact: str
    fix: str = ""


def ok(name: str, fact: str) -> Finding:
    """Return that all is well."""
    return Finding("ok", name, fact)


def warn(name: str, fact: str, fix: str) -> Finding:
    """Return that something is missing that only some users need."""
    return Finding("warn", name, fact, fix)


def fail(name: str, fact: str, fix: str) -> Finding:
    """Return that something keeps `dsh` from working."""
    return Finding("fail", name, fact, fix)
