"""Which name and level a context logs under."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from vendor_shims.logger.record import INFO

_WORD_START = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SEPARATORS = re.compile(r"[\s_-]+")


def resolve_name(explicit: str | None, layers: Sequence[Mapping[str, Any]], fiber_name: str) -> str:
    """Return the explicit name, else the nearest layer's, else the fiber's in kebab case."""
    if explicit is not None:
        return explicit
    for layer in reversed(layers):
        if layer.get("name") is not None:
            return str(layer["name"])
    return kebab_case(fiber_name)


def resolve_level(layers: Sequence[Mapping[str, Any]]) -> int:
    """Return the nearest layer's level, INFO without one."""
    for layer in reversed(layers):
        if layer.get("level") is not None:
            return int(layer["level"])
    return INFO


def kebab_case(name: str) -> str:
    """Return `MyPlugin`, `my_plugin` and `my plugin` all as `my-plugin`."""
    return _SEPARATORS.sub("-", _WORD_START.sub("-", name)).lower()
