"""What the log keeps of an exception: its text, never its frames."""

from __future__ import annotations

import traceback
from typing import cast


class ExceptionText:
    """Stands for an exception among log arguments without keeping its call stack alive."""

    __slots__ = ("_repr", "_text")

    def __init__(self, error: BaseException) -> None:
        try:
            self._text = str(error)
            self._repr = repr(error)
        except Exception:  # noqa: BLE001  # a foreign __str__ may raise anything
            self._text = self._repr = f"<unprintable {type(error).__name__}>"

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return self._repr


def exception_texts(error: BaseException) -> list[str]:
    """Return the traceback texts to log for `error`: causes first, group members for a group.

    The text of the exception itself comes last, for a group that of its last member. Each exception
    appears once, so circular causes end. The cost grows with the number of exceptions, not faster.
    """
    texts: list[str] = []
    seen: set[int] = set()
    first = traceback.TracebackException.from_exception(error, compact=True)
    stack: list[tuple[traceback.TracebackException, BaseException, bool]] = [(first, error, False)]
    while stack:
        picture, current, is_expanded = stack.pop()
        if is_expanded:
            texts.append("".join(picture.format(chain=False)).rstrip("\n"))
            continue
        if id(current) in seen:
            continue
        seen.add(id(current))
        if isinstance(current, BaseExceptionGroup):
            group = cast("BaseExceptionGroup[BaseException]", current)
            members = zip(picture.exceptions or (), group.exceptions, strict=False)
            stack.extend((inner, member, False) for inner, member in reversed(list(members)))
        else:
            stack.append((picture, current, True))
        if picture.__cause__ is not None and current.__cause__ is not None:
            stack.append((picture.__cause__, current.__cause__, False))
    return texts
