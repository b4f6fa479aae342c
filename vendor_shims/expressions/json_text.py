"""Reading a JSON text with limits that hold while it is read."""

from __future__ import annotations

import re
from typing import Any

from .expression import Value
from .flaw import Flaw
from .limits import MAX_DEPTH, MAX_ITEMS, MAX_TEXT_CHARS

_SPACE = re.compile(r"[ \t\r\n]*")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?", re.ASCII)
_STRING = re.compile(r'"((?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+)"')
_ESCAPE = re.compile(r'\\(?:(["\\/bfnrt])|u([0-9a-fA-F]{4}))')
_ESCAPED = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_WORDS = {"true": True, "false": False, "null": None}
_MAX_DIGITS = 1_000


def read_json(text: str) -> Value:
    """Return the value of a JSON text: standard JSON only, the last of equal keys wins.

    Raises:
        Flaw: it is not JSON, or too long, deep or rich in values; never quotes the text.
    """
    if len(text) > MAX_TEXT_CHARS:
        raise Flaw(f"a text may have at most {MAX_TEXT_CHARS} characters")
    return _Reader(text).document()


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.index = 0
        self.n_values = 0

    def document(self) -> Value:
        value = self._value(1)
        self._skip_space()
        if self.index < len(self.text):
            raise self._flaw("more text after its end")
        return value

    def _flaw(self, problem: str) -> Flaw:
        return Flaw(f"not a JSON text: {problem} at character {self.index + 1}")

    def _skip_space(self) -> None:
        found = _SPACE.match(self.text, self.index)
        self.index = found.end() if found else self.index

    def _take(self, char: str) -> bool:
        self._skip_space()
        is_there = self.text.startswith(char, self.index)
        self.index += is_there
        return is_there

    def _value(self, depth: int) -> Value:
        self.n_values += 1
        if self.n_values > MAX_ITEMS:
            raise Flaw(f"a JSON text may have at most {MAX_ITEMS} values")
        if depth > MAX_DEPTH:
            raise Flaw(f"a JSON text may be at most {MAX_DEPTH} levels deep")
        if self._take("{"):
            return self._object(depth)
        if self._take("["):
            return self._array(depth)
        if self.text.startswith('"', self.index):
            return self._string()
        for word, value in _WORDS.items():
            if self._take(word):
                return value
        return self._number()

    def _object(self, depth: int) -> dict[str, Any]:
        result: dict[str, Any] = {}
        if self._take("}"):
            return result
        while True:
            self._skip_space()
            key = self._string()
            if not self._take(":"):
                raise self._flaw("':' expected")
            result[key] = self._value(depth + 1)
            if self._take("}"):
                return result
            if not self._take(","):
                raise self._flaw("',' or '}' expected")

    def _array(self, depth: int) -> list[Any]:
        result: list[Any] = []
        if self._take("]"):
            return result
        while True:
            result.append(self._value(depth + 1))
            if self._take("]"):
                return result
            if not self._take(","):
                raise self._flaw("',' or ']' expected")

    def _string(self) -> str:
        found = _STRING.match(self.text, self.index)
        if found is None:
            raise self._flaw("a string expected")
        self.index = found.end()
        return _joined_pairs(_ESCAPE.sub(_unescaped, found[1])) if "\\" in found[1] else found[1]

    def _number(self) -> int | float:
        found = _NUMBER.match(self.text, self.index)
        if found is None:
            raise self._flaw("a value expected")
        digits = found[0]
        if len(digits) > _MAX_DIGITS:
            raise self._flaw("too many digits in the number")
        value = float(digits) if found[1] or found[2] else int(digits)
        if value in {float("inf"), float("-inf")}:
            raise self._flaw("a number out of range")
        self.index = found.end()
        return value


def _unescaped(found: re.Match[str]) -> str:
    return _ESCAPED[found[1]] if found[1] else chr(int(found[2], 16))


def _joined_pairs(text: str) -> str:
    """Return the text with each pair of surrogates as the one character that it means."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
