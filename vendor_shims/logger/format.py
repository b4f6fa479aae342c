"""Turn a record into text: printf-style placeholders, length limit, colours.

Placeholders on a leading string: `%s` text, `%d` and `%i` truncated integer, `%f` float, `%o` and
`%O` repr, `%c` swallows its argument, `%C` colours its argument by logger name, `%%` a percent
sign. Unknown ones stay as they are and take no argument; a missing argument prints as None.
Arguments left over are appended, separated by spaces.
"""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Mapping
from typing import SupportsFloat, SupportsIndex

from vendor_shims.logger.record import Formatter, LogRecord

MAX_LINE_LENGTH = 10_240
"""Longest line in characters that is printed whole by default."""

_PLACEHOLDER = re.compile(r"%([a-zA-Z%])")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_BASIC_COLOURS = (6, 2, 3, 4, 5, 1)
_RICH_COLOURS = (
    33,
    39,
    41,
    44,
    62,
    69,
    75,
    78,
    81,
    98,
    112,
    128,
    134,
    149,
    161,
    166,
    173,
    205,
    214,
)
_RESET = "\x1b[0m"
_CONTAINERS: tuple[type, ...] = (dict, list, tuple, set, frozenset)


def format_message(
    record: LogRecord,
    *,
    formatters: Mapping[str, Formatter] | None = None,
    max_length: int = MAX_LINE_LENGTH,
    colors: int = 0,
    escape: bool = False,
) -> str:
    """Return the text of `record`, each line cut at `max_length` characters plus `...`.

    Args:
        record: What to render; whatever its arguments are, rendering does not raise.
        formatters: Extra or replacing renderers by placeholder letter.
        max_length: Longest line in characters.
        colors: 0 none, 1 sixteen colours, 2 and 3 rich colours; only `%C` uses it.
        escape: Show control characters by their code, for terminals.
    """
    args = record.args
    template = args[0] if args and isinstance(args[0], str) else None
    values = iter(args if template is None else args[1:])
    table = {**_BUILTIN, **formatters} if formatters else _BUILTIN

    def clean(text: str) -> str:
        return escape_controls(text) if escape else text

    def replace(match: re.Match[str]) -> str:
        letter = match.group(1)
        if letter == "%":
            return "%"
        render = table.get(letter)
        if render is None:
            return match.group()
        text = clean(_guarded(render, next(values, None), record))
        if letter != "C":
            return text
        return paint(text, colour_code(record.name, colors), colors=colors)

    parts: list[str] = []
    if template is not None:
        parts.append(_PLACEHOLDER.sub(replace, clean(template)))
    for value in values:
        render = _as_repr if isinstance(value, _CONTAINERS) else _as_text
        parts.append(clean(_guarded(render, value, record)))
    text = " ".join(parts)
    if len(text) <= max_length:
        return text
    return "\n".join(_cut(line, max_length) for line in text.split("\n"))


def colour_code(name: str, colors: int) -> int:
    """Return the colour of a logger name, the same in every process."""
    palette = _BASIC_COLOURS if colors < 2 else _RICH_COLOURS
    return palette[zlib.crc32(name.encode("utf-8", "replace")) % len(palette)]


def paint(text: str, code: int, *, colors: int, bold: bool = False) -> str:
    """Wrap `text` in the escape sequence of a colour, or return it unchanged without colours."""
    if colors <= 0:
        return text
    colour = f"3{code}" if code < 8 else f"38;5;{code}"
    return f"\x1b[{colour}{';1' if bold else ''}m{text}{_RESET}"


def escape_controls(text: str) -> str:
    """Show every control character except tab and newline by its hexadecimal code."""
    return _CONTROL.sub(lambda match: f"\\x{ord(match.group()):02x}", text)


def _cut(line: str, max_length: int) -> str:
    if len(line) <= max_length:
        return line
    cut = line[:max_length]
    return f"{cut}{_RESET}..." if "\x1b[" in cut else f"{cut}..."


def _guarded(render: Formatter, value: object, record: LogRecord) -> str:
    try:
        return render(value, record)
    except Exception:  # noqa: BLE001  # a broken __str__ or renderer must not lose the whole line
        return f"<unprintable {type(value).__name__}>"


def _as_text(value: object, _record: LogRecord) -> str:
    return str(value)


def _as_repr(value: object, _record: LogRecord) -> str:
    return repr(value)


def _as_integer(value: object, _record: LogRecord) -> str:
    if value is None or isinstance(value, int):
        return str(value if value is None else int(value))
    number = _number(value)
    return str(math.trunc(number)) if math.isfinite(number) else str(number)


def _as_float(value: object, _record: LogRecord) -> str:
    return str(None if value is None else _number(value))


def _number(value: object) -> float:
    if not isinstance(value, str | SupportsFloat | SupportsIndex):
        return math.nan
    try:
        return float(value)
    except (ValueError, OverflowError):  # text that is no number, or an integer beyond floats
        return math.nan


_BUILTIN: Mapping[str, Formatter] = {
    "s": _as_text,
    "d": _as_integer,
    "i": _as_integer,
    "f": _as_float,
    "o": _as_repr,
    "O": _as_repr,
    "c": lambda _value, _record: "",
    "C": _as_text,
}
