"""What is wrong with an expression, and where.

CordisError
└── ExpressionError   forbidden, unreadable or failed; shows the source with a caret
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from vendor_shims.cordis import CordisError

from .expression import Place

Path: TypeAlias = tuple[str | int, ...]
"""The keys and indexes from the row to a value, such as `("config", "servers", 0)`."""

_WINDOW_CHARS = 100
"""How much of a long source line a message shows around the caret."""


class ExpressionError(CordisError):
    """Raised for an expression that may not stand, cannot be read or fails.

    Attributes:
        problem: what is wrong, in one sentence without any value that was read.
        file: the file of the row, where known.
        row: the id of the row, where known.
        path: keys and indexes from the row to the value, such as `("config", "port")`.
        source: the text that holds the expression.
        line: the line of `source` with the problem, from 1.
        column: the character in that line, from 1; it is where the caret stands.
    """

    code = "EXPRESSION"

    def __init__(
        self,
        problem: str,
        *,
        source: str = "",
        offset: int = 0,
        place: Place | None = None,
        file: str | None = None,
        row: str | None = None,
        path: Sequence[str | int] = (),
    ) -> None:
        self.problem = problem
        self.file = file if place is None or place.file is None else place.file
        self.row = row
        self.path: Path = tuple(path)
        self.source = source
        offset = max(0, min(offset, len(source)))
        start = source.rfind("\n", 0, offset) + 1
        self.line = source.count("\n", 0, offset) + 1
        self.column = offset - start + 1
        spot = str(place) if place is not None and place.file else self.file
        row_name = None if row is None else f"row {row!r}"
        where = [part for part in (spot, row_name, _dotted(self.path)) if part]
        message = ": ".join([*where, problem])
        if source:
            end = source.find("\n", offset)
            shown = _with_caret(source[start : len(source) if end < 0 else end], offset - start)
            message = f"{message}\n{shown}"
        super().__init__(message)


def _dotted(path: Path) -> str:
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".")


def _with_caret(line: str, column: int) -> str:
    first = max(0, column - _WINDOW_CHARS // 2)
    window = line[first : first + _WINDOW_CHARS]
    head = "…" if first else ""
    tail = "…" if first + _WINDOW_CHARS < len(line) else ""
    shown = "".join(char if char.isprintable() else " " for char in window)
    return f"    {head}{shown}{tail}\n    {' ' * (len(head) + column - first)}^"
