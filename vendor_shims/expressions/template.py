"""Texts with `${...}` in them."""

from __future__ import annotations

from typing import NamedTuple

from .flaw import Flaw
from .scan import closing_brace

OPENING = "${"
_ESCAPED = "$${"


class Piece(NamedTuple):
    """An expression inside a text, and its offset there."""

    source: str
    start: int


def split(text: str) -> list[str | Piece]:
    """Return the literal and computed parts of a text in order, without empty ones.

    Raises:
        Flaw: a `${` has no end.
    """
    parts: list[str | Piece] = []
    literal: list[str] = []
    index = 0
    while (found := text.find(OPENING, index)) >= 0:
        if found > index and text[found - 1] == "$":
            literal.append(text[index : found - 1] + OPENING)
            index = found + len(OPENING)
            continue
        literal.append(text[index:found])
        start = found + len(OPENING)
        end = closing_brace(text, start)
        if not text[start:end].strip():
            raise Flaw("`${}` holds no expression; write `$${` for the text itself", found)
        if joined := "".join(literal):
            parts.append(joined)
        literal = []
        parts.append(Piece(text[start:end], start))
        index = end + 1
    if joined := "".join([*literal, text[index:]]):
        parts.append(joined)
    return parts
