"""What a plain word in YAML means: JSON's values, and everything else is text."""

from __future__ import annotations

import math
import re

_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INTEGER = re.compile(r"(?P<decimal>[-+]?[0-9]+)|0o(?P<octal>[0-7]+)|0x(?P<hex>[0-9a-fA-F]+)")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_NO_NUMBER = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_FIRST = frozenset("~-+.0123456789ntfNTF")

MAX_DIGITS = 1_000


def plain_value(text: str) -> str | int | float | bool | None:
    """Return what a word without quotes means.

    Raises:
        ValueError: it is a number that JSON cannot have; says what to do.
    """
    if text and text[0] not in _FIRST:
        return text
    if text in _WORDS:
        return _WORDS[text]
    found = _INTEGER.fullmatch(text)
    if found is not None:
        if len(text) > MAX_DIGITS:
            raise ValueError(
                f"a number may have at most {MAX_DIGITS} digits; quote it if it is text"
            )
        if found["decimal"]:
            return int(text)
        return int(text, 8 if found["octal"] else 16)
    if _FLOAT.fullmatch(text):
        value = float(text)
        if math.isfinite(value):
            return value
        raise ValueError("the number is out of range; quote it if it is text")
    if _NO_NUMBER.fullmatch(text):
        raise ValueError(f"{text} is no JSON number; quote it if it is text")
    return text


def is_text(word: str) -> bool:
    """Return whether a word without quotes would be read as itself."""
    try:
        return plain_value(word) is word
    except ValueError:
        return False
