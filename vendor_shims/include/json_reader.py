"""Read JSON exactly, with the place of each value."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from typing import NoReturn

from vendor_shims.expressions import Expression, Place, Tag

from .errors import ConfigFileError
from .node import Budget, Node
from .scalars import MAX_DIGITS

EXPRESSION_KEYS: tuple[Tag, ...] = ("!expr", "!!py", "!!js")
"""A mapping with one of these as its only key stands for an expression, as JSON has no tags."""

_SPACE = re.compile(r"[ \t\r\n]*")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?", re.ASCII)
_STRING = re.compile(r'"((?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+)"')
_ESCAPE = re.compile(r'\\(?:(["\\/bfnrt])|u([0-9a-fA-F]{4}))')
_SURROGATE = re.compile("[\ud800-\udfff]")
_LINE_END = re.compile(r"\n")
_ESCAPED = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None}


def read_json(text: str, file: str) -> Node | None:
    """Return the value of a JSON text, None for one without any.

    Raises:
        ConfigFileError: it is not JSON, or exceeds the limits; says where.
    """
    return _Reader(text, file).document()


class _Reader:
    def __init__(self, text: str, file: str) -> None:
        self._text = text
        self._file = file
        self._index = 0
        self._budget = Budget(file)
        self._lines = [0, *(found.end() for found in _LINE_END.finditer(text))]

    def document(self) -> Node | None:
        self._skip_space()
        if self._index == len(self._text):
            return None
        root = self._node(0)
        self._skip_space()
        if self._index < len(self._text):
            self._fail("more text after the end of the document")
        return root

    def _node(self, depth: int) -> Node:
        self._skip_space()
        place = self._place(self._index)
        self._budget.spend(1, depth, place)
        node = Node(self._index, self._index, place.line, place.column)
        if self._take("{"):
            self._object(node, depth)
        elif self._take("["):
            self._array(node, depth)
        else:
            node.value = self._scalar()
        node.end = self._index
        return node

    def _object(self, node: Node, depth: int) -> None:
        node.members, node.is_flow = {}, True
        is_first = True
        while not self._take("}"):
            if not is_first and not self._take(","):
                self._fail("expected ',' or '}'")
            is_first = False
            self._skip_space()
            place = self._place(self._index)
            key = Node(self._index, 0, place.line, place.column)
            name = key.value = self._string("a key in double quotes")
            key.end = self._index
            if name in node.members:
                first = node.members[name][0].line
                self._fail(f"the key {name!r} stands in line {first} already", at=key.start)
            if not self._take(":"):
                self._fail("expected ':'")
            node.members[name] = (key, self._node(depth + 1))
        if len(node.members) == 1:
            [(name, (_, member))] = node.members.items()
            if name in EXPRESSION_KEYS and isinstance(member.value, str):
                node.value = Expression(member.value, name)
                node.members = None

    def _array(self, node: Node, depth: int) -> None:
        node.items, node.is_flow = [], True
        while not self._take("]"):
            if node.items and not self._take(","):
                self._fail("expected ',' or ']'")
            node.items.append(self._node(depth + 1))

    def _scalar(self) -> str | int | float | bool | None:
        if self._text.startswith('"', self._index):
            return self._string("a text")
        for word, value in _WORDS.items():
            if self._take(word):
                return value
        found = _NUMBER.match(self._text, self._index)
        if found is None:
            self._fail("expected a value")
        if len(found[0]) > MAX_DIGITS:
            self._fail(f"a number may have at most {MAX_DIGITS} digits")
        value = float(found[0]) if found[1] or found[2] else int(found[0])
        if not math.isfinite(value):
            self._fail("the number is out of range")
        self._index = found.end()
        return value

    def _string(self, expected: str) -> str:
        found = _STRING.match(self._text, self._index)
        if found is None:
            is_begun = self._text.startswith('"', self._index)
            self._fail("a text that does not end well" if is_begun else f"expected {expected}")
        text = found[1]
        if "\\" in text:
            text = _ESCAPE.sub(_unescaped, text)
            text = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
        if _SURROGATE.search(text):
            self._fail("half of a surrogate pair is no character")
        self._index = found.end()
        return text

    def _place(self, index: int) -> Place:
        line = bisect_right(self._lines, index)
        return Place(self._file, line, index - self._lines[line - 1] + 1)

    def _skip_space(self) -> None:
        found = _SPACE.match(self._text, self._index)
        self._index = self._index if found is None else found.end()

    def _take(self, token: str) -> bool:
        self._skip_space()
        is_there = self._text.startswith(token, self._index)
        self._index += len(token) if is_there else 0
        return is_there

    def _fail(self, problem: str, *, at: int | None = None) -> NoReturn:
        index = self._index if at is None else at
        if index >= len(self._text):
            problem = f"{problem}, but the file ends"
        place = self._place(index)
        raise ConfigFileError("parse", problem, file=self._file, place=place)


def _unescaped(found: re.Match[str]) -> str:
    return _ESCAPED[found[1]] if found[1] else chr(int(found[2], 16))
