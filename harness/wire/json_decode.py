"""Decode the JSON texts that the fast decoder refuses or would round, at any depth."""

import re
from json.decoder import JSONDecodeError, JSONDecoder
from math import isfinite
from typing import NoReturn

from harness.wire.errors import JsonDecodeError

_SPACE = re.compile(r"[ \t\n\r]*")
_NUMBER = re.compile(r"(-?(?:0|[1-9][0-9]*))(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_WORDS = {"t": ("true", True), "f": ("false", False), "n": ("null", None)}
_SCALARS = JSONDecoder()

_MORE = object()
"""Stands for "no value is complete yet, read the next one"."""


def decode_exact(data: bytes | bytearray | memoryview | str) -> object:
    """Decode one JSON value without recursion, keeping lone surrogates and long integers.

    Raises:
        JsonDecodeError: as `loads`.
    """
    if isinstance(data, str):
        return _Reader(data).read()
    try:
        text = bytes(data).decode("utf-8")
    except UnicodeDecodeError as error:
        raise JsonDecodeError(
            f"expected JSON in UTF-8, found the byte 0x{bytes(data)[error.start]:02x} at offset "
            f"{error.start}",
            position=error.start,
        ) from error
    return _Reader(text).read()


class _Reader:
    """Read one value from a text.

    Invariants:
        - `_open` holds the containers from the root down to the place being read.
        - `_names` holds, for every open object, the name whose value comes next.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._at: int = 0
        self._open: list[dict[str, object] | list[object]] = []
        self._names: list[str] = []

    def read(self) -> object:
        while True:
            value = self._start()
            while value is not _MORE:
                if not self._open:
                    self._end()
                    return value
                value = self._put(value)

    def _peek(self) -> str:
        """Skip white space and return the next character, empty at the end."""
        space = _SPACE.match(self._text, self._at)
        self._at = self._at if space is None else space.end()
        return self._text[self._at : self._at + 1]

    def _start(self) -> object:
        """Read a scalar or an empty container; or open a container and return `_MORE`."""
        char = self._peek()
        if char == '"':
            return self._string()
        if char == "[":
            self._at += 1
            if self._peek() == "]":
                self._at += 1
                return []
            self._open.append([])
            return _MORE
        if char == "{":
            self._at += 1
            if self._peek() == "}":
                self._at += 1
                return {}
            self._open.append({})
            self._names.append(self._name())
            return _MORE
        return self._word(char) if char in _WORDS else self._number()

    def _put(self, value: object) -> object:
        """Store a value in the innermost container; return that when closed, else `_MORE`."""
        top = self._open[-1]
        if isinstance(top, list):
            top.append(value)
        else:
            top[self._names[-1]] = value
        char = self._peek()
        self._at += 1
        if char == ",":
            if isinstance(top, dict):
                self._names[-1] = self._name()
            return _MORE
        if char != ("]" if isinstance(top, list) else "}"):
            self._at -= 1
            self._refuse(f"',' or the end of the {'list' if isinstance(top, list) else 'object'}")
        if isinstance(top, dict):
            self._names.pop()
        return self._open.pop()

    def _name(self) -> str:
        if self._peek() != '"':
            self._refuse("a member name in double quotes")
        name = self._string()
        if self._peek() != ":":
            self._refuse("':' after the member name")
        self._at += 1
        return name

    def _string(self) -> str:
        try:
            value, self._at = _SCALARS.raw_decode(self._text, self._at)
        except JSONDecodeError as error:
            raise JsonDecodeError(
                f"expected a JSON string: {error.msg} at offset {error.pos}", position=error.pos
            ) from error
        return value

    def _word(self, char: str) -> object:
        word, value = _WORDS[char]
        if not self._text.startswith(word, self._at):
            self._refuse("a JSON value")
        self._at += len(word)
        return value

    def _number(self) -> object:
        match = _NUMBER.match(self._text, self._at)
        if match is None:
            self._refuse("a JSON value")
        if match[2] is None and match[3] is None:
            try:
                value: int | float = int(match[1])
            except ValueError:
                self._refuse("an integer of at most 4,300 digits")
        else:
            value = float(match[0])
            if not isfinite(value):
                self._refuse("a number within the range of a double")
        self._at = match.end()
        return value

    def _end(self) -> None:
        if self._peek():
            self._refuse("the end of the text")

    def _refuse(self, expected: str) -> NoReturn:
        found = repr(self._text[self._at : self._at + 20]) if self._peek() else "the end"
        raise JsonDecodeError(
            f"expected {expected} at offset {self._at}, found {found}", position=self._at
        )
