"""Say how much of an output is missing."""

from typing import Final, TypeAlias, assert_never

import attrs


@attrs.frozen
class Nothing:
    """Everything is there."""


@attrs.frozen
class Exact:
    """Exactly `count` units are missing; at least one."""

    count: int


@attrs.frozen
class Unknown:
    """Something is missing and nobody has counted it."""


Omitted: TypeAlias = Nothing | Exact | Unknown

NOTHING: Final = Nothing()


def describe_omitted(omitted: Omitted, unit: str) -> str:
    """Return a short clause such as `1,204 bytes omitted`; empty when nothing is missing.

    Args:
        omitted: what is missing.
        unit: the plural, `bytes` or `matches`; a count of one drops its final `s`.
    """
    match omitted:
        case Nothing():
            return ""
        case Exact(count=1):
            return f"1 {unit.removesuffix('s')} omitted"
        case Exact(count=count):
            return f"{count:,} {unit} omitted"
        case Unknown():
            return f"more {unit} omitted"
        case _:
            assert_never(omitted)
