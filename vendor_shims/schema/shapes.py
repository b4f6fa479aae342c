"""Names for values of unknown type, and the questions that are asked about them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias, TypeGuard

from vendor_shims.schema.values import Secret, Volatile

Raw: TypeAlias = Any
"""A value from outside before validation; nothing is known about its type."""


def is_mapping(value: object) -> TypeGuard[Mapping[Raw, Raw]]:
    """Return whether `value` is a mapping."""
    return type(value) is dict or isinstance(value, Mapping)


def is_list(value: object) -> TypeGuard[list[Raw] | tuple[Raw, ...]]:
    """Return whether `value` is a list or tuple."""
    return isinstance(value, list | tuple)


def is_set(value: object) -> TypeGuard[set[Raw] | frozenset[Raw]]:
    """Return whether `value` is a set."""
    return isinstance(value, set | frozenset)


def is_secret(value: object) -> TypeGuard[Secret[Raw]]:
    """Return whether `value` is a secret."""
    return isinstance(value, Secret)


def is_volatile(value: object) -> TypeGuard[Volatile[Raw]]:
    """Return whether `value` is a volatile reference."""
    return isinstance(value, Volatile)
