"""Change the nodes of a text where they differ from what is wanted."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import takewhile
from typing import Any, cast

from .node import Node, value_of
from .splices import Splices, line_start
from .values import Value, is_identical
from .yaml_writer import json_text, yaml_text

_COMMENT = re.compile(r"[ \t]+#[^\n]*")


class TooOdd(Exception):
    """The text has a form that is not changed in parts."""


class NodeEdit:
    """Changes of the nodes of one text, so that what stays the same keeps every byte."""

    def __init__(self, text: str, *, is_json: bool) -> None:
        self._text = text
        self._is_json = is_json
        self._splices = Splices(text)

    def result(self) -> str:
        """Return the text with all changes."""
        return self._splices.result()

    def value(self, node: Node, new: Value, *, indent: int, key: Node | None = None) -> None:
        """Change the value of a key, or an item; `indent` is where a block in it would stand."""
        if is_identical(value_of(node, None), new):
            return
        if not node.is_fixed:
            if node.members and isinstance(new, dict) and node.members.keys() & new.keys():
                self._mapping(node, cast("dict[str, Any]", new))
                return
            if node.items and new and isinstance(new, list):
                self._list(node, cast("list[Any]", new))
                return
        self._replace(node, new, indent, key)

    def _replace(self, node: Node, new: Value, indent: int, key: Node | None) -> None:
        text = self._text
        is_block = not (self._is_json or node.is_flow) and key is not None and not _is_small(new)
        colon = -1 if key is None else text.find(":", key.end)
        if not is_block or "\n" in text[colon : node.start] or "\n" in text[node.start : node.end]:
            if key is not None and (is_block or "\n" in text[colon : node.start]):
                written = self._block(new, indent) if is_block else f" {self._flow(new)}"
                self._splices.replace(colon + 1, node.end, written)
                return
            space = " " if node.start and text[node.start - 1] in ":-," else ""
            self._splices.replace(node.start, node.end, space + self._flow(new))
            return
        comment = _COMMENT.match(text, node.end)
        end = node.end if comment is None else comment.end()
        kept = "" if comment is None else comment[0]
        self._splices.replace(colon + 1, end, kept + self._block(new, indent))

    # -- mappings --------------------------------------------------------------------------------

    def _mapping(self, node: Node, new: dict[str, Any]) -> None:
        members = node.members or {}
        gone = [key for key in members if key not in new]
        added = {key: value for key, value in new.items() if key not in members}
        if node.is_flow and gone:
            self._splices.replace(node.start, node.end, self._flow(new))
            return
        first, _ = next(iter(members.values()))
        indent = self._splices.column(first.start)
        for key, (key_node, member) in members.items():
            if key in new:
                inner = indent + 2
                self.value(self._in_flow(member, node), new[key], indent=inner, key=key_node)
        self._remove_members(members, gone)
        if not added:
            return
        last_key, last = [pair for key, pair in members.items() if key in new][-1]
        if node.is_flow:
            pairs = (f"{self._flow(key)}: {self._flow(value)}" for key, value in added.items())
            gap = self._splices.gap(last_key.start)
            self._splices.replace(last.end, last.end, "".join(f",{gap}{p}" for p in pairs))
            return
        self._splices.insert_below(last.end, _indented(yaml_text(added), indent))

    def _remove_members(self, members: Mapping[str, tuple[Node, Node]], gone: list[str]) -> None:
        """Take whole lines away; keys on the line of their dash leave that to the next one."""
        leading = list(takewhile(gone.__contains__, members))
        if leading and not self._splices.is_first_on_line(members[leading[0]][0].start):
            self._remove_first(members, len(leading))
            gone = gone[len(leading) :]
        for key in gone:
            key_node, member = members[key]
            if not self._splices.is_first_on_line(key_node.start):
                raise TooOdd
            start = line_start(self._text, key_node.start)
            self._splices.replace(start, self._splices.after_line(member.end), "")

    def _remove_first(self, members: Mapping[str, tuple[Node, Node]], n_keys: int) -> None:
        """Take the first keys away, but leave the comments between them, above the dash."""
        text = self._text
        keys = [key for key, _ in members.values()]
        first, following = keys[0].start, keys[n_keys].start
        for (_, member), after in zip(members.values(), keys[1 : n_keys + 1], strict=False):
            between = text[self._splices.after_line(member.end) : line_start(text, after.start)]
            if between.strip():
                start = line_start(text, first)
                self._splices.replace(start, start, between)
        self._splices.replace(first, following, "")

    # -- lists -----------------------------------------------------------------------------------

    def _list(self, node: Node, new: list[Any]) -> None:
        from difflib import SequenceMatcher

        items = node.items or []
        before = [_identity(value_of(item, None)) for item in items]
        after = [_identity(value) for value in new]
        steps = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
        if node.is_flow:
            is_simple = all(
                op == "equal" or (op == "insert" and i1 == len(items)) for op, i1, *_ in steps
            )
            if not is_simple:
                self._splices.replace(node.start, node.end, self._flow_like(node, new))
                return
        for op, i1, i2, j1, j2 in steps:
            if op == "equal":
                for item, value in zip(items[i1:i2], new[j1:j2], strict=True):
                    indent = self._splices.column(item.start)
                    self.value(self._in_flow(item, node), value, indent=indent)
                continue
            for item in items[i1:i2]:
                dash = self._dash(item)
                start = line_start(self._text, dash)
                self._splices.replace(start, self._splices.after_line(max(item.end, dash + 1)), "")
            if new[j1:j2]:
                self._insert_items(node, i1, new[j1:j2])

    def _insert_items(self, node: Node, at: int, new: list[Any]) -> None:
        items = node.items or []
        if node.is_flow:
            last = items[-1]
            gap = self._splices.gap(last.start)
            written = "".join(f",{gap}{self._flow_item(value, gap)}" for value in new)
            self._splices.replace(last.end, last.end, written)
            return
        column = self._splices.column(self._dash(items[0]))
        lines = _indented(yaml_text(new), column)
        if at:
            self._splices.insert_below(items[at - 1].end, lines)
        else:
            start = line_start(self._text, self._dash(items[0]))
            self._splices.replace(start, start, f"{lines}\n")

    def _dash(self, item: Node) -> int:
        """Return where the dash of a block item stands, at the beginning of its line."""
        start = line_start(self._text, item.start)
        before = self._text[start : item.start].rstrip(" ")
        if before.lstrip(" ") != "-":
            raise TooOdd
        return start + len(before) - 1

    # -- writing ---------------------------------------------------------------------------------

    def _in_flow(self, node: Node, parent: Node) -> Node:
        node.is_flow = node.is_flow or parent.is_flow
        return node

    def _flow(self, value: Value) -> str:
        return json_text(value) if self._is_json else yaml_text(value, is_flow=True)

    def _flow_item(self, value: Value, gap: str) -> str:
        if not self._is_json or "\n" not in gap:
            return self._flow(value)
        return json_text(value, indent=2).replace("\n", gap)

    def _flow_like(self, node: Node, new: list[Any]) -> str:
        gap = self._splices.gap(node.items[0].start) if node.items else " "
        if "\n" not in gap:
            return self._flow(new)
        outer = gap[:-2] if gap.endswith("  ") else "\n"
        return f"[{','.join(f'{gap}{self._flow_item(value, gap)}' for value in new)}{outer}]"

    def _block(self, value: Value, indent: int) -> str:
        return f"\n{_indented(yaml_text(value), indent)}"


def _is_small(value: Value) -> bool:
    """Return whether a value is written on the line of its key."""
    return not (isinstance(value, dict | list) and cast("Any", value))


def _identity(value: Value) -> Value:
    """Return what makes two versions of an item the same one."""
    if isinstance(value, dict):
        row = cast("dict[str, Any]", value)
        if row.get("id") is not None:
            return ("id", repr(row["id"]), "insert" in row)
        return ("name", repr(row.get("name")), "insert" in row)
    return ("value", repr(value))


def _indented(text: str, columns: int) -> str:
    return "\n".join(f"{' ' * columns}{line}" if line else "" for line in text.split("\n"))
