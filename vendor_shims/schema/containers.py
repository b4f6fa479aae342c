"""Nodes of lists, sets, tuples and mappings."""

from __future__ import annotations

from collections.abc import Callable

from vendor_shims.schema.node import Definitions, Dump, Node
from vendor_shims.schema.preview import clip, preview
from vendor_shims.schema.report import Path, Report
from vendor_shims.schema.shapes import Raw, is_list, is_mapping, is_set


class ListNode(Node):
    """Items of one type, delivered as `make(items)`: a list, tuple, set or frozen set."""

    kind = expected = "list"

    def __init__(self, item: Node, make: Callable[[list[Raw]], Raw]) -> None:
        self._item = item
        self._make = make
        self._is_set = make in {set, frozenset}

    def check(self, value: Raw, path: Path, report: Report) -> Raw:
        """Return the checked items; a set refuses equal items."""
        if not is_list(value) and not is_set(value):
            report.mismatch(self, value, path)
            return value
        if report.is_too_deep(path):
            return value
        before = report.n_found
        check = self._item.check
        items = [check(item, (*path, index), report) for index, item in enumerate(value)]
        if report.n_found != before:
            return value
        made = self._make(items)
        if self._is_set and len(made) != len(items):
            report.broken("items that all differ", value, path, self)
        return made

    def dump(self, value: Raw, how: Dump) -> Raw:
        """Return the items as a list, those of a set in a stable order."""
        items = [self._item.dump(item, how) for item in value]
        return sorted(items, key=preview) if self._is_set else items

    def schema(self, definitions: Definitions) -> dict[str, Raw]:
        """Return the array type."""
        schema: dict[str, Raw] = {"type": "array", "items": self._item.schema(definitions)}
        return {**schema, "uniqueItems": True} if self._is_set else schema

    def children(self) -> tuple[Node, ...]:
        """Return the item node."""
        return (self._item,)


class TupleNode(Node):
    """A list of fixed length with a type per position."""

    kind = "tuple"

    def __init__(self, items: tuple[Node, ...]) -> None:
        self._items = items
        self.expected = f"list of {len(items)} items"

    def check(self, value: Raw, path: Path, report: Report) -> Raw:
        """Return the checked items as a tuple."""
        if not is_list(value) or len(value) != len(self._items):
            report.mismatch(self, value, path)
            return value
        if report.is_too_deep(path):
            return value
        pairs = enumerate(zip(self._items, value, strict=True))
        return tuple(node.check(item, (*path, index), report) for index, (node, item) in pairs)

    def dump(self, value: Raw, how: Dump) -> Raw:
        """Return the items as a list."""
        return [node.dump(item, how) for node, item in zip(self._items, value, strict=True)]

    def schema(self, definitions: Definitions) -> dict[str, Raw]:
        """Return the array type with one schema per position."""
        n_items = len(self._items)
        schema: dict[str, Raw] = {"type": "array", "minItems": n_items, "maxItems": n_items}
        if self._items:
            schema["prefixItems"] = [item.schema(definitions) for item in self._items]
        return schema

    def children(self) -> tuple[Node, ...]:
        """Return the nodes of the positions."""
        return self._items


class MappingNode(Node):
    """A mapping from text to values of one type, delivered as dict."""

    kind = expected = "object"

    def __init__(self, member: Node) -> None:
        self.member = member

    def check(self, value: Raw, path: Path, report: Report) -> Raw:
        """Return the checked members in their order."""
        if not is_mapping(value):
            report.mismatch(self, value, path)
            return value
        if report.is_too_deep(path):
            return value
        checked: dict[str, Raw] = {}
        for key, member in value.items():
            if isinstance(key, str):
                checked[key] = self.member.check(member, (*path, clip(key)), report)
            else:
                report.add(path, f"expected string as key but got {preview(key)}")
        return checked

    def dump(self, value: Raw, how: Dump) -> Raw:
        """Return the members as a dict."""
        return {key: self.member.dump(member, how) for key, member in value.items()}

    def schema(self, definitions: Definitions) -> dict[str, Raw]:
        """Return the object type with open keys."""
        return {"type": "object", "additionalProperties": self.member.schema(definitions)}

    def children(self) -> tuple[Node, ...]:
        """Return the node of the values."""
        return (self.member,)
