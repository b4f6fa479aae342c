"""The compiled form of a type annotation: one object that checks, dumps and describes values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum
from pathlib import PurePath
from typing import Protocol

import attrs

from vendor_shims.schema.preview import preview
from vendor_shims.schema.report import Path, Report
from vendor_shims.schema.shapes import Raw, is_list, is_mapping, is_secret, is_set, is_volatile
from vendor_shims.schema.values import MASK, thaw


@attrs.frozen
class Dump:
    """How values become raw data again.

    Args:
        lean: Leave members out that equal their defaults.
        reveal: Show secrets instead of a mask.
    """

    lean: bool = False
    reveal: bool = False


class Definitions(Protocol):
    """Where a JSON schema collects the classes that it refers to."""

    def reference(self, node: Node) -> dict[str, Raw]:
        """Return a `$ref` to the schema of an object node, defining it when it is new."""
        ...


class Node(ABC):
    """A compiled type. Nodes are shared and never change once they are built."""

    kind: str = "any"
    """What constraints see: `string`, `integer`, `number`, `list`, `object` or something else."""
    expected: str = "any value"
    """What messages say was expected."""
    admits_null: bool = False
    """Whether null is a value of its own rather than an absent one."""

    @abstractmethod
    def check(self, value: Raw, path: Path, report: Report) -> Raw:
        """Return `value` in its Python form; what comes back after an issue has no meaning."""

    @abstractmethod
    def schema(self, definitions: Definitions) -> dict[str, Raw]:
        """Return the JSON schema of the type."""

    def dump(self, value: Raw, how: Dump) -> Raw:
        """Return a checked value as raw data."""
        return dump_value(value, how)

    def children(self) -> tuple[Node, ...]:
        """Return the nodes that this one contains directly."""
        return ()

    def holds_secret(self) -> bool:
        """Return whether a value of the type may contain a secret at any depth."""
        seen: set[int] = set()
        stack: list[Node] = [self]
        while stack:
            node = stack.pop()
            if node.kind == "secret":
                return True
            if id(node) not in seen:
                seen.add(id(node))
                stack.extend(node.children())
        return False


def dump_value(value: Raw, how: Dump) -> Raw:
    """Return a value of unknown type as raw data, config objects by their own class."""
    if is_secret(value):
        return dump_value(value.reveal(), how) if how.reveal else MASK
    if is_volatile(value):
        return dump_value(thaw(value.get()), how)
    if is_mapping(value):
        return {key: dump_value(member, how) for key, member in value.items()}
    if is_set(value):
        return sorted((dump_value(item, how) for item in value), key=preview)
    if is_list(value):
        return [dump_value(item, how) for item in value]
    return _dump_single(value, how)


def _dump_single(value: Raw, how: Dump) -> Raw:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, PurePath):
        return str(value)
    cls: type[Raw] = value.__class__
    if attrs.has(cls):
        from vendor_shims.schema.compile import object_node

        return object_node(cls).dump(value, how)
    return value
