"""Making our dialect readable for Python's own parser: one line, and `??` as `or` with a mark."""

from __future__ import annotations

from .flaw import Flaw
from .scan import string_end

MARK = "_nullish_"
"""`a ?? b` becomes `a or _nullish_ or b`, which has the wanted precedence.

Names that begin with an underscore are refused everywhere else, so nothing is taken from users.
"""

_NULLISH = "??"
_QUOTES = "'\""
_PREFIXES_OF_FORMATTED = {"f", "fr", "rf"}


class PythonSource:
    """The text for the parser, with the offset in the user's source of each of its characters.

    `??` is replaced outside strings and in the fields of f-strings; comments and line breaks
    outside strings become spaces, so that an expression may be written over several lines.

    Invariants: `origins` has one entry more than `text`, the length of the source, and grows
    steadily.
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self._parts: list[str] = []
        self.origins: list[int] = []
        self._read()
        self.text = "".join(self._parts)
        self.origins.append(len(source))
        self._line_starts = [0]
        self._line_starts += [at + 1 for at, char in enumerate(self.text) if char == "\n"]

    def offset(self, line: int, column: int) -> int:
        """Return the offset in the source for a line (from 1) and a column in characters."""
        start = self._line_starts[min(line, len(self._line_starts)) - 1]
        return self.origins[max(0, min(start + column, len(self.origins) - 1))]

    def byte_offset(self, line: int, column: int) -> int:
        """Return the offset in the source for a line (from 1) and a column in UTF-8 bytes."""
        start = self._line_starts[min(line, len(self._line_starts)) - 1]
        before = self.text[start:].encode("utf-8", "replace")[: max(0, column)]
        return self.offset(line, len(before.decode("utf-8", "ignore")))

    def _emit(self, text: str, origin: int | None = None, *, start: int = 0) -> None:
        """Append a text: all of it from one place, or copied from `start` on."""
        self._parts.append(text)
        places = range(start, start + len(text)) if origin is None else [origin] * len(text)
        self.origins.extend(places)

    def _read(self) -> None:
        source, index = self.source, 0
        while index < len(source):
            char = source[index]
            if char in _QUOTES:
                index = self._string(index, string_end(source, index))
            elif source.startswith(_NULLISH, index):
                index = self._nullish(index)
            elif char == "#":
                end = min((at for at in map(source[index:].find, "\r\n") if at >= 0), default=-1)
                index = len(source) if end < 0 else index + end
            else:
                is_leading_space = not self._parts and char.isspace()
                if not is_leading_space:
                    self._emit(" " if char in "\r\n" else char, index)
                index += 1

    def _nullish(self, index: int) -> int:
        if not self._parts:
            raise Flaw("`??` has nothing on its left", index)
        self._emit(f" or {MARK} or ", index)
        return index + len(_NULLISH)

    def _string(self, start: int, end: int) -> int:
        """Copy the string between two offsets, and return where it ends."""
        if self._prefix(start) in _PREFIXES_OF_FORMATTED:
            self._formatted(start, end)
        else:
            self._emit(self.source[start:end], start=start)
        return end

    def _prefix(self, start: int) -> str:
        first = start
        while first and (self.source[first - 1].isalnum() or self.source[first - 1] == "_"):
            first -= 1
        return self.source[first:start].lower()

    def _inner_end(self, start: int, limit: int) -> int:
        """Return where a string in a field ends; 0 for a quote that is the fill of a format."""
        try:
            end = string_end(self.source, start)
        except Flaw:
            return 0
        return end if end <= limit else 0

    def _formatted(self, start: int, end: int) -> None:
        """Copy an f-string, replacing in its fields."""
        source, index, depth = self.source, start, 0
        quote = 3 if source.startswith(source[start] * 3, start) else 1
        self._emit(source[start : start + quote], start=start)
        index, limit = start + quote, end - quote
        while index < limit:
            char = source[index]
            if not depth and source.startswith(("{{", "}}"), index):
                self._emit(source[index : index + 2], start=index)
                index += 2
            elif depth and char in _QUOTES and (inner_end := self._inner_end(index, limit)):
                index = self._string(index, inner_end)
            elif depth and source.startswith(_NULLISH, index):
                index = self._nullish(index)
            else:
                depth += {"{": 1, "}": -1}.get(char, 0)
                self._emit(char, index)
                index += 1
        self._emit(source[limit:end], start=limit)
