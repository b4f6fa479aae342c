"""Finding where strings and bracketed parts of a source end, in either dialect."""

from __future__ import annotations

from .flaw import Flaw

_OPENING = "([{"
_CLOSING = ")]}"
_TRIPLE = 3


def string_end(text: str, start: int) -> int:
    """Return the offset behind the string literal whose quote is at `start`.

    Quotes are `'`, `"`, and either of them three times; a backslash hides what follows it, also
    in a raw string.

    Raises:
        Flaw: the string does not end.
    """
    quote = text[start]
    if text.startswith(quote * _TRIPLE, start):
        quote *= _TRIPLE
    index = start + len(quote)
    while index < len(text):
        if text[index] == "\\":
            index += 2
        elif text.startswith(quote, index):
            return index + len(quote)
        else:
            index += 1
    raise Flaw("this string does not end", start)


def closing_brace(text: str, start: int, *, quotes: str = "'\"") -> int:
    """Return the offset of the `}` that ends an expression which begins at `start`.

    Braces inside strings, and pairs of brackets of any kind, belong to the expression.

    Raises:
        Flaw: there is none; the offset is that of the `${` before `start`.
    """
    expected: list[str] = []
    index = start
    while index < len(text):
        char = text[index]
        if char in quotes:
            index = string_end(text, index)
            continue
        if char in _OPENING:
            expected.append(_CLOSING[_OPENING.index(char)])
        elif expected and char == expected[-1]:
            expected.pop()
        elif char == "}":
            break
        index += 1
    else:
        raise Flaw("`${` without its `}`; write `$${` for the text itself", start - 2)
    return index
