"""Show a rejected value in a message: JSON-like, at most 80 characters, cheap at any size."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from vendor_shims.schema.shapes import Raw, is_list, is_mapping, is_secret

PREVIEW_LENGTH = 80
"""Longest preview in characters."""

_MAX_DEPTH = 4
_MAX_INTEGER_BITS = 512
_UNSAFE = re.compile('["\\\\\x00-\x1f\x7f-\x9f\ud800-\udfff]')


def preview(value: Raw) -> str:
    """Return `value` as one line of at most `PREVIEW_LENGTH` characters, cut with `...`."""
    parts: list[str] = []
    length = 0
    for part in _parts(value, 0):
        parts.append(part)
        length += len(part)
        if length > PREVIEW_LENGTH:
            return "".join(parts)[: PREVIEW_LENGTH - 3] + "..."
    return "".join(parts)


def quote(text: str) -> str:
    """Return `text` in double quotes with everything unprintable escaped."""
    return f'"{_UNSAFE.sub(_escape, text)}"'


def clip(key: str) -> str:
    """Return a mapping key short enough for a path."""
    return key if len(key) <= PREVIEW_LENGTH else key[: PREVIEW_LENGTH - 3] + "..."


def _escape(match: re.Match[str]) -> str:
    char = match.group()
    return f"\\{char}" if char in '"\\' else f"\\u{ord(char):04x}"


def _parts(value: Raw, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield quote(value[: PREVIEW_LENGTH + 1])
    elif value is None or isinstance(value, bool):
        yield {None: "null", True: "true", False: "false"}[value]
    elif isinstance(value, int):
        yield repr(value) if value.bit_length() <= _MAX_INTEGER_BITS else "<huge integer>"
    elif isinstance(value, float) or is_secret(value):
        yield repr(value)
    elif is_mapping(value) or is_list(value):
        yield from ("...",) if depth >= _MAX_DEPTH else _members(value, depth)
    else:
        yield f"<{type(value).__name__}>"


def _members(value: Mapping[Raw, Raw] | list[Raw] | tuple[Raw, ...], depth: int) -> Iterator[str]:
    separator = ""
    if is_mapping(value):
        yield "{"
        for key, member in value.items():
            yield separator
            yield from _parts(key, depth + 1)
            yield ": "
            yield from _parts(member, depth + 1)
            separator = ", "
        yield "}"
        return
    yield "["
    for member in value:
        yield separator
        yield from _parts(member, depth + 1)
        separator = ", "
    yield "]"
