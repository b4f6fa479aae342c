"""Reading a JSON text that comes from outside."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from .expression import Value
from .flaw import Flaw
from .limits import MAX_DEPTH, MAX_ITEMS, MAX_TEXT_CHARS


def read_json(text: str) -> Value:
    """Return the value of a JSON text: standard JSON only, the last of equal keys wins.

    Raises:
        Flaw: it is not JSON, or too long, deep or rich in values; never quotes the text.
    """
    import orjson

    if len(text) > MAX_TEXT_CHARS:
        raise Flaw(f"a text may have at most {MAX_TEXT_CHARS} characters")
    try:
        value: Any = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise Flaw(f"not a JSON text, at character {error.pos + 1}") from None
    _require_small(value)
    return value


def _require_small(value: Value) -> None:
    level: list[Any] = [value]
    n_values = depth = 0
    while level:
        n_values += len(level)
        depth += 1
        if n_values > MAX_ITEMS:
            raise Flaw(f"a JSON text may hold at most {MAX_ITEMS} values")
        if depth > MAX_DEPTH:
            raise Flaw(f"a JSON text may be nested at most {MAX_DEPTH} deep")
        level = [inner for one in level for inner in _members(one)]


def _members(value: Value) -> Iterable[Any]:
    if isinstance(value, dict):
        return cast("dict[str, Any]", value).values()
    return cast("list[Any]", value) if isinstance(value, list) else ()
