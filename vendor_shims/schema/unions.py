"""Alternatives: chosen by a literal tag where there is one, else tried in order."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import attrs

from vendor_shims.schema.node import Definitions, Dump, Node, dump_value
from vendor_shims.schema.objects import ObjectField, ObjectNode
from vendor_shims.schema.report import Path, Report
from vendor_shims.schema.scalars import LiteralNode
from vendor_shims.schema.shapes import Raw, is_mapping


@attrs.frozen
class Tag:
    """The literal field that tells the classes of a union apart."""

    field: ObjectField
    branches: Mapping[Raw, ObjectNode]
    values: LiteralNode


class UnionNode(Node):
    """A value of one of several types."""

    kind = "union"

    def __init__(self, members: tuple[Node, ...]) -> None:
        self._members = members
        self.expected = " | ".join(dict.fromkeys(member.expected for member in members))

    @cached_property
    def tag(self) -> Tag | None:
        """Return the tag of the object members; found on first use, once all classes are known."""
        objects = [member for member in self._members if isinstance(member, ObjectNode)]
        n_open = sum(member.kind in {"object", "any"} for member in self._members)
        if len(objects) < 2 or n_open > len(objects):
            return None
        return next(filter(None, (_tag_of(objects, field) for field in objects[0].fields)), None)

    @cached_property
    def _is_secret(self) -> bool:
        return self.holds_secret()

    def check(self, value: Raw, path: Path, report: Report) -> Raw:
        """Return the value as the chosen member makes it; report that member's issues only."""
        if self.tag is not None and is_mapping(value):
            return self._check_tagged(self.tag, value, path, report)
        best: Report | None = None
        for member in self._members:
            if not report.may_try(path):
                return value
            attempt = Report(report, masked=self._is_secret)
            checked = member.check(value, path, attempt)
            if not attempt.n_found:
                return checked
            is_kind = attempt.mismatch_depth > len(path)
            if is_kind and (best is None or attempt.n_found < best.n_found):
                best = attempt
        if best is not None:
            report.take(best)
        else:
            report.mismatch(self, value, path)
        return value

    def _check_tagged(self, tag: Tag, value: Mapping[Raw, Raw], path: Path, report: Report) -> Raw:
        key, given = tag.field.find(value)
        if given is None:
            report.add((*path, key), "missing required value")
            return value
        branch = tag.branches.get(given) if isinstance(given, str) else None
        if branch is None:
            report.mismatch(tag.values, given, (*path, key))
            return value
        return branch.check(value, path, report)

    def dump(self, value: Raw, how: Dump) -> Raw:
        """Return the value's dump; the tag is always written."""
        if self.tag is not None:
            for branch in self.tag.branches.values():
                if isinstance(value, branch.cls):
                    return branch.dump(value, how, keep=self.tag.field.name)
        return dump_value(value, how)

    def schema(self, definitions: Definitions) -> dict[str, Raw]:
        """Return `oneOf` for a union with a tag, `anyOf` otherwise."""
        branches = [member.schema(definitions) for member in self._members]
        if self.tag is None:
            return {"anyOf": branches}
        return {"oneOf": branches, "required": [self.tag.field.wire]}

    def children(self) -> tuple[Node, ...]:
        """Return the members."""
        return self._members


def _tag_of(objects: list[ObjectNode], candidate: ObjectField) -> Tag | None:
    branches: dict[Raw, ObjectNode] = {}
    for node in objects:
        field = node.field(candidate.name)
        if field is None or field.wire != candidate.wire:
            return None
        if not isinstance(field.node, LiteralNode):
            return None
        for literal in field.node.values:
            if literal in branches or not isinstance(literal, str):
                return None
            branches[literal] = node
    return Tag(candidate, branches, LiteralNode(tuple(branches)))
