"""The same tree under JavaScript's ideas of truth, `+`, equality and text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from .evaluator import Evaluator
from .flaw import Flaw
from .functions import FUNCTIONS, Function, Scope
from .operations import bounded, is_plain, kind, require_plain

_NUMBER = re.compile(r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?", re.ASCII)
_BASED = re.compile(r"0(?:[xX][0-9a-fA-F]+|[oO][0-7]+|[bB][01]+)")
_INFINITIES = {"Infinity": "inf", "+Infinity": "inf", "-Infinity": "-inf"}
_EXACT = 1 << 53
"""Whole numbers below are exact in JavaScript; larger ones stay what they are there."""
_MAX_CHARS = 1_000


def _sort(value: object) -> str:
    require_plain(value)
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    return "text" if isinstance(value, str) else "object"


def _number(scope: Scope, arguments: Sequence[Any]) -> int | float:
    """Return `Number(value)`: NaN for what is no number, 0 for an empty text."""
    value = arguments[0]
    require_plain(value)
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int | float):
        return value
    if not isinstance(value, str):
        return float("nan")
    text = value.strip()
    if not text:
        return 0
    if text in _INFINITIES:
        return float(_INFINITIES[text])
    if len(text) > _MAX_CHARS:
        raise Flaw("Number() takes no text as long as that")
    if _BASED.fullmatch(text):
        return bounded(int(text, 0), scope.budget)
    if not _NUMBER.fullmatch(text):
        return float("nan")
    exact = float(text)
    return int(exact) if exact.is_integer() and abs(exact) < _EXACT else exact


class JsEvaluator(Evaluator):
    """Evaluates a translated `!!js` source.

    `undefined` and `null` are both None. Differs from JavaScript: a missing value in `+` or a
    template is an error rather than the text "undefined".
    """

    functions: ClassVar[Mapping[str, Function]] = {
        **FUNCTIONS,
        "Number": Function("Number(value)", 1, 1, _number),
    }

    def truth(self, value: object) -> bool:
        """Return whether a value counts as true: lists and mappings do, NaN does not."""
        if value is None or isinstance(value, str | int | float):
            return bool(value) and value == value  # noqa: PLR0124 - NaN differs from itself
        return True

    def equal(self, left: object, right: object) -> bool:
        """Return `left === right`: equal values of one type; lists and mappings by identity."""
        sorts = {_sort(left), _sort(right)}
        return left is right if "object" in sorts else len(sorts) == 1 and left == right

    def add(self, left: object, right: object) -> object:
        """Return the sum of numbers, or the texts joined when one side is a text."""
        if isinstance(left, str) or isinstance(right, str):
            return super().add(self.text(left), self.text(right))
        return super().add(left, right)

    def text(self, value: object) -> str:
        """Return a value as JavaScript writes it."""
        if value is None:
            raise Flaw("this has no value; give one for that case: ... ?? 'default'")
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT:
            return str(int(value))
        if is_plain(value) and not isinstance(value, str | int | float):
            raise Flaw(f"a {kind(value)} is no text")
        return super().text(value)
