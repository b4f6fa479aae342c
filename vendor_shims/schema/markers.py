"""Constraints for `Annotated[...]`: bounds, lengths, patterns, choices."""

from __future__ import annotations

import operator
import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar

import attrs

from vendor_shims.schema.preview import preview, quote
from vendor_shims.schema.shapes import Raw

_LENGTH_KEYWORDS = {"string": "Length", "list": "Items", "object": "Properties"}


class Constraint(ABC):
    """One rule that a value of the right type must also obey."""

    kinds: ClassVar[frozenset[str]]
    """Kinds of values (`string`, `integer`, `number`, `list`, `object`) that the rule fits."""

    @abstractmethod
    def holds(self, value: Raw) -> bool:
        """Return whether `value`, of one of `kinds`, obeys."""

    @abstractmethod
    def describe(self, kind: str) -> str:
        """Return what is expected of a value of `kind`, as in `number <= 5`."""

    @abstractmethod
    def keywords(self, kind: str) -> dict[str, Raw]:
        """Return the JSON schema keywords of the rule for a value of `kind`."""


@attrs.frozen
class _Bound(Constraint):
    """A limit on a number."""

    kinds = frozenset({"integer", "number"})
    symbol: ClassVar[str]
    keyword: ClassVar[str]
    compare: ClassVar[Callable[[Raw, float], bool]]

    bound: float

    def holds(self, value: Raw) -> bool:
        return type(self).compare(value, self.bound)

    def describe(self, kind: str) -> str:
        del kind
        return f"number {self.symbol} {self.bound}"

    def keywords(self, kind: str) -> dict[str, Raw]:
        del kind
        return {self.keyword: self.bound}


class Ge(_Bound):
    """A number of at least `bound`."""

    symbol, keyword, compare = ">=", "minimum", operator.ge


class Gt(_Bound):
    """A number above `bound`."""

    symbol, keyword, compare = ">", "exclusiveMinimum", operator.gt


class Le(_Bound):
    """A number of at most `bound`."""

    symbol, keyword, compare = "<=", "maximum", operator.le


class Lt(_Bound):
    """A number below `bound`."""

    symbol, keyword, compare = "<", "exclusiveMaximum", operator.lt


@attrs.frozen
class _Length(Constraint):
    """A limit on the characters of a string, the items of a list, the members of an object."""

    kinds = frozenset(_LENGTH_KEYWORDS)
    symbol: ClassVar[str]
    keyword: ClassVar[str]
    compare: ClassVar[Callable[[int, int], bool]]

    limit: int

    def holds(self, value: Raw) -> bool:
        return type(self).compare(len(value), self.limit)

    def describe(self, kind: str) -> str:
        return f"{kind} of length {self.symbol} {self.limit}"

    def keywords(self, kind: str) -> dict[str, Raw]:
        return {self.keyword + _LENGTH_KEYWORDS[kind]: self.limit}


class MinLen(_Length):
    """At least `limit` characters, items or members."""

    symbol, keyword, compare = ">=", "min", operator.ge


class MaxLen(_Length):
    """At most `limit` characters, items or members."""

    symbol, keyword, compare = "<=", "max", operator.le


@attrs.frozen
class Pattern(Constraint):
    """A string in which the regular expression is found; anchor it to match the whole.

    The expression is trusted like code: a careless one can take very long on a long string.
    """

    kinds = frozenset({"string"})

    regex: str
    _compiled: re.Pattern[str] = attrs.field(
        init=False,
        eq=False,
        repr=False,
        default=attrs.Factory(lambda self: re.compile(self.regex), takes_self=True),
    )

    def holds(self, value: Raw) -> bool:
        """Return whether the expression is found in `value`."""
        return self._compiled.search(value) is not None

    def describe(self, kind: str) -> str:
        """Return the expression between slashes."""
        return f"{kind} matching /{self.regex}/"

    def keywords(self, kind: str) -> dict[str, Raw]:
        """Return `pattern`."""
        del kind
        return {"pattern": self.regex}


class OneOf(Constraint):
    """One of the given strings or numbers, for choices that are only known at run time."""

    kinds = frozenset({"string", "integer", "number"})

    def __init__(self, *choices: str | float) -> None:
        self._choices = choices

    def holds(self, value: Raw) -> bool:
        """Return whether `value` is a choice."""
        return value in self._choices

    def describe(self, kind: str) -> str:
        """Return the choices, separated by bars."""
        del kind
        return alternatives(self._choices)

    def keywords(self, kind: str) -> dict[str, Raw]:
        """Return `enum`."""
        del kind
        return {"enum": list(self._choices)}


def alternatives(choices: tuple[Raw, ...]) -> str:
    """Return choices as `"a" | "b" | 3`."""
    return " | ".join(quote(c) if isinstance(c, str) else preview(c) for c in choices)
